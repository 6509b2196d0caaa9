"""Pools of workers and the records of pull workers: what they can do and what they do now."""
