"""Who may call: API tokens, signing keys, and a tenant's data as a whole.

- A token has two items: one under its hash, and its entry in the list, which is written first and deleted last. The
  authorizer reads one item, and every valid token can be listed and revoked; no transaction is needed.
- API Gateway remembers the authorizer's answer for 50 seconds, so a revoked token is refused within a minute; on
  `serve` within five seconds.
- The table stores hashes only. The token itself is shown once.
- Another tenant's id answers exactly like a missing one.
- Signing keys are made at a tenant's first use and cached for a minute. At most five sign at once; after a rotation
  both keys sign until the overlap ends. Signatures follow Standard Webhooks.
- `delete_tenant` scans the table, because no index has tombstones, gate states and remembered events, and one would
  cost every run a write. It stops the tenant by its limits, revokes tokens, deletes blobs and items, waits until
  every attempt under way has ended, and repeats until a pass finds nothing. The keys of blobs begin with a hash of
  the tenant.
- The tenant `onthedot` is the stage's own; no token can be made for it.
"""
