"""The best static placement of each phase: the `bound`, the `candidates` it is chosen from, a policy's `distance` to it."""
