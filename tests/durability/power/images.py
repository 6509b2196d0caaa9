"""Files as a loss of power leaves them: all synced changes, and any part of the changes since."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tests.durability.power.recording import Acknowledged, Committed, Delete, Event, Sync, Truncate, Write

SECTOR: Final = 512
Files = dict[str, bytes | None]
"""The content of each file. None: there is no such file."""


class Loss(StrEnum):
    """Which of the unsynced changes reached the disk."""

    NONE_WRITTEN = "none"
    ALL_WRITTEN = "all"
    SOME_WRITTEN = "some"
    """Any of them, in any order."""
    TORN = "torn"
    """Any of their sectors, in any order."""


@dataclass(frozen=True, slots=True)
class Image:
    """The files after a loss of power, and what must be in them."""

    files: Files
    position: int
    """The number of events before the loss."""
    loss: Loss
    acknowledged: int
    """The last commit that was reported."""
    possible: int
    """The last commit that may be there: the one that was under way."""


class Disk:
    """The state of the files at each position of a log."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._synced: list[Files] = []
        self._pending: list[dict[str, tuple[Event, ...]]] = []
        self._known: list[tuple[int, int]] = []
        synced: Files = {}
        pending: dict[str, tuple[Event, ...]] = {}
        acknowledged = committed = 0
        for event in [None, *events]:
            match event:
                case Acknowledged(number):
                    acknowledged = max(acknowledged, number)
                case Committed(number):
                    committed = number
                case Sync(file, with_folder):
                    for each in [file, *(_deleted(pending) if with_folder else ())]:
                        synced = {**synced, each: _applied(synced.get(each), pending.get(each, ()))}
                        pending = {**pending, each: ()}
                case Delete(file, True):
                    synced, pending = {**synced, file: None}, {**pending, file: ()}
                case Write(file) | Truncate(file) | Delete(file):
                    pending = {**pending, file: (*pending.get(file, ()), event)}
            self._synced.append(synced)
            self._pending.append(pending)
            self._known.append((acknowledged, committed))

    def __len__(self) -> int:
        return len(self._synced)

    def image(self, position: int, loss: Loss, chance: random.Random) -> Image:
        """Return the files after a loss of power at this position."""
        acknowledged, committed = self._known[position]
        synced, pending = self._synced[position], self._pending[position]
        files = {
            file: _applied(synced.get(file), _written(pending.get(file, ()), loss, chance))
            for file in {*synced, *pending}
        }
        return Image(files, position, loss, acknowledged, committed + 1)

    def has_pending(self, position: int) -> bool:
        return any(self._pending[position].values())


def _deleted(pending: dict[str, tuple[Event, ...]]) -> list[str]:
    return [file for file, events in pending.items() if events and isinstance(events[-1], Delete)]


def _applied(content: bytes | None, events: Sequence[Event]) -> bytes | None:
    if not events:
        return content
    data = None if content is None else bytearray(content)
    for event in events:
        match event:
            case Write(_, offset, written):
                data = bytearray() if data is None else data
                data.extend(bytes(max(0, offset + len(written) - len(data))))
                data[offset : offset + len(written)] = written
            case Truncate(_, size) if data is not None:
                del data[size:]
            case Delete():
                data = None
    return None if data is None else bytes(data)


def _written(events: Sequence[Event], loss: Loss, chance: random.Random) -> Sequence[Event]:
    match loss:
        case Loss.NONE_WRITTEN:
            return ()
        case Loss.ALL_WRITTEN:
            return events
        case Loss.SOME_WRITTEN:
            return _some(events, chance)
        case Loss.TORN:
            return _some([sector for event in events for sector in _sectors(event)], chance)


def _some(events: Sequence[Event], chance: random.Random) -> list[Event]:
    part = chance.random()
    kept = [event for event in events if chance.random() < part]
    chance.shuffle(kept)
    return kept


def _sectors(event: Event) -> Iterator[Event]:
    """Divide a write at the borders of sectors."""
    if not isinstance(event, Write):
        yield event
        return
    start, end = event.offset, event.offset + len(event.data)
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        yield Write(event.file, start, event.data[start - event.offset : stop - event.offset])
        start = stop
