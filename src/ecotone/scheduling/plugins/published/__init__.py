"""Terms of published policies: Sophos, its communication-aware predecessor, NetMARKS, NAS."""
