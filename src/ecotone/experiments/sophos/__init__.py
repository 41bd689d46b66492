"""The evaluations of Sophos: the thesis and the DAG paper."""
