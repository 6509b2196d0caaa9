"""The performer of HTTP targets: requests, redirects, replies, and the connection with its one deadline."""
