"""The client of the REST API for programs with an event loop. Its methods are those of `Client`, with `await`."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar, Unpack

from onthedot.client import requests
from onthedot.client.answers import Execution, Explanation, FireTime, Job, Workflow
from onthedot.client.calls import body_of, headers_for
from onthedot.client.errors import ClientError
from onthedot.client.options import JobOptions, PreviewOptions, WorkflowOptions
from onthedot.client.requests import Operation
from onthedot.client.transport import HttpTransport, NoAnswer, Reply, Transport
from onthedot.client.trying import TRIES, Answered, Trying

Answer = TypeVar("Answer")


class AsyncClient:
    """A client of the API for an event loop. Each request is sent by a thread of the loop, which is free meanwhile.

    A call that is cancelled may still have its effect.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: Transport | None = None,
        tries: int = TRIES,
        timeout: float = 30.0,
    ) -> None:
        if transport is None:
            from onthedot.client.place import find_place  # noqa: PLC0415 - it loads more than all the rest

            place = find_place(url, token)
            transport, token = HttpTransport(place.url, timeout), place.token
        self._transport = transport
        self._headers = headers_for(token)
        self._tries = tries

    async def schedule(self, handler: str | None = None, payload: Any = None, **options: Unpack[JobOptions]) -> Job:
        """Schedule a job that runs a handler, or calls `url`, or a `target`. Without a time it runs now.

        A job without an `idempotency_key` gets one, so that a retry of this call makes no second job.
        """
        return await self._call(requests.schedule(requests.job_request(handler, payload, **options)))

    async def batch(self, jobs: Iterable[Mapping[str, Any]]) -> list[Job | ClientError]:
        """Schedule many jobs, each made by `job_request`. Return the job or the error of each, in order."""
        return [outcome for part in requests.batches(jobs) for outcome in await self._call(part)]

    async def get(self, job_id: str) -> Job:
        """Return a job."""
        return await self._call(requests.get(job_id))

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job for good. A running attempt is asked to stop."""
        return await self._call(requests.cancel(job_id))

    async def delete(self, job_id: str) -> None:
        """Delete a job. It never fires again."""
        await self._call(requests.delete(job_id))

    async def pause(self, job_id: str) -> Job:
        """Pause a job."""
        return await self._call(requests.pause(job_id))

    async def resume(self, job_id: str) -> Job:
        """Resume a paused job."""
        return await self._call(requests.resume(job_id))

    async def run(self, job_id: str) -> Execution:
        """Run a job now, beside its schedule. A call whose reply was lost is not repeated."""
        return await self._call(requests.run(job_id))

    async def explain(self, job_id: str) -> Explanation:
        """Return why a job has not run, or what it does now."""
        return await self._call(requests.explain(job_id))

    async def execution(self, execution_id: str) -> Execution:
        """Return an execution with its attempts and its whole result."""
        return await self._call(requests.execution(execution_id))

    async def executions(self, job: str, *, status: str | None = None) -> AsyncIterator[Execution]:
        """Yield the executions of a job, the newest first. Further pages are read when they are needed."""
        cursor: str | None = None
        while True:
            page = await self._call(requests.executions(job, cursor))
            for one in page.executions:
                if status is None or one.status == status:
                    yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def preview(self, **options: Unpack[PreviewOptions]) -> list[FireTime]:
        """Return the next fire times of a schedule, without a job."""
        return await self._call(requests.preview(options))

    async def workflow(self, jobs: Sequence[Mapping[str, Any]], **options: Unpack[WorkflowOptions]) -> Workflow:
        """Start a workflow of jobs, each made by `job_request` with `key` and `depends_on`."""
        return await self._call(requests.workflow(jobs, options))

    async def get_workflow(self, workflow_id: str) -> Workflow:
        """Return a workflow with the statuses of its jobs."""
        return await self._call(requests.get_workflow(workflow_id))

    async def close(self) -> None:
        """Close the connections."""
        await asyncio.to_thread(self._transport.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(self, operation: Operation[Answer]) -> Answer:
        trying = Trying(operation, self._tries)
        while True:
            decision = trying.judge(await asyncio.to_thread(self._send, operation))
            if isinstance(decision, Answered):
                return decision.value
            await asyncio.sleep(decision.seconds)

    def _send(self, operation: Operation[Any]) -> Reply | NoAnswer:
        body = body_of(operation)
        try:
            return self._transport.send(operation.method, operation.path, operation.query, body, self._headers)
        except NoAnswer as error:
            return error
