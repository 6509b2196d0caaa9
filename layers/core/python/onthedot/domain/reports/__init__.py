"""Facts about jobs and runs for people and other systems: explanations, the audit and lifecycle events."""
