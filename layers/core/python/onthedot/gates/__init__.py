"""Gates: limits on how many runs are in flight and how often they start."""
