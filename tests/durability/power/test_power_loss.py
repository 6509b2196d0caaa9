"""Losses of power at any moment: everything that was acknowledged is there, and the file is whole."""

import random

from tests.durability.power.campaign import lose_power
from tests.durability.power.images import Disk, Loss
from tests.durability.power.recording import Delete, Sync, Truncate, Write
from tests.durability.power.workload import EarlyReports

IMAGES = 300


def test_no_loss_of_power_loses_what_was_acknowledged() -> None:
    faults, counts = lose_power(IMAGES, seed=1)

    assert faults == []
    assert counts["images"] >= IMAGES
    assert min(counts[loss] for loss in Loss) > 20
    assert counts["commits"] > 40


def test_commits_without_a_sync_are_found() -> None:
    def without_sync(statement: str) -> str:
        return statement.replace("PRAGMA synchronous = FULL", "PRAGMA synchronous = OFF")

    faults, _ = lose_power(60, seed=2, rewrite=without_sync)

    assert any("was acknowledged" in fault for fault in faults)


def test_commits_that_sync_only_now_and_then_are_found() -> None:
    def now_and_then(statement: str) -> str:
        return statement.replace("PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL")

    faults, _ = lose_power(60, seed=3, rewrite=now_and_then)

    assert any("was acknowledged" in fault for fault in faults)


def test_reports_before_the_commit_are_found() -> None:
    faults, _ = lose_power(60, seed=4, writer=EarlyReports)

    assert any("was acknowledged" in fault for fault in faults)


def test_a_disk_has_what_was_synced_and_some_of_the_rest() -> None:
    disk = Disk([Write("", 0, b"a" * 1024), Sync("", False), Write("", 0, b"b" * 1024), Truncate("", 512)])
    chance = random.Random(1)

    assert disk.image(1, Loss.NONE_WRITTEN, chance).files[""] is None
    assert disk.image(3, Loss.NONE_WRITTEN, chance).files[""] == b"a" * 1024
    assert disk.image(4, Loss.ALL_WRITTEN, chance).files[""] == b"b" * 512
    torn = {disk.image(3, Loss.TORN, chance).files[""] for _ in range(50)}
    assert torn == {first * 512 + second * 512 for first in (b"a", b"b") for second in (b"a", b"b")}


def test_a_deleted_file_may_come_back_until_its_folder_is_synced() -> None:
    disk = Disk([Write("-j", 0, b"j"), Sync("-j", True), Delete("-j", False), Write("-w", 0, b"w"), Sync("-w", True)])
    chance = random.Random(1)

    assert disk.image(3, Loss.NONE_WRITTEN, chance).files["-j"] == b"j"
    assert disk.image(5, Loss.NONE_WRITTEN, chance).files["-j"] is None
