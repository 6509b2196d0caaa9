"""Event patterns as EventBridge has them, the index that finds them, and payload templates that pick from an event."""
