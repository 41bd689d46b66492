"""Kubernetes objects and the model: one translation that files and the API server share."""
