"""Making room for a pod of higher priority."""
