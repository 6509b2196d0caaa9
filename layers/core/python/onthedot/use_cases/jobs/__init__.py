"""Use cases on jobs: submit, read, change, delete, explain and redrive them, and run them beside their schedule."""
