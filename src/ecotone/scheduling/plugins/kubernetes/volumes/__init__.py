"""Which nodes a pod's volumes allow."""
