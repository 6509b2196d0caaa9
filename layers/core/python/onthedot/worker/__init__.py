"""The pull worker: a process that leases runs, performs them side by side, and reports the end of each.

This folder holds its work sources (REST and direct), its main loop and its threads. The command is in `cli`.
"""
