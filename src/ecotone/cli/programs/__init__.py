"""Verbs around the long-running programs: start them, install them, take them away, and a cluster to try them on."""
