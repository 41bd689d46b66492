"""Built-in scenarios that are made rather than stored, a module for each family. `builtin` has all of them by name."""
