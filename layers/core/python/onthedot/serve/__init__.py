"""The whole scheduler in one process: HTTP server, timer, worker, recovery at the start.

HTTP is read on an event loop (uvicorn with httptools). Short writes go to the writer thread of the SQLite engine, which
also starts due runs and calls handlers: work that is handed from thread to thread costs more than it takes. Other
requests and calls of other targets have threads. Ticks are those of AWS with one shard; runs that are due soon do not
wait for them.

- Ready within two seconds. Recovery sends the runs in watch slots again while the API answers already. Attempts of
  the server's own worker that are RUNNING died with the process before and are taken back; those of pull workers keep
  their leases.
- Health counts ticks of this process only: `starting` until the first one.
- Leases may wait up to 20 s, at most 256 at a time. A caller that hangs up gets no run.
- SIGTERM: accept and start nothing more, give runs the grace, ask them to stop, hand back. A second signal ends it.
- Bounds: 64 KB before the body, 10 MB of body, 2,000 connections.
- Without `--allow-private`, private addresses may be called only while the server itself listens on loopback.
"""
