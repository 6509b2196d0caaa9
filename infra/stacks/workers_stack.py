"""The worker of the push pools: one function, with an event source for each of their queues."""

from collections.abc import Iterator
from pathlib import Path

from aws_cdk import CfnOutput, Environment, Stack
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from components.scheduler_function import FunctionFactory, FunctionShape, worker_settings
from components.worker_grants import assuming, calls_role, working
from onthedot.core.pools import Pool, PoolKind
from stacks.data_stack import DataStack
from stacks.queues_stack import WORKER_TIMEOUT, QueuesStack
from stage_config import StageConfig

# Measured by `benchmarks/worker_memory.py`: ten HTTPS calls take 40 to 46 CPU-ms, about 0.15 s of the CPU that comes
# with this memory, and 68 MB. Half of it would double that time, and twice as much would cost twice while it waits.
WORKER = FunctionShape(memory_mb=512, timeout=WORKER_TIMEOUT)


class WorkersStack(Stack):
    """One function for all push pools. The pools differ only in the number of runs that it executes at once."""

    def __init__(
        self,
        scope: Construct,
        config: StageConfig,
        env: Environment,
        *,
        data: DataStack,
        queues: QueuesStack,
        dependencies: Path,
    ) -> None:
        super().__init__(scope, config.name("workers"), env=env, description="onthedot: Lambda workers")
        self._config, self._queues = config, queues
        settings = worker_settings(config, data, queues)
        # A run that ends sends retries and the runs that waited for it to the queues that invoke this function.
        worker = FunctionFactory(self, config, dependencies).make("worker", settings, WORKER, may_loop=True)
        # The event sources add the grants to receive, hide and delete messages.
        for statement in (*working(data, queues), assuming(self, config)):
            worker.add_to_role_policy(statement)
        calls_role(self, config, data)
        for pool in config.all_pools:
            if pool.kind is PoolKind.PUSH:
                for source in self._sources(pool):
                    worker.add_event_source(source)
        # `onthedot worker --direct`, a worker with AWS credentials that runs elsewhere, reads the same settings here.
        CfnOutput(self, "WorkerEnvironment", value=self.to_json_string(settings.to_environment()))

    def _sources(self, pool: Pool) -> Iterator[event_sources.SqsEventSource]:
        """Yield a source for each queue. Each priority has its share. One queue for all priorities has the whole."""
        if pool.queues == 1:
            [queue] = self._queues.pool_queues(self, pool)
            yield _source(queue, pool.batch, self._config.long_concurrency)
            return
        for priority, share in self._config.concurrency_by_priority().items():
            yield _source(self._queues.run_queue(self, pool, priority), pool.batch, share)


def _source(queue: sqs.IQueue, batch_size: int, concurrency: int) -> event_sources.SqsEventSource:
    # No batching window: it would delay runs beyond their fire time.
    return event_sources.SqsEventSource(
        queue,
        batch_size=batch_size,
        report_batch_item_failures=True,
        max_concurrency=concurrency,
    )
