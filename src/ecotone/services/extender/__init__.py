"""A scheduler extender: kube-scheduler asks, Ecotone's plugins answer."""
