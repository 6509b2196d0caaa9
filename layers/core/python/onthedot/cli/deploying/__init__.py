"""Commands that bring a stage to an AWS account and take it away: `bootstrap`, `deploy` and `destroy`."""
