"""Schedules: fields that say when a job fires, a preview of their fire times, and a forecast of coming runs."""
