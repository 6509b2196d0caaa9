"""The client of the REST API for programs with an event loop. `make generate` makes `client` from it."""

import builtins
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Self, Unpack

from onthedot.client import requests
from onthedot.client.answers import (
    Backfilled,
    BulkStep,
    Causes,
    Execution,
    Explanation,
    FireTime,
    Forecast,
    Gate,
    Health,
    Job,
    ListedJob,
    Overview,
    Queue,
    Redriven,
    Statistics,
    Worker,
    Workflow,
)
from onthedot.client.calling import TRIES, Trying, body_of, headers_for
from onthedot.client.errors import ClientError
from onthedot.client.options import (
    ChangeOptions,
    DeadLetterOptions,
    JobFilter,
    JobOptions,
    PreviewOptions,
    Time,
    WorkflowOptions,
)
from onthedot.client.requests import Answer, Operation, Page
from onthedot.client.transport import HttpTransport, NoAnswer, Reply, Transport


# Only with an event loop
async def _in_thread(function: Callable[..., Answer], *arguments: Any) -> Answer:
    import asyncio  # noqa: PLC0415 - the caller's loop has loaded it; `import onthedot` must not

    return await asyncio.to_thread(function, *arguments)


async def _sleep(seconds: float) -> None:
    import asyncio  # noqa: PLC0415 - as above

    await asyncio.sleep(seconds)


