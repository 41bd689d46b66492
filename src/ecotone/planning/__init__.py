"""Plans: every decision a policy would take now, and how to make them last."""
