"""Times that two stacks must agree on."""

from typing import Final

from aws_cdk import Duration

# The longest single attempt on Lambda is 840 s. The rest is for start, finish and the wait until the fire time.
WORKER_TIMEOUT: Final = Duration.seconds(900)
# Lambda refuses a queue whose messages become visible while their function still runs. The sweep finds a lost worker
# long before that, so a longer time costs nothing.
WORKER_VISIBILITY: Final = Duration.seconds(960)

DISPATCHER_TIMEOUT: Final = Duration.seconds(90)
# As short as the time-out of the function allows. A tick whose dispatcher died must become visible while there is
# still lookahead left, or its claimed runs fire late.
TICK_VISIBILITY: Final = Duration.seconds(100)
# An older tick is useless: the next ticks have read the same slots.
TICK_MAX_AGE: Final = Duration.minutes(2)
