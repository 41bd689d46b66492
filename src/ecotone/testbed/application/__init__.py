"""What runs on a bed: a scenario's application played for real, its users, and the cluster's own services."""
