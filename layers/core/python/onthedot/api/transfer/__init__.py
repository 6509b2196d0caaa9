"""Transfer: calls by which an admin freezes, exports, imports and releases a stage."""
