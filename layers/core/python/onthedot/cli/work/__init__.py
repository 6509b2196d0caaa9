"""The command `onthedot worker`, and the parts that only it needs."""
