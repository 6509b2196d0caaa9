"""Dead letters: calls that list runs which failed for good and run them again."""
