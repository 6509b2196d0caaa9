"""The AWS engine: DynamoDB, SQS, S3, EventBridge and CloudWatch behind the ports. boto3's errors end here."""
