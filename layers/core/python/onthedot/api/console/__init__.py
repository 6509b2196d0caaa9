"""The console: the page and its files, the same on both engines."""
