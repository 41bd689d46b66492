"""The network between nodes: delays, jitter, losses and cuts, pair by pair."""
