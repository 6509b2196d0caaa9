"""The overview of a tenant: parts that are read side by side, and what holds up runs."""
