"""Use cases of the number of shards: which shards ticks serve, and how old ones are retired."""
