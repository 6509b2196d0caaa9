"""What every function that schedules is told, once."""

from typing import Any

from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig


def store_settings(config: StageConfig, data: DataStack, queues: QueuesStack) -> dict[str, Any]:
    """The fields of `StoreSettings`."""
    return {
        "stage": config.stage,
        "table": data.table.table_name,
        "shards": config.shards,
        "lookahead": config.lookahead,
        "history_days": config.history_days,
        "backlog_limit": config.backlog_limit,
        "queue_urls": queues.run_queue_urls(),
    }
