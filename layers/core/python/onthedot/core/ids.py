"""The ids of jobs and runs: random, or derived where a retry must get the same id."""

import base64
import hashlib
import secrets


def _spell(raw: bytes) -> str:
    return "job_" + base64.b32encode(raw).decode().rstrip("=").lower()


def fresh_job_id() -> str:
    return _spell(secrets.token_bytes(16))


def job_id_for_key(tenant: str, idempotency_key: str) -> str:
    """Return the one id of a tenant's idempotency key, so that put-if-absent alone makes a create idempotent."""
    text = f"{len(tenant)}:{tenant}:{idempotency_key}"
    return _spell(hashlib.sha256(text.encode()).digest()[:16])


def stamped_run_id(job_id: str, nominal: int) -> str:
    """Return the one id of a job's run at this time, so that it is stamped once. Ids sort by time."""
    return f"{job_id}.{nominal:015d}"


def extra_run_id(job_id: str, nominal: int, why: str) -> str:
    """Return the id of a record outside the schedule: a run on demand, or a range of skipped times."""
    return f"{stamped_run_id(job_id, nominal)}-{why}"


def node_job_id(workflow_run_id: str, key: str) -> str:
    """Return the one id of a workflow's job in the graph that this run makes, so that it is made once."""
    text = f"workflow:{len(workflow_run_id)}:{workflow_run_id}:{key}"
    return _spell(hashlib.sha256(text.encode()).digest()[:16])


def event_run_id(job_id: str, nominal: int, event_id: str) -> str:
    """Return the one id of a job's run for this event, so that it is stamped once, however often the event arrives."""
    return extra_run_id(job_id, nominal, f"event-{event_digest(event_id)[:24]}")


def event_digest(event_id: str) -> str:
    """Return the hash that stands for an event's id, which may have any length and any characters."""
    return hashlib.sha256(event_id.encode("utf-8", "surrogatepass")).hexdigest()


def job_id_of(run_id: str) -> str:
    return run_id.partition(".")[0]


def is_stamped(run_id: str) -> bool:
    """Return whether this is the id of a stamped run or a skipped range, and not of a job."""
    return "." in run_id


def is_scheduled(run_id: str) -> bool:
    """Return whether the run stands for a fire time of its job's schedule."""
    return is_stamped(run_id) and "-" not in run_id.partition(".")[2]


def nominal_of(run_id: str) -> int:
    return int(run_id.partition(".")[2].partition("-")[0])


def fresh_generation() -> str:
    """Return a random token: the generation of one scheduling of a run, or any other token."""
    return secrets.token_hex(6)
