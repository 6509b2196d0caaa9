"""huey on Redis. A task that runs while its worker dies is lost: huey has no acknowledgement."""

from datetime import datetime

from huey import RedisHuey

from benchmarks.peers.programs.calls import NOW, answer_requests, note, store_url

huey = RedisHuey("peers", url=store_url())


@huey.task()
def noop(number: int, due: int) -> None:
    note(number, due)


def create(number: int, due: int) -> None:
    if due == NOW:
        noop(number, due)
    else:
        # huey takes a local time without a zone.
        noop.schedule((number, due), eta=datetime.fromtimestamp(due / 1000))  # noqa: DTZ006


if __name__ == "__main__":
    from benchmarks.peers.programs import huey_program

    # The task's name comes from its module, which is another one here than in the worker.
    answer_requests(huey_program.create)
