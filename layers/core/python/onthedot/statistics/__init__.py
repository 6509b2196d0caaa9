"""Ended runs counted by tenant, minute and priority: outcomes, retries, lost attempts, lateness.

Lateness is a histogram with fixed bounds, so counters of any minutes can be added. One rule (`end_after`) says which
write ends a run: its status becomes that of an end, or a skipped range grows. A run that is redriven and ends again
counts again.

SQLite: the transaction that ends a run adds it to a row, so it is counted once. AWS: the table's stream feeds a
function; the ends of a batch that share tenant and minute are one UpdateItem. Lambda may deliver a batch twice with
other bounds, and sequence numbers grow within one shard of the stream only. So the item keeps the last counted number
of each shard, the update expects a smaller one, and if it is refused only the changes behind that number are added.
This needs `ParallelizationFactor` 1 and a tumbling window, which alone gives the shard's id.

The largest lateness is exact: an update that sets one expects a smaller one; if refused, a second try leaves it out.

Counters of minutes only: 35 days are at most 15 MB, read for 0.0003 USD. The stage's own jobs are not counted.

The overview reads its parts side by side. A part that fails or takes more than eight seconds is null and named. A
process remembers parts for seconds, because consoles ask every five.
"""
