"""The scheduler as a long-running program."""
