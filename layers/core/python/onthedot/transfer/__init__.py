"""Exports and imports: everything that a stage stores moves to another one."""
