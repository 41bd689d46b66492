"""kube-scheduler's own plugins, with its arithmetic and its words."""
