"""The aws engine: DynamoDB, SQS, S3 and CloudWatch behind the ports. Nothing else in the package imports boto3."""
