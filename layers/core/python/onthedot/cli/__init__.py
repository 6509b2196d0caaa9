"""The `onthedot` command line: the table of commands, and one folder for each section of the help."""
