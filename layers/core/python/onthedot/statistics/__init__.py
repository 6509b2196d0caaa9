"""Counters of ended runs."""
