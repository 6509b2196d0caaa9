"""The `onthedot` command line: one module for each command, loaded when the command is called."""
