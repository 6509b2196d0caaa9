"""Parts that several commands share: calls of the API, times for people, and times that people write."""
