"""What is written to an API server: bindings, evictions, events, and annotations and a status by server-side apply."""
