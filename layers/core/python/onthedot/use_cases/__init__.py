"""One module for each thing the scheduler does. They decide with `domain`, act through `ports`, and import no engine."""
