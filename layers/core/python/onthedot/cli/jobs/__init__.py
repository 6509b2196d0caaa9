"""Commands about jobs and schedules, and their helpers."""
