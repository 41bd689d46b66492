"""A cluster as columns, so that one call asks every node at once: the nodes, who runs on them by kind, the network between."""
