"""``ecotone serve monitor``: what is measured becomes annotations that decisions read."""
