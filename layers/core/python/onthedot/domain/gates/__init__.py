"""Gates: limits on how many attempts run at a time, and on how many start in a second. Pure decisions."""
