"""Target types, the rules that API and performers share, and one performer for each.

A target is a frozen dataclass of JSON values. Rules such as the syntax of an address are pure functions that both the
request model and the performer call. A performer has one method, `perform(call) -> Answer`: it never outlives its
timeout, ends when the call's stop is requested, and says whether a failure may be retried.

- HTTP: one deadline covers resolution, connection, TLS and body. Every resolved address is checked against the deny
  list and the connection goes to a checked one; redirects are checked like the first address. Secrets are removed
  from error texts.
- gRPC: unary, types by reflection.
- AWS and Lambda: with the role of jobs' calls, which is denied everything of onthedot, and an allow-list checked both
  at submit and here. boto3 cannot be interrupted, so the call runs in a thread that is abandoned at the deadline.
- Programs and Python handlers run under a small supervisor process that kills the whole tree when the worker dies.
  Reports of progress come over a pipe; the newest counts.

Only `targets/aws` imports boto3. A factory imports its performer when it is first needed.
"""
