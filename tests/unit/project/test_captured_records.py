"""Tests that compare log records are not disturbed by packages and by threads of other tests."""

import logging
import threading
from weakref import WeakSet

import pytest
import urllib3


def test_records_of_packages_are_not_captured(caplog: pytest.LogCaptureFixture) -> None:
    pool = urllib3.HTTPConnectionPool("127.0.0.1", maxsize=1)
    for _ in range(3):
        pool._put_conn(pool._new_conn())
    logging.getLogger(__name__).warning("ours")
    assert [record.message for record in caplog.records] == ["ours"]


def test_records_of_threads_of_earlier_tests_are_not_captured(
    caplog: pytest.LogCaptureFixture, earlier_threads: "WeakSet[threading.Thread]"
) -> None:
    log = logging.getLogger(__name__)
    earlier, own = (threading.Thread(target=log.warning, args=[text]) for text in ("of an earlier test", "ours"))
    earlier_threads.add(earlier)
    for thread in (earlier, own):
        thread.start()
        thread.join()
    assert [record.message for record in caplog.records] == ["ours"]
