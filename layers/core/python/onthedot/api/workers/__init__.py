"""Pull workers: calls that register them, take their heartbeats, lease runs to them and show them."""
