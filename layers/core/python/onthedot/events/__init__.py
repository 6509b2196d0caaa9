"""Jobs that run for events."""
