"""REST: routing, reading of requests, errors, OpenAPI. The handlers of a resource are in its feature.

A handler parses, calls one use case, and maps the result. It raises errors of the core; this package turns them into
answers with a stable code, and names every wrong field. Unknown fields and parameters, and parameters that are given
twice, are refused. Bad input never gives 500.

- Routes are data: method, path, body, answer, errors, who may call. OpenAPI, the roles and the reference are made
  from them.
- `{id}` is the only path parameter, but a path may end in `{name}` or `{tenant}`, a percent-encoded text of the user.
- Every GET has an ETag, the hash of its body; `If-None-Match` is answered with 304. The ETag of a job is its version
  for `If-Match`.
- Answers may get more fields; requests are strict.
- Calls that change something are logged with the principal, never with payloads or secrets.
- Secrets in headers and AWS inputs are shown as `***`.
"""
