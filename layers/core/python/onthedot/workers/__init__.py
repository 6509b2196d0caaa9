"""Pull workers."""
