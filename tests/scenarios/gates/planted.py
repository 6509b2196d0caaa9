"""Bugs that are planted into the protocol of gates, to prove that the checks find them. Each is a context."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

from onthedot.core import start
from onthedot.gates import ask as ask_gates
from onthedot.gates import flag as flag_gate
from onthedot.gates import look, places, wait
from onthedot.gates.state import GateChange
from onthedot.gates.state_store import GateStore

Plant = Callable[[], Any]


@contextmanager
def no_fence_before_free() -> Iterator[None]:
    """A look frees the place of an attempt that may still start, and a stopped worker starts it later."""
    with (
        mock.patch.object(look, "_fenced", return_value=True),
        mock.patch.object(start, "_is_too_late", return_value=False),
    ):
        yield


@contextmanager
def flag_after_park() -> Iterator[None]:
    """A run goes on the list before the gate is flagged."""
    flag = flag_gate.flag_gate

    def only_later(engine: Any, gate: Any, priority: Any, now: int, state: Any = None, **more: Any) -> Any:
        return flag(engine, gate, priority, now, **more) if state is None else replace(state, flagged_at=now)

    with (
        mock.patch.object(wait, "flag_gate", only_later),
        mock.patch.object(wait, "is_in_time", return_value=False),
    ):
        yield


def given_back_by_run() -> Any:
    """A process gives back the place of its run, also if another attempt has it by now."""
    give_back = GateStore.give_back

    def by_run(self: Any, gate: Any, page: int, holder: Any) -> Any:
        for one in [one for held in self.pages(gate) for one in held if one.run_id == holder.run_id]:
            for number, held in enumerate(self.pages(gate)):
                if one in held:
                    give_back(self, gate, number, one)
        return give_back(self, gate, page, holder)

    return mock.patch.object(GateStore, "give_back", by_run)


def one_place_too_many() -> Any:
    """A page lets one holder more in than it has room for."""
    take = GateStore.take

    def one_more(self: Any, gate: Any, page: int, holder: Any, *, room: int, **more: Any) -> Any:
        return take(self, gate, page, holder, room=room + 1, **more)

    return mock.patch.object(GateStore, "take", one_more)


def woken_stopped_by_flag() -> Any:
    """A woken run counts as a newcomer, so that the runs that wait stop it again."""
    ask = ask_gates.ask_gates

    def as_newcomer(engine: Any, message: Any, *given: Any) -> Any:
        return ask(engine, replace(message, woken=None), *given)

    return mock.patch.object(start, "ask_gates", as_newcomer)


def rate_counted_before_wait() -> Any:
    """A start is counted at the time at which its rate was asked, and happens later."""
    count = ask_gates._count_starts

    def earlier(asking: Any, _: int) -> bool:
        return count(asking, asking.now)

    return mock.patch.object(ask_gates, "_count_starts", earlier)


@contextmanager
def settled_too_early() -> Iterator[None]:
    """The pages are laid out for a lowered limit while they still have too many holders."""
    hasty = SimpleNamespace(**{**vars(places), "fits": lambda *_: True})
    with mock.patch.object(look, "places", hasty):
        yield


def left_without_comparing() -> Any:
    """A look takes the flag away though a run was flagged meanwhile."""
    change = GateStore.change

    def careless(self: Any, gate: Any, wanted: GateChange) -> Any:
        return change(self, gate, replace(wanted, equals={}) if wanted.forget_priorities else wanted)

    return mock.patch.object(GateStore, "change", careless)


PLANTS: Final[Mapping[str, Plant]] = {
    plant.__name__: plant
    for plant in (
        no_fence_before_free,
        flag_after_park,
        given_back_by_run,
        one_place_too_many,
        woken_stopped_by_flag,
        rate_counted_before_wait,
        settled_too_early,
        left_without_comparing,
    )
}
