"""Jobs: calls that submit, show, change, stop and run them."""
