"""What is measured, and how it is read: Prometheus, the dialects of service meshes, network coordinates.

Knows no policies and never speaks to an API server. Everything but the Prometheus client is pure: samples in, figures
out, so that what a monitor writes can be tested without one.
"""
