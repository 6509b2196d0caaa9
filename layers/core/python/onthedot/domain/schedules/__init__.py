"""Schedules of recurring jobs: cron expressions, intervals, time zones and previews of fire times."""
