"""The keys of every kind of item in the table: here and nowhere else."""

from collections.abc import Mapping
from typing import Any, Final

from onthedot.schema import PARTITION_KEY, SORT_KEY

JOB_SORT_KEY: Final = "job"
TOKEN_PREFIX: Final = "token#"  # noqa: S105 (a prefix, no secret)
PROGRESS_PREFIX: Final = "progress#"

Key = dict[str, Any]


def _key(partition: str, sort: str) -> Key:
    return {PARTITION_KEY: {"S": partition}, SORT_KEY: {"S": sort}}


def run_key(run_id: str) -> Key:
    """A one-off job is its run: one item under the job's id."""
    return _key(run_id, JOB_SORT_KEY)


def run_id_of(item: Mapping[str, Any]) -> str:
    return str(item[PARTITION_KEY]["S"])


def token_key(token_hash: str) -> Key:
    return _key(TOKEN_PREFIX + token_hash, "token")


def progress_key(group: int) -> Key:
    return _key(f"{PROGRESS_PREFIX}{group}", "progress")
