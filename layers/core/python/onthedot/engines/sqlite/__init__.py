"""The embedded engine: SQLite in one process behind the same ports, with the semantics of DynamoDB and SQS."""
