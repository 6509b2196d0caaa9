"""Gates that are asked by several threads at once: their calls about one item go together, in one request.

A worker gets runs in batches, and many runs of a batch may name the same gate. The first call goes at once. The calls
that come while it is under way wait for its end, and then share the next request. So a gate costs a batch about two
requests for each step, and the item of a busy gate gets fewer writes.
"""

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from onthedot.core.gate_names import GateId
from onthedot.core.items import Items
from onthedot.core.ports import Clock
from onthedot.gates.state import GateAnswer, GateState, Holder
from onthedot.gates.state_store import GateStore

Key = TypeVar("Key", bound=Hashable)
Asked = TypeVar("Asked", bound=Hashable)
Reply = TypeVar("Reply")


@dataclass(frozen=True, slots=True)
class _Page:
    gate: GateId
    page: int
    room: int
    newcomer: bool
    capacity: int | None


class GroupedGates(GateStore):
    """A `GateStore` whose calls from several threads about one item go together."""

    def __init__(self, items: Items, clock: Clock, *, remembers: bool = False) -> None:
        super().__init__(items, clock, remembers=remembers)
        self._reads: _Together[GateId, int, GateState] = _Together(self._read_once)
        self._takes: _Together[_Page, Holder, GateAnswer] = _Together(self._take_together)
        self._returns: _Together[tuple[GateId, int], Holder, GateState] = _Together(self._give_back_together)

    def read(self, gate: GateId) -> GateState:
        return self._reads.ask(gate, threading.get_ident())

    def take(
        self, gate: GateId, page: int, holder: Holder, *, room: int, newcomer: bool, capacity: int | None
    ) -> GateAnswer:
        return self._takes.ask(_Page(gate, page, room, newcomer, capacity), holder)

    def give_back(self, gate: GateId, page: int, holder: Holder) -> GateState:
        return self._returns.ask((gate, page), holder)

    def _read_once(self, gate: GateId, threads: Sequence[int]) -> Mapping[int, GateState]:
        return dict.fromkeys(threads, super().read(gate))

    def _give_back_together(self, at: tuple[GateId, int], holders: Sequence[Holder]) -> Mapping[Holder, GateState]:
        return dict.fromkeys(holders, self.give_back_all(*at, holders))

    def _take_together(self, at: _Page, holders: Sequence[Holder]) -> Mapping[Holder, GateAnswer]:
        """Take places for all, else for as many as there is room for. The others get the state that refuses them."""
        answer = self._take_some(at, holders[: max(at.room, 1)])
        if answer.done and len(holders) <= at.room:
            return dict.fromkeys(holders, answer)
        free = 0 if answer.done else _free(at, answer.state)
        if len(holders) == 1 or (not answer.done and not free):
            return {holder: GateAnswer(holder in answer.state.holders, answer.state) for holder in holders}
        if free:
            answer = self._take_some(at, [one for one in holders if one not in answer.state.holders][:free])
        if answer.done:
            return {holder: GateAnswer(holder in answer.state.holders, answer.state) for holder in holders}
        return {holder: self._take_some(at, [holder]) for holder in holders}

    def _take_some(self, at: _Page, holders: Sequence[Holder]) -> GateAnswer:
        return self.take_all(at.gate, at.page, holders, room=at.room, newcomer=at.newcomer, capacity=at.capacity)


def _free(at: _Page, state: GateState) -> int:
    """Return how many holders the state that refused a group would let in."""
    if at.page == 0 and (state.capacity != at.capacity or (at.newcomer and state.is_flagged)):
        return 0
    return max(at.room - len(state.holders), 0)


@dataclass(slots=True)
class _Group(Generic[Asked, Reply]):
    asked: list[Asked] = field(default_factory=list)
    replies: Future[Mapping[Asked, Reply]] = field(default_factory=Future)


@dataclass(slots=True)
class _Turn(Generic[Asked, Reply]):
    """The calls about one item: the lock of the request that is under way, and the group that comes next."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    following: _Group[Asked, Reply] = field(default_factory=_Group)
    callers: int = 0


class _Together(Generic[Key, Asked, Reply]):
    """Sends the calls about one item in groups. All callers of a group get its reply, or its error."""

    def __init__(self, call: Callable[[Key, Sequence[Asked]], Mapping[Asked, Reply]]) -> None:
        self._call = call
        self._guard = threading.Lock()
        self._turns: dict[Key, _Turn[Asked, Reply]] = {}

    def ask(self, key: Key, asked: Asked) -> Reply:
        with self._guard:
            turn = self._turns.setdefault(key, _Turn())
            turn.callers += 1
            group = turn.following
            group.asked.append(asked)
        try:
            with turn.lock:
                self._send(key, turn, group)
        finally:
            with self._guard:
                turn.callers -= 1
                if not turn.callers:
                    del self._turns[key]
        # Whoever sent the group held the lock until it was answered.
        return group.replies.result(timeout=0)[asked]

    def _send(self, key: Key, turn: _Turn[Asked, Reply], group: _Group[Asked, Reply]) -> None:
        """Send the group, unless another of its callers has sent it."""
        with self._guard:
            if group is not turn.following:
                return
            turn.following = _Group()
        try:
            group.replies.set_result(self._call(key, group.asked))
        except Exception as error:  # noqa: BLE001 - each caller of the group raises it
            group.replies.set_exception(error)
