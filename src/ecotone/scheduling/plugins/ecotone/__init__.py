"""The terms of our own policy."""
