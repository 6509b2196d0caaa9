"""Many losses of power, spread over recorded workloads."""

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from onthedot.engines.sqlite.group_commit import GroupCommit
from tests.durability.power.apsw_connection import Rewrite
from tests.durability.power.checker import fault_of
from tests.durability.power.images import Disk, Image, Loss
from tests.durability.power.workload import record


def _as_it_is(statement: str) -> str:
    return statement


@contextmanager
def quick_folder() -> Iterator[Path]:
    """Give a folder in memory, where syncs cost nothing, if there is one."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def some_images(disk: Disk, number: int, chance: random.Random) -> Iterator[Image]:
    """Give images of losses of power at random positions where some write was not synced."""
    positions = [position for position in range(len(disk)) if disk.has_pending(position)]
    kinds = [Loss.NONE_WRITTEN, Loss.SOME_WRITTEN, Loss.TORN, Loss.TORN]
    for _ in range(number):
        yield disk.image(chance.choice(positions or range(len(disk))), chance.choice(kinds), chance)


def lose_power(
    images: int,
    seed: int,
    *,
    groups: int = 60,
    rewrite: Rewrite = _as_it_is,
    writer: type[GroupCommit] = GroupCommit,
    show: Callable[[str], None] = lambda _: None,
) -> tuple[list[str], Counter[str]]:
    """Record workloads, and check at least so many images. Return faults and counts.

    A campaign of thousands of images checks every prefix of each log, and half as many random losses. A short one
    checks some of both.
    """
    faults: list[str] = []
    counts: Counter[str] = Counter()
    chance = random.Random(seed)
    while counts["images"] < images:
        with quick_folder() as folder:
            recording = record(folder, chance.randrange(2**32), groups, rewrite, writer)
            disk = Disk(recording.log.events)
            counts.update(workloads=1, commits=len(recording.states) - 1, events=len(disk) - 1)
            for image in _chosen(disk, images, chance):
                counts.update({"images": 1, str(image.loss): 1})
                fault = fault_of(image, recording, folder / "image")
                faults += [] if fault is None else [fault]
        show(f"{counts['images']} images, {len(faults)} faults")
    return faults, counts


def _chosen(disk: Disk, images: int, chance: random.Random) -> Iterator[Image]:
    is_long = images > len(disk)
    prefixes = range(len(disk)) if is_long else chance.sample(range(len(disk)), images // 3)
    yield from (disk.image(position, Loss.ALL_WRITTEN, chance) for position in prefixes)
    yield from some_images(disk, len(disk) // 2 if is_long else images - images // 3, chance)
