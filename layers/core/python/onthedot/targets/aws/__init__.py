"""The performers of Lambda functions and of other AWS API calls, and the clients that they use."""
