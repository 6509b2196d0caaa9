"""The two engines behind the ports: `aws` (DynamoDB, SQS, S3, EventBridge) and `sqlite` (one process), plus caches.

Only `onthedot.wiring` imports this package.
"""
