"""A snapshot as Kubernetes objects."""
