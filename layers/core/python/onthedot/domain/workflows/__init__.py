"""Workflows as graphs of jobs: checks, order, critical path, progress and end."""
