"""Kubernetes objects to the model, a module for each family of kinds. `writing` is the way back."""
