"""The evaluation of KubeDSM: means, deviations and variants, ours beside the published tables."""
