"""A scheduler for users' own tests: the embedded engine in memory, under a virtual clock."""
