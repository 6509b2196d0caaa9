"""Where runs wait their last minutes: the pool's priority queues, the tick queue, and a dead-letter queue each."""

from aws_cdk import CfnOutput, Duration, Environment, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from components.alarms import alarm_above
from components.timing import TICK_VISIBILITY, WORKER_VISIBILITY
from onthedot import schema
from onthedot.domain.run import Priority
from stage_config import StageConfig

TICK = "tick"
SCHEDULE_DLQ = "schedule-dlq"
# A worker that gets a message too early, or while another holds the run, gives it back, and each time counts.
RUN_RECEIVES = 20
TICK_RECEIVES = 5
# Messages keep their age when they move to a dead-letter queue, so its retention must be the longer one.
RETENTION = Duration.days(4)
DLQ_RETENTION = Duration.days(14)


class QueuesStack(Stack):
    """All queues of a stage, by their short names."""

    def __init__(self, scope: Construct, config: StageConfig, env: Environment) -> None:
        super().__init__(scope, config.name("queues"), env=env, description="onthedot: queues")
        self._config = config
        self._queues: dict[str, sqs.Queue] = {}
        for priority in schema.PRIORITIES:
            key = schema.queue_key(schema.DEFAULT_POOL, priority)
            self._with_dead_letters(key, WORKER_VISIBILITY, RUN_RECEIVES)
        self.tick = self._with_dead_letters(TICK, TICK_VISIBILITY, TICK_RECEIVES)
        self.schedule_dead_letters = self._dead_letters(SCHEDULE_DLQ)
        self._alarm_on_late_ticks()
        urls = {key: queue.queue_url for key, queue in self._queues.items()}
        CfnOutput(self, "QueueUrls", value=self.to_json_string(urls))

    def run_queue(self, priority: Priority) -> sqs.Queue:
        return self._queues[schema.queue_key(schema.DEFAULT_POOL, priority)]

    def run_queue_urls(self) -> dict[str, str]:
        """As the functions' settings carry them."""
        return {
            schema.queue_key(schema.DEFAULT_POOL, priority): self.run_queue(priority).queue_url
            for priority in schema.PRIORITIES
        }

    def run_queue_arns(self) -> list[str]:
        return [self.run_queue(priority).queue_arn for priority in schema.PRIORITIES]

    def _with_dead_letters(self, key: str, visibility: Duration, receives: int) -> sqs.Queue:
        dead_letters = sqs.DeadLetterQueue(
            max_receive_count=receives,
            queue=self._dead_letters(f"{key}-dlq"),
        )
        return self._queue(key, RETENTION, visibility, dead_letters)

    def _dead_letters(self, key: str) -> sqs.Queue:
        """What nobody could deliver; one message in it is already worth a look."""
        queue = self._queue(key, DLQ_RETENTION)
        alarm_above(
            self,
            f"{_construct_id(key)}Alarm",
            name=self._config.name(f"{key}-not-empty"),
            metric=queue.metric_approximate_number_of_messages_visible(statistic="Maximum", period=Duration.minutes(5)),
            threshold=0,
            why=f"Undeliverable messages are waiting in {key}",
        )
        return queue

    def _queue(
        self,
        key: str,
        retention: Duration,
        visibility: Duration | None = None,
        dead_letters: sqs.DeadLetterQueue | None = None,
    ) -> sqs.Queue:
        queue = sqs.Queue(
            self,
            _construct_id(key),
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
            why="Ticks wait longer than the lookahead: runs are starting late",
        )


def _construct_id(key: str) -> str:
    return "".join(part.capitalize() for part in key.split("-")) + "Queue"
