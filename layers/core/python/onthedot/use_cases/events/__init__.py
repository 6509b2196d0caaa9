"""Use cases of events: find the jobs that wait for an event and stamp their runs, publish changes of runs."""
