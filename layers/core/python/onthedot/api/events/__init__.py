"""Events: calls that take them by REST and from the event bus, and the patterns of jobs that wait for them."""
