"""Gates: calls that set, show and delete the limits which a tenant gives to its own jobs."""
