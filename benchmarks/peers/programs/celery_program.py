"""Celery on Redis. A message is acknowledged after its task, so that a task outlives its worker."""

from celery import Celery

from benchmarks.peers.programs.calls import NOW, answer_requests, instant, note, store_url

app = Celery("peers", broker=store_url())
app.conf.task_acks_late = True
app.conf.broker_connection_retry_on_startup = True


@app.task
def noop(number: int, due: int) -> None:
    note(number, due)


def create(number: int, due: int) -> None:
    noop.apply_async((number, due), eta=None if due == NOW else instant(due))


if __name__ == "__main__":
    from benchmarks.peers.programs import celery_program

    # The task's name comes from its module, which is another one here than in the worker.
    answer_requests(celery_program.create)
