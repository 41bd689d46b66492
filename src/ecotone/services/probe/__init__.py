"""``ecotone serve probe``: round trips, jitter, loss and bandwidth from one node to the others."""
