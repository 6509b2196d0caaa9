"""Queues: the call that shows how many runs wait for workers."""
