"""Playing a scenario on a bed: the `session`, the `player`, the `contenders` that place pods, and what happens meanwhile."""
