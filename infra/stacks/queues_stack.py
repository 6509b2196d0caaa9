"""The queues: of runs by pool and priority, and of ticks, each with a dead-letter queue."""

from aws_cdk import CfnOutput, Duration, Environment, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from components.alarms import alarm_above
from components.dead_letters import construct_id, dead_letter_queue
from components.timing import TICK_VISIBILITY, WORKER_VISIBILITY
from onthedot import schema
from onthedot.domain.runs.queue_names import queue_key
from onthedot.domain.runs.records import Priority
from onthedot.domain.workers.pools import MOST_RECEIVES, Pool
from stage_config import StageConfig

TICK = "tick"
SCHEDULE_DLQ = "schedule-dlq"
TICK_RECEIVES = 5
# Messages keep their age when they move to a dead-letter queue, so its retention is the longer one.
RETENTION = Duration.days(4)


class QueuesStack(Stack):
    """All queues of a stage, by their short names."""

    def __init__(self, scope: Construct, config: StageConfig, env: Environment) -> None:
        super().__init__(scope, config.name("queues"), env=env, description="onthedot: queues")
        self._config = config
        self._queues: dict[str, sqs.Queue] = {}
        for pool in config.all_pools:
            for key in dict.fromkeys(queue_name(pool, priority) for priority in schema.PRIORITIES):
                self._with_dead_letters(key, WORKER_VISIBILITY, MOST_RECEIVES[pool.kind])
        self.tick = self._with_dead_letters(TICK, TICK_VISIBILITY, TICK_RECEIVES)
        self.schedule_dead_letters = self._dead_letters(SCHEDULE_DLQ)
        self._alarm_on_late_ticks()
        urls = {key: queue.queue_url for key, queue in self._queues.items()}
        CfnOutput(self, "QueueUrls", value=self.to_json_string(urls))

    def run_queue(self, pool: Pool, priority: Priority) -> sqs.Queue:
        return self._queues[queue_name(pool, priority)]

    def pool_queues(self, pool: Pool) -> list[sqs.Queue]:
        """Return the queues of a pool, each of them once."""
        names = dict.fromkeys(queue_name(pool, priority) for priority in schema.PRIORITIES)
        return [self._queues[name] for name in names]

    def pool_queue_arns(self, pool: Pool) -> list[str]:
        return [queue.queue_arn for queue in self.pool_queues(pool)]

    def run_queue_urls(self) -> dict[str, str]:
        """Return the URLs by pool and priority, for settings. One queue may serve all priorities of a pool."""
        return {
            queue_key(pool.name, priority): self.run_queue(pool, priority).queue_url
            for pool in self._config.all_pools
            for priority in schema.PRIORITIES
        }

    def run_queue_arns(self) -> list[str]:
        return [arn for pool in self._config.all_pools for arn in self.pool_queue_arns(pool)]

    def _with_dead_letters(self, key: str, visibility: Duration, receives: int) -> sqs.Queue:
        dead_letters = sqs.DeadLetterQueue(
            max_receive_count=receives,
            queue=self._dead_letters(f"{key}-dlq"),
        )
        return self._queue(key, RETENTION, visibility, dead_letters)

    def _dead_letters(self, key: str) -> sqs.Queue:
        queue = self._queues[key] = dead_letter_queue(self, self._config, key)
        return queue

    def _queue(
        self,
        key: str,
        retention: Duration,
        visibility: Duration,
        dead_letters: sqs.DeadLetterQueue,
    ) -> sqs.Queue:
        queue = sqs.Queue(
            self,
            construct_id(key),
            queue_name=self._config.name(key),
            retention_period=retention,
            visibility_timeout=visibility,
            dead_letter_queue=dead_letters,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
        )
        self._queues[key] = queue
        return queue

    def _alarm_on_late_ticks(self) -> cloudwatch.Alarm:
        return alarm_above(
            self,
            "TickAgeAlarm",
            name=self._config.name("ticks-late"),
            metric=self.tick.metric_approximate_age_of_oldest_message(statistic="Maximum", period=Duration.minutes(1)),
            threshold=self._config.lookahead * 60,
            why="Ticks wait longer than the lookahead: runs start late",
        )


def queue_name(pool: Pool, priority: Priority) -> str:
    """Return the short name of the queue of a pool's runs of this priority."""
    return pool.name if pool.queues == 1 else queue_key(pool.name, priority)
