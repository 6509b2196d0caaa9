"""Workflows: calls that submit jobs which wait for each other, and show how far they are."""
