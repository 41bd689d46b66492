"""One node of a bed: its namespaces, cgroup, network and daemons."""
