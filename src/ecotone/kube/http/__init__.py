"""HTTP/1.1 to one API server: one exchange at a time on a connection, and a pool of connections."""
