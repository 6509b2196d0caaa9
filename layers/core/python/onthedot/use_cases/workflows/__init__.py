"""Use cases of jobs that wait for each other: submit and make a graph, notify children, read it, end it."""
