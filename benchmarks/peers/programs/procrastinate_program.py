"""Procrastinate on PostgreSQL.

python -m benchmarks.peers.programs.procrastinate_program           the client
python -m benchmarks.peers.programs.procrastinate_program worker 1  the worker with its concurrency
"""

import sys

from procrastinate import App, PsycopgConnector, SyncPsycopgConnector

from benchmarks.peers.programs.calls import NOW, answer_requests, instant, note, store_url

IS_WORKER = sys.argv[1:2] == ["worker"]
app = App(connector=(PsycopgConnector if IS_WORKER else SyncPsycopgConnector)(conninfo=store_url()))


@app.task(name="noop")
async def noop(number: int, due: int) -> None:
    note(number, due)


def create(number: int, due: int) -> None:
    if due == NOW:
        noop.defer(number=number, due=due)
    else:
        noop.configure(schedule_at=instant(due)).defer(number=number, due=due)


def main() -> None:
    if IS_WORKER:
        app.run_worker(concurrency=int(sys.argv[2]))
        return
    with app.open():
        if not app.check_connection():
            app.schema_manager.apply_schema()
        answer_requests(create)


if __name__ == "__main__":
    main()
