"""Events that start jobs, and changes that are published.

In: a pattern has entries in an index, one for each pair of source and detail-type it can match, `*` where it names
none. An event reads at most four partitions, however many patterns are stored. Entries are written before the job and
removed after it; a stale entry is harmless, because the job is read consistently and its own pattern decides. The
run's id is made of the job, the event's time and the event's id, so an event that arrives twice runs once. A job that
cannot be read does not stop the others: the others get their runs, then the event is put away with the reason.

Out: every move increments `revision` in the same write. The table's stream feeds the publisher, filtered to ends
unless the stage publishes all changes. The publisher reports the first record that the bus did not take, and Lambda
continues from there. Events arrive at least once and in any order; `version` orders them. DynamoDB allows two readers
of a stream's shard: the publisher and the statistics are both.
"""
