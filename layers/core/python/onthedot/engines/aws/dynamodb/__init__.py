"""The ports that store items in the one DynamoDB table, and the keys and expressions that they share."""