# End
class AsyncClient:
    """A client of the API for an event loop. A thread sends each request, so the loop stays free.

    A call that is cancelled may still take effect.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: Transport | None = None,
        tries: int = TRIES,
        timeout: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = _sleep,
    ) -> None:
        if transport is None:
            from onthedot.client.place import find_place  # noqa: PLC0415 - it loads more than all the rest

            place = find_place(url, token)
            transport, token = HttpTransport(place.url, timeout), place.token
        self._transport = transport
        self._headers = headers_for(token)
        self._tries = tries
        self._sleep = sleep

    async def schedule(self, handler: str | None = None, payload: Any = None, **options: Unpack[JobOptions]) -> Job:
        """Schedule a job that runs a handler, or calls `url`, or a `target`. Without a time it runs now.

        A job without an `idempotency_key` gets one, so that a retry of this call makes no second job.
        """
        return await self.call(requests.schedule(requests.job_request(handler, payload, **options)))

    async def batch(self, jobs: Iterable[Mapping[str, Any]]) -> builtins.list[Job | ClientError]:
        """Schedule many jobs, each made by `job_request`. Return the job or the error of each, in order."""
        return [outcome for part in requests.batches(jobs) for outcome in await self.call(part)]

    async def get(self, job_id: str) -> Job:
        """Return a job."""
        return await self.call(requests.get(job_id))

    async def change(self, job_id: str, *, if_version: int | None = None, **options: Unpack[ChangeOptions]) -> Job:
        """Change the coming runs of a job. An option that is left out stays, and None removes it from the job.

        With `if_version` the job must still have this version, else it raises PreconditionFailed. A call with it, or
        with `delay` or `every`, is not repeated when its reply was lost.
        """
        return await self.call(requests.change(job_id, options, if_version))

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job for good. A running attempt is asked to stop."""
        return await self.call(requests.cancel(job_id))

    async def delete(self, job_id: str) -> None:
        """Delete a job. It never fires again."""
        await self.call(requests.delete(job_id))

    async def pause(self, job_id: str) -> Job:
        """Pause a job."""
        return await self.call(requests.pause(job_id))

    async def resume(self, job_id: str) -> Job:
        """Resume a paused job."""
        return await self.call(requests.resume(job_id))

    async def run(self, job_id: str, payload: Any = None) -> Execution:
        """Run a job now, in addition to its schedule, with a payload of this run if one is given.

        A call whose reply was lost is not repeated.
        """
        return await self.call(requests.run(job_id, payload))

    async def explain(self, job_id: str) -> Explanation:
        """Return why a job has not run, or what it does now."""
        return await self.call(requests.explain(job_id))

    async def execution(self, execution_id: str) -> Execution:
        """Return an execution with its attempts and its whole result."""
        return await self.call(requests.execution(execution_id))

    async def executions(
        self, job: str | None = None, *, worker: str | None = None, status: str | None = None
    ) -> AsyncIterator[Execution]:
        """Yield the executions of a job, the newest first, or of a pull worker: the running ones and its latest 100.

        `job` is an id or a name. Without both, `status` is RUNNING or FAILED. Further pages are read when they are
        needed.
        """
        job = None if job is None else await self._job_id(job)
        async for one in self._pages(lambda cursor: requests.executions(cursor, job=job, worker=worker, status=status)):
            yield one

    async def list(self, **filters: Unpack[JobFilter]) -> AsyncIterator[ListedJob]:
        """Yield the jobs that pass the filters, the newest first. Further pages are read when they are needed."""
        async for one in self._pages(lambda cursor: requests.list_jobs(filters, cursor)):
            yield one

    async def bulk(
        self,
        action: str,
        *,
        ids: Sequence[str] | None = None,
        dry_run: bool = False,
        **filters: Unpack[JobFilter],
    ) -> AsyncIterator[BulkStep]:
        """Pause, resume, cancel, delete or run the jobs with these ids, or all that pass the filters.

        Yield the outcome of each step. The next step begins when it is asked for. With `dry_run` it only counts.
        """
        async for step in self._pages(
            lambda cursor: requests.bulk(action, filters, ids, dry_run=dry_run, cursor=cursor)
        ):
            yield step

    async def preview(self, **options: Unpack[PreviewOptions]) -> builtins.list[FireTime]:
        """Return the next fire times of a schedule, without a job."""
        return await self.call(requests.preview(options))

    async def workflow(self, jobs: Sequence[Mapping[str, Any]], **options: Unpack[WorkflowOptions]) -> Workflow:
        """Start a workflow of jobs, each made by `job_request` with `key` and `depends_on`."""
        return await self.call(requests.workflow(jobs, options))

    async def get_workflow(self, workflow_id: str) -> Workflow:
        """Return a workflow with the statuses of its jobs."""
        return await self.call(requests.get_workflow(workflow_id))

    async def backfill(
        self, job_id: str, start: Time, end: Time, *, limit: int = 100, priority: str = "LOW"
    ) -> Backfilled:
        """Run a recurring job for its fire times from `start` to before `end`, up to `limit` of them."""
        return await self.call(requests.backfill(job_id, start, end, limit, priority))

    async def forecast(self, minutes: int = 15) -> Forecast:
        """Return how many runs are scheduled for each coming minute."""
        return await self.call(requests.forecast(minutes))

    async def workers(self, status: str | None = None) -> builtins.list[Worker]:
        """Return the pull workers that may run the tenant's jobs, the latest first."""
        return await self.call(requests.workers(status))

    async def dead_letters(self, **options: Unpack[DeadLetterOptions]) -> AsyncIterator[Execution]:
        """Yield the executions that failed for good, the latest first. Further pages are read when they are needed."""
        options = await self._with_job_id(options)
        async for one in self._pages(lambda cursor: requests.dead_letters(cursor, options)):
            yield one

    async def dead_letter_causes(self, limit: int = 20, **options: Unpack[DeadLetterOptions]) -> Causes:
        """Return why executions failed for good, the most frequent cause first."""
        options = await self._with_job_id(options)
        return await self.call(requests.dead_letter_causes(limit, options))

    async def redrive(
        self,
        ids: Sequence[str] | None = None,
        *,
        everything: bool = False,
        dry_run: bool = False,
        cursor: str | None = None,
        **options: Unpack[DeadLetterOptions],
    ) -> Redriven:
        """Run dead letters again: the ones with these ids, all that pass the filters, or `everything`.

        It does as many as one call has time for: call again with the `cursor` of the answer while there is one. A dry
        run only counts. Without ids, filters and `everything` it raises InvalidRequest.
        """
        options = await self._with_job_id(options)
        return await self.call(requests.redrive(ids, options, everything=everything, dry_run=dry_run, cursor=cursor))

    async def queues(self) -> builtins.list[Queue]:
        """Return the queues of the stage, with the runs that wait in them."""
        return await self.call(requests.queues())

    async def overview(self) -> Overview:
        """Return the state of the stage: the last hour, queues, workers, due runs and failures."""
        return await self.call(requests.overview())

    async def statistics(
        self,
        start: Time | None = None,
        end: Time | None = None,
        *,
        step: int | None = None,
        priority: str | None = None,
    ) -> Statistics:
        """Return the ends of runs and their lateness for each step of a range, by default of the last hour."""
        return await self.call(requests.statistics(start, end, step, priority))

    async def gates(self) -> AsyncIterator[Gate]:
        """Yield the gates of the tenant, by name. Further pages are read when they are needed."""
        async for one in self._pages(requests.gates):
            yield one

    async def gate(self, name: str) -> Gate:
        """Return a gate, or a key of one, such as `customer:42`, with the attempts that have its places."""
        return await self.call(requests.gate(name))

    async def set_gate(
        self,
        name: str,
        *,
        in_flight: int | None = None,
        per_second: float | None = None,
        burst: int | None = None,
        paused: bool = False,
    ) -> Gate:
        """Make a gate, or replace all its limits. It returns when they are in force everywhere."""
        return await self.call(requests.set_gate(name, in_flight, per_second, burst, paused=paused))

    async def delete_gate(self, name: str) -> None:
        """Delete a gate. Runs that wait at it go on without it."""
        await self.call(requests.delete_gate(name))

    async def health(self) -> Health:
        """Return whether the scheduler is alive, by the age of its last tick."""
        return await self.call(requests.health())

    async def close(self) -> None:
        """Close the connections."""
        await _in_thread(self._transport.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def call(self, operation: Operation[Answer]) -> Answer:
        """Make one call of `onthedot.client.requests`, with its retries."""
        trying = Trying(operation, self._tries)
        while (pause := trying.judge(await _in_thread(self._send, operation))) is not None:
            await self._sleep(pause)
        return trying.answer

    async def _pages(self, page: Callable[[str | None], Operation[Page[Answer]]]) -> AsyncIterator[Answer]:
        """Yield the entries of a list. The next page is read when it is needed."""
        cursor: str | None = None
        while True:
            found = await self.call(page(cursor))
            for one in found.entries:
                yield one
            cursor = found.cursor
            if cursor is None:
                return

    async def _job_id(self, job: str) -> str:
        """Return the id of the job with this id or name."""
        if requests.is_id(job):
            return job
        search, answer = requests.jobs_named(job), None
        try:
            while True:
                answer = await self.call(search.send(answer))
        except StopIteration as found:
            return requests.only_id(job, found.value)

    async def _with_job_id(self, options: DeadLetterOptions) -> DeadLetterOptions:
        job = options.get("job")
        return options if job is None else {**options, "job": await self._job_id(job)}

    def _send(self, operation: Operation[Any]) -> Reply | NoAnswer:
        body, headers = body_of(operation), {**self._headers, **operation.headers}
        try:
            return self._transport.send(operation.method, operation.path, operation.query, body, headers)
        except NoAnswer as error:
            return error
