"""Redundancy: on how many nodes and in how many zones a workload's replicas should stand, and who keeps them there."""
