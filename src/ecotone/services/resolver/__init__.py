"""Whole-application placement as an HTTP service."""
