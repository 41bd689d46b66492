"""Container images without a registry: the archives, and what is in them."""
