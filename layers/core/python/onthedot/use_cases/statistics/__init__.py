"""Statistics: count the ends of runs, read the counters, and give an overview of a tenant."""
