"""One module for each thing the scheduler does. It decides with `domain`, acts through `ports`, imports no engine."""
