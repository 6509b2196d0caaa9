"""Times that two stacks must agree on, once."""

from typing import Final

from aws_cdk import Duration

# Longest single attempt on Lambda is 840 s; the rest is for start, finish and the hold before the fire time.
WORKER_TIMEOUT: Final = Duration.seconds(900)
# Lambda refuses a queue whose messages come back while their function still runs. A lost worker is found by
# the sweep long before that, so a longer time costs nothing.
WORKER_VISIBILITY: Final = Duration.seconds(960)

DISPATCHER_TIMEOUT: Final = Duration.seconds(90)
# As short as the function's time-out allows: a tick whose dispatcher died must come back while there is still
# lookahead left, or its claimed runs fire late.
TICK_VISIBILITY: Final = Duration.seconds(100)
# Nothing needs a tick that is older than this: the next ones have read the same slots.
TICK_MAX_AGE: Final = Duration.minutes(2)
