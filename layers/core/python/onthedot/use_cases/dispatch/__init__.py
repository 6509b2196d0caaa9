"""Use cases of a tick: plan it, claim and stamp due runs, send them, sweep overdue ones, audit the schedule."""
