"""Tests that compare log records are not disturbed by packages."""

import logging

import pytest
import urllib3


def test_records_of_packages_are_not_captured(caplog: pytest.LogCaptureFixture) -> None:
    pool = urllib3.HTTPConnectionPool("127.0.0.1", maxsize=1)
    for _ in range(3):
        pool._put_conn(pool._new_conn())
    logging.getLogger(__name__).warning("ours")
    assert [record.message for record in caplog.records] == ["ours"]
