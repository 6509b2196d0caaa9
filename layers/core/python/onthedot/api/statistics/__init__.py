"""Statistics: calls that count ended runs by steps of time, and give an overview."""
