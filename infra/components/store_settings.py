"""The settings that all functions that schedule, and all workers, have in common."""

from typing import Any

from components.calls_role import calls_role_arn
from onthedot.domain.targets import allow_list
from onthedot.domain.workers.pools import pools_to_text
from onthedot.settings import WorkerSettings
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig


def store_settings(config: StageConfig, data: DataStack, queues: QueuesStack) -> dict[str, Any]:
    """Return the fields of `StoreSettings`."""
    return {
        "stage": config.stage,
        "table": data.table.table_name,
        "shards": config.shards,
        "lookahead": config.lookahead,
        "history_days": config.history_days,
        "backlog_limit": config.backlog_limit,
        "queue_base": queues.base,
        "pools": pools_to_text(config.all_pools),
        "detailed_metrics": config.detailed_metrics,
    }


def worker_settings(config: StageConfig, data: DataStack, queues: QueuesStack) -> WorkerSettings:
    """Return the settings of a worker: a function, a task, or a process elsewhere that has AWS credentials."""
    return WorkerSettings(
        **store_settings(config, data, queues),
        blob_bucket=data.blobs.bucket_name,
        allow_list=allow_list.to_json(config.allow_list),
        allow_private_targets=config.local,
        calls_role=calls_role_arn(data, config),
    )
