"""One module for each thing the scheduler does: decide with `domain`, act through `ports`, import no engine."""
