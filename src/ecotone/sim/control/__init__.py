"""What Kubernetes' control plane does in a simulation: pods' lives, scaling, measuring, and asking `decide`."""
