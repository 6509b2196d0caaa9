"""The queues: of runs by pool and priority, and of ticks, each with a dead-letter queue."""

from collections.abc import Iterator
from typing import Final, cast

from aws_cdk import Duration, Environment, Stack
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from components.dead_letters import construct_part, dead_letter_queue, queue_keys
from onthedot.core import schema
from onthedot.core.choices import Priority
from onthedot.core.pools import MOST_RECEIVES, Pool
from onthedot.core.slots import queue_name
from onthedot.engines.aws.sqs import ticks
from stage_config import StageConfig

# The longest single attempt on Lambda is 840 s. The rest is for start, finish and the wait until the fire time.
WORKER_TIMEOUT: Final = Duration.seconds(900)
# Lambda refuses a queue whose messages become visible while their function still runs. The sweep finds a lost worker
# long before that, so a longer time costs nothing.
WORKER_VISIBILITY: Final = Duration.seconds(960)

DISPATCHER_TIMEOUT: Final = Duration.seconds(90)
# As short as the timeout of the function allows. A tick whose dispatcher died must become visible while there is
# still lookahead left, or its claimed runs fire late.
TICK_VISIBILITY: Final = Duration.seconds(100)
# An older tick is useless: the next ticks have read the same slots.
TICK_MAX_AGE: Final = Duration.minutes(2)


SCHEDULE_DLQ = "schedule-dlq"
TICK_RECEIVES = 5
# Messages keep their age when they move to a dead-letter queue, so its retention is the longer one.
RETENTION = Duration.days(4)


class QueuesStack(Stack):
    def __init__(self, scope: Construct, config: StageConfig, env: Environment) -> None:
        super().__init__(scope, config.name("queues"), env=env, description="onthedot: queues")
        self._config = config
        for pool in config.all_pools:
            for key in queue_keys(pool):
                self._with_dead_letters(key, WORKER_VISIBILITY, MOST_RECEIVES[pool.kind])
        self.tick = self._with_dead_letters(ticks.QUEUE, TICK_VISIBILITY, TICK_RECEIVES)
        self.schedule_dead_letters = dead_letter_queue(self, config, SCHEDULE_DLQ)

    @property
    def base(self) -> str:
        """The URL of every queue of the stage, before its short name."""
        return f"https://sqs.{self.region}.{self.url_suffix}/{self.account}/{self._config.name('')}"

    def run_queue(self, stack: Stack, pool: Pool, priority: Priority) -> sqs.IQueue:
        """Return a queue for use in another stack, by its name.

        An export would be in the way: CloudFormation refuses to remove an export that another stack imports, so a pool
        could never be removed.
        """
        name = queue_name(pool, priority)
        known = stack.node.try_find_child(_construct_id(name))
        return cast("sqs.IQueue | None", known) or sqs.Queue.from_queue_arn(stack, _construct_id(name), self._arn(name))

    def pool_queues(self, stack: Stack, pool: Pool) -> list[sqs.IQueue]:
        """Return the queues of a pool, each of them once, for use in another stack."""
        priorities = schema.PRIORITIES[: pool.queues]
        return [self.run_queue(stack, pool, priority) for priority in priorities]

    def pool_queue_arns(self, pool: Pool) -> list[str]:
        return [self._arn(name) for name in queue_keys(pool)]

    def run_queue_arns(self) -> Iterator[list[str]]:
        """Yield the ARNs of each pool, for a statement of its own. One for all pools could exceed a policy's size."""
        return (self.pool_queue_arns(pool) for pool in self._config.all_pools)

    def _arn(self, name: str) -> str:
        return self.format_arn(service="sqs", resource=self._config.name(name))

    def _with_dead_letters(self, key: str, visibility: Duration, receives: int) -> sqs.Queue:
        dead_letters = dead_letter_queue(self, self._config, f"{key}-dlq")
        return sqs.Queue(
            self,
            _construct_id(key),
            queue_name=self._config.name(key),
            retention_period=RETENTION,
            visibility_timeout=visibility,
            dead_letter_queue=sqs.DeadLetterQueue(max_receive_count=receives, queue=dead_letters),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
        )


def _construct_id(key: str) -> str:
    return f"{construct_part(key)}Queue"
