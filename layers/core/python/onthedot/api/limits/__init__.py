"""Limits: calls by which an admin limits the tenants of a stage."""
