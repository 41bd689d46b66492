"""Exact placement: models, bounds, and the solver beneath them."""
