"""The pull worker: a process that asks for runs, performs them side by side, and says what became of each."""
