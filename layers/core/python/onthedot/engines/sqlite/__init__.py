"""The SQLite engine: one file, queues in memory, the same promises as on AWS.

WAL with `synchronous=FULL`. One thread does all short writes; operations that arrive while a commit is syncing share
the next one. A transaction inside the group is a savepoint, so one that fails is undone alone. When the commit fails,
every operation of the group gets an error and none has happened. `after_commit` runs what may only happen once data
is on disk: replies, calls of targets, messages. An operation must not wait.

Readers have connections of their own, see commits at once, and wait for no writer.

Messages point at runs, so they are not stored. They arrive at the millisecond of the fire time. At a start the server
sends the runs in watch slots again. One process owns a file, by a lock next to it. Leases of pull workers wait on the
queues of their pool; the wait is registered before the worker is read, so nothing is missed.

A file from an earlier version is migrated in one transaction; one from a newer version is not opened, and not changed.

A clock that is set back delays runs and makes none early; a clock that is set ahead makes runs due within half a
minute.
"""
