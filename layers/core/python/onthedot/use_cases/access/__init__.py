"""Use cases of access: issue and check API tokens, make and rotate the keys that sign calls."""
