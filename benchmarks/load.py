"""Measure how late runs are under load on the local stack, and which part saturates first.

    python -m benchmarks.load                   50 one-off jobs a second for a minute
    python -m benchmarks.load --instant 2000    all of them due at one instant, claimed by the dispatcher

Jobs are submitted through REST well before the first is due, so that submitting does not disturb firing. They call
back to a receiver on loopback, which notes the millisecond at which each connection came in.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import boto3
import urllib3

from benchmarks.common import ROOT, Bar, console, finish, quantile, show
from benchmarks.receiver import Receiver, receiving
from localstack import local, ministack_process
from localstack.home import home_from
from localstack.stack import LocalStack, read_description

OTHERS: Final = "others"
IDLE: Final = "idle"
MINISTACK: Final = "ministack"
_FUNCTION: Final = re.compile(rb"-(api|authorizer|planner|dispatcher|worker)-")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Sampler:
    """A thread that samples every second, from `start` to `stop`, the cores that each role uses."""

    def __init__(self, leader: int, named: dict[int, str]) -> None:
        self._leader = leader
        self._named = named
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._roles: dict[int, str] = {}
        self.seconds: list[dict[str, float]] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def mean(self) -> dict[str, float]:
        """Return the cores that each role used over the whole time, the busiest first."""
        total: Counter[str] = Counter()
        for second in self.seconds:
            total.update(second)
        return {role: used / len(self.seconds) for role, used in total.most_common()} if self.seconds else {}

    def peak(self, role: str) -> float:
        return max((second.get(role, 0.0) for second in self.seconds), default=0.0)

    def _run(self) -> None:
        before, at = self._spent(), time.monotonic()
        while not self._stopped.wait(1.0):
            now, later = self._spent(), time.monotonic()
            # The CPU time of a process that has ended is missing in the sum.
            used = {role: max(now[role] - before[role], 0) / _TICKS / (later - at) for role in now}
            self.seconds.append(used)
            before, at = now, later

    def _spent(self) -> Counter[str]:
        spent: Counter[str] = Counter()
        for entry in Path("/proc").glob("[0-9]*"):
            pid = int(entry.name)
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == self._leader or pid in self._named:
                spent[self._role(pid)] += int(fields[11]) + int(fields[12])
        machine = [int(value) for value in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
        spent[IDLE] = machine[3] + machine[4]
        spent[OTHERS] = sum(machine) - spent[IDLE] - sum(spent[role] for role in spent if role != IDLE)
        return spent

    def _role(self, pid: int) -> str:
        if pid not in self._roles:
            self._roles[pid] = self._named.get(pid) or self._function(pid)
        return self._roles[pid]

    def _function(self, pid: int) -> str:
        try:
            found = _FUNCTION.search(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            return MINISTACK
        return f"{found[1].decode()}s" if found else MINISTACK


SHARDS: Final = 4
JOBS_PER_BATCH: Final = 25
PATIENCE_SECONDS: Final = 120
WARNING_MS: Final = 2_000
"""How long before the instant the benchmark counts the runs that are in SQS."""
FIRST_PATH: Final = "/job/"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def sleep_until(at: int) -> None:
    time.sleep(max(at - now_ms(), 0) / 1000)


# --- the stack -------------------------------------------------------------------------------------------------------


@contextmanager
def a_stack(*, own: bool) -> Iterator[LocalStack]:
    """Use the stack that runs here, or bring up one that is removed afterwards."""
    standing = home_from(os.environ)
    if not own and ministack_process.find(standing):
        yield LocalStack(**read_description(standing))
        return
    home = ROOT / ".onthedot-bench"
    local.reset(home)
    try:
        yield local.up(home, ministack_process.free_port(), SHARDS, demo=False)
    finally:
        local.down(home)
        shutil.rmtree(home, ignore_errors=True)


@dataclass
class Submitter:
    """A client that submits jobs through REST, in batches."""

    stack: LocalStack
    threads: int = 6
    pool: urllib3.PoolManager = field(init=False)

    def __post_init__(self) -> None:
        headers = {"Authorization": f"Bearer {self.stack.token}", "Content-Type": "application/json"}
        self.pool = urllib3.PoolManager(maxsize=self.threads, headers=headers, retries=False, timeout=60)

    def submit(self, jobs: Sequence[dict[str, Any]]) -> list[str]:
        """Submit the jobs and return their ids in order."""
        parts = [jobs[first : first + JOBS_PER_BATCH] for first in range(0, len(jobs), JOBS_PER_BATCH)]
        with ThreadPoolExecutor(self.threads) as threads:
            return [job_id for ids in threads.map(self._submit_batch, parts) for job_id in ids]

    def _submit_batch(self, jobs: Sequence[dict[str, Any]]) -> list[str]:
        path, body = "/v1/jobs/batch", json.dumps({"jobs": list(jobs)})
        reply = self.pool.request("POST", self.stack.api_url + path, body=body)
        if reply.status not in (200, 202, 207):
            raise RuntimeError(f"{path} answered {reply.status}: {reply.data[:300].decode(errors='replace')}")
        return [str(job["job_id"]) for job in json.loads(reply.data)["jobs"]]


# --- the load --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fired:
    due: dict[str, int]
    arrivals: list[tuple[str, int]]

    @property
    def late(self) -> list[int]:
        return [at - self.due[path] for path, at in self.arrivals]

    @property
    def missing(self) -> int:
        return len(self.due.keys() - {path for path, _ in self.arrivals})

    @property
    def again(self) -> int:
        return len(self.arrivals) - len({path for path, _ in self.arrivals})


def fire(
    stack: LocalStack, receiver: Receiver, due: Sequence[int], sampler: Sampler
) -> tuple[Fired, list[str], dict[str, Any]]:
    by_path = {f"{FIRST_PATH}{number}": at for number, at in enumerate(due)}
    began = time.monotonic()
    jobs = [{"callback_url": receiver.url + path, "at": at / 1000} for path, at in by_path.items()]
    with console.status(f"submitting {len(jobs)} jobs"):
        job_ids = Submitter(stack).submit(jobs)
    spent = time.monotonic() - began
    left = (min(due) - now_ms()) / 1000
    console.print(
        f"submitted {len(jobs)} jobs in {spent:.0f} s ({len(jobs) / spent:.0f}/s); the first is due in {left:.0f} s"
    )
    if left < 10:
        raise RuntimeError("submitting took too long: the first jobs are due already; raise --ahead")
    with console.status("waiting"):
        sleep_until(min(due) - WARNING_MS)
    in_queues_before = in_queues(stack)
    with console.status("firing"):
        sleep_until(min(due) - 500)
        sampler.start()
        sleep_until(max(due))
        fired = _await_all(receiver, by_path)
        sampler.stop()
    return fired, job_ids, {"submitted_per_second": len(jobs) / spent, "in_queues_before": in_queues_before}


def _await_all(receiver: Receiver, due: dict[str, int]) -> Fired:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        fired = Fired(due, [each for each in receiver.arrivals() if each[0] in due])
        if not fired.missing or time.monotonic() > deadline:
            # A callback that is sent twice arrives soon after the first.
            time.sleep(2)
            return Fired(due, [each for each in receiver.arrivals() if each[0] in due])
        time.sleep(1)


def client(stack: LocalStack, service: Any) -> Any:
    session = boto3.Session("test", "test", region_name="us-east-1")
    return session.client(service, endpoint_url=stack.endpoint_url)


def in_queues(stack: LocalStack) -> int:
    """Count the messages in SQS, delayed ones included."""
    sqs = client(stack, "sqs")
    kinds = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "Delayed", "NotVisible")]
    replies = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=kinds) for url in stack.queues.values()]
    return sum(int(reply["Attributes"][kind]) for reply in replies for kind in kinds)


def records(stack: LocalStack, job_ids: Sequence[str]) -> list[dict[str, Any]]:
    dynamodb = client(stack, "dynamodb")
    found: list[dict[str, Any]] = []
    for first in range(0, len(job_ids), 100):
        keys = [{"pk": {"S": job_id}, "sk": {"S": "job"}} for job_id in job_ids[first : first + 100]]
        found += dynamodb.batch_get_item(RequestItems={stack.table: {"Keys": keys}})["Responses"][stack.table]
    return found


# --- the report ------------------------------------------------------------------------------------------------------


def report(fired: Fired, items: Sequence[dict[str, Any]], sampler: Sampler) -> dict[str, Any]:
    late = fired.late
    started = [int(item["started_at"]["N"]) - int(item["nominal_at"]["N"]) for item in items if "started_at" in item]
    rows: list[list[object]] = [
        [what, *(float(v) for v in (min(values), *(quantile(values, q) for q in (0.5, 0.95, 0.99)), max(values)))]
        for what, values in (("start of the attempt", started), ("at the target", late))
        if values
    ]
    show(f"Lateness of {len(fired.due)} runs, ms", ["", "earliest", "p50", "p95", "p99", "max"], rows)
    cores = sampler.mean()
    rows = [[role, used, sampler.peak(role), ms_per_run(used, sampler, fired)] for role, used in cores.items()]
    show(f"Cores, of {os.cpu_count()}, while firing", ["", "mean", "peak second", "CPU-ms a run"], rows)
    statuses = Counter(item["status"]["S"] for item in items)
    attempts = Counter(item.get("attempt", {"N": "0"})["N"] for item in items)
    console.print(f"statuses {dict(statuses)}, attempts {dict(attempts)}; missing {fired.missing}, again {fired.again}")
    return {
        "late_ms": {str(q): quantile(late, q) for q in (0, 0.5, 0.95, 0.99, 1)},
        "start_late_ms": {str(q): quantile(started, q) for q in (0, 0.5, 0.95, 0.99, 1)},
        "cores": cores,
        "peaks": {role: sampler.peak(role) for role in cores},
        "statuses": statuses,
        "saturates": what_saturates(sampler),
    }


def ms_per_run(used: float, sampler: Sampler, fired: Fired) -> float:
    return 1000 * used * len(sampler.seconds) / len(fired.due)


def what_saturates(sampler: Sampler) -> str:
    """Say which role uses most of the processor, in the quarter of the seconds with the least idle time."""
    busy = sorted(sampler.seconds, key=lambda second: second.get(IDLE, 0.0))[: max(len(sampler.seconds) // 4, 1)]
    roles = {role: statistics.mean(s.get(role, 0.0) for s in busy) for role in sampler.mean()}
    idle = roles.pop(IDLE, 0.0)
    first = max(roles, key=lambda role: roles[role], default="nothing")
    text = f"in the busiest quarter of the time {idle:.2f} of {os.cpu_count()} cores are idle; most is used by {first}"
    text += f" ({roles.get(first, 0.0):.2f}); other programs use {roles.get(OTHERS, 0.0):.2f}"
    console.print(text)
    return text


def drain(fired: Fired) -> dict[str, float]:
    """Report how fast runs that are due at one instant were started."""
    last = max(fired.late)
    console.print(
        f"drained {len(fired.arrivals)} in {last / 1000:.1f} s: {len(fired.arrivals) / last * 1000:.0f} runs/s"
    )
    return {"seconds": last / 1000, "runs_per_second": len(fired.arrivals) / last * 1000}


def bars_of(fired: Fired, *, instant: bool, in_queues_before: int) -> list[Bar]:
    late = fired.late or [10**9]
    bars = [
        Bar("runs that did not start", fired.missing, 0),
        Bar("runs that started again", fired.again, 0),
        Bar("earlier than due", max(-min(late), 0), 0, "ms"),
    ]
    if instant:
        return [*bars, Bar("not yet in SQS 2 s before the instant", len(fired.due) - in_queues_before, 0)]
    return [
        *bars,
        Bar("p50 lateness", quantile(late, 0.5), 1_000, "ms", 20),
        Bar("p99 lateness", quantile(late, 0.99), 1_000, "ms", 250),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=50, help="runs a second")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--instant", type=int, help="this many runs due at one instant instead")
    parser.add_argument("--ahead", type=int, help="seconds from now to the first fire; default: enough to submit all")
    parser.add_argument("--own", action="store_true", help="bring up a stack for this, even if one runs")
    options = parser.parse_args()
    count = options.instant or round(options.rate * options.seconds)
    # The dispatcher claims runs that are far enough ahead. A steady load takes the direct path, and need not wait.
    ahead = options.ahead or (max(330, count // 25 + 60) if options.instant else count // 25 + 75)
    with a_stack(own=options.own) as stack, receiving() as receiver:
        start = now_ms() + ahead * 1000
        due = [start if options.instant else start + round(i * 1000 / options.rate) for i in range(count)]
        sampler = Sampler(stack.pid, {receiver.pid: "receiver", os.getpid(): "this benchmark"})
        fired, job_ids, results = fire(stack, receiver, due, sampler)
        results |= report(fired, records(stack, job_ids), sampler)
    in_queues_before = int(results["in_queues_before"])
    if options.instant:
        console.print(f"{in_queues_before} of {count} were in SQS 2 s before the instant")
        results["drain"] = drain(fired)
    name = "load_instant" if options.instant else "load"
    return finish(name, results, bars_of(fired, instant=bool(options.instant), in_queues_before=in_queues_before))


if __name__ == "__main__":
    sys.exit(main())
