"""The forecast: count the runs of the coming minutes from slots and schedules."""
