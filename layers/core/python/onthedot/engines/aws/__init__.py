"""The AWS engine: DynamoDB, SQS, S3, CloudWatch and EventBridge behind the ports.

One table with three sparse indexes: `due` (slots), `listing` (a tenant's jobs) and `failures` (dead letters). Claims
are PartiQL batches of 25 conditional updates; every entry of every batch reply is checked. Messages go ten to a
request.

- Functions call DynamoDB and SQS with a client of our own, `client.py`, at a third of boto3's CPU time. Everything
  else calls with boto3, and so do functions where `ONTHEDOT_AWS_CLIENT` is `boto3`. The stores work with either.
- Failures are translated here: `Unreachable` (gone or denied) is not tried again within a call, every other one is
  `Unavailable` and is retried until a deadline. `Undecided`: the write may have happened.
- boto3 gets a ready user agent and does not validate parameters; building the agent for each request took 13-27 % of
  CPU.
- Queues are found by name, not by exports of stacks, so that a pool can be removed, and settings fit into 4 KB.
- The age of a queue comes from CloudWatch, and only the sweep asks for it, when it is about to resend.
- No item can grow towards 400 KB: a test builds the largest of each kind and fails above 220 KiB. Payloads and
  results over 1 KiB are in S3.
- An index cannot be changed in place: its projection is part of the stored format. A field in `due` costs an index
  write at each change.
- Runs of recurring jobs derive their trace from their id, and messages of the claim pass carry none.
"""
