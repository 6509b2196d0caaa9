"""Signing keys: calls that show and rotate the keys which sign a tenant's HTTP calls."""
