"""Who exposed a series: what a Prometheus says about its targets, checked against what the cluster says about pods."""
