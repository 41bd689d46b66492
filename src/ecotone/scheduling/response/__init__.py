"""The predicted response time of whole applications, as a function of how many replicas of each workload are where."""
