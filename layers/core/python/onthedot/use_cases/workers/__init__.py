"""Use cases of pull workers: register them, lease and assign runs to them, and take their reports."""
