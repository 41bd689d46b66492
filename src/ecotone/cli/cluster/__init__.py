"""Verbs that look at a cluster, of files or live, and the options they share."""
