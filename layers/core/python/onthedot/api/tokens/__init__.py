"""Tokens: calls by which an admin makes, lists and revokes the API tokens of a stage."""
