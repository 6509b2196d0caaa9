"""The features that join the path of a run, at the points that the core offers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from onthedot.access.signing_keys import keys_of
from onthedot.core.choices import Priority
from onthedot.core.engine import Accept, Core, Listed, Permit
from onthedot.core.gate_names import GateId
from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import Record
from onthedot.core.send import QueueStates
from onthedot.engine import Engine
from onthedot.gates.give_back import give_back_places, give_back_unused, wake_late
from onthedot.gates.look import TickGates
from onthedot.gates.wait import ask_or_wait, flag_again, is_turn_awaited, pass_on, wait_for_turn
from onthedot.gates.waiting import is_queue_closed
from onthedot.targets.webhooks import SigningKey
from onthedot.workers.lost import offered, was_never_begun
from onthedot.workflows.notify import link_to_parents, notify_children
from onthedot.workflows.parents_results import with_parents


def _whole(core: Core) -> Engine:
    assert isinstance(core, Engine), "wiring makes whole engines only"
    return core


class FeaturePoints:
    """Gates, workflows, workers, signing keys and the state of the stage. `Points` says what each method does."""

    def why_closed(self, core: Core) -> str | None:
        stage = _whole(core).stage.read()
        return None if stage.is_open else stage.why_closed

    def is_limited(self, core: Core, tenant: str) -> bool:
        limits = _whole(core).limits.find(tenant)
        return limits is not None and not limits.is_empty

    def ask(
        self, core: Core, message: RunMessage, named: Iterable[str], turn: str | None, near_ms: int
    ) -> Permit | Listed | Record | None:
        return ask_or_wait(_whole(core), message, named, turn, near_ms)

    def give_back(self, core: Core, message: RunMessage, permit: Permit) -> None:
        give_back_unused(_whole(core), message, permit)

    def pass_on(self, core: Core, message: RunMessage) -> None:
        pass_on(_whole(core), message)

    def flag_again(self, core: Core, run: Record) -> None:
        flag_again(_whole(core), run)

    def is_turn_awaited(self, core: Core, job: Record) -> bool:
        return is_turn_awaited(_whole(core), job)

    def wait_for_turn(self, core: Core, message: RunMessage, job: Record, why: str) -> None:
        wait_for_turn(_whole(core), message, job, why)

    def parents_results(self, core: Core, run: Record, payload: bytes) -> bytes:
        return with_parents(_whole(core), run, payload)

    def signing_keys(self, core: Core, tenant: str) -> Sequence[SigningKey]:
        return keys_of(_whole(core), tenant)

    def give_back_places(self, core: Core, run: Record, accept: Accept | None) -> Sequence[GateId]:
        return give_back_places(_whole(core), run, accept)

    def wake_late(self, core: Core, gates: Sequence[GateId], accept: Accept | None) -> None:
        wake_late(_whole(core), gates, accept)

    def notify_children(self, core: Core, ended: Record, deadline: Deadline | None) -> bool:
        return notify_children(_whole(core), ended, deadline)

    def link_to_parents(self, core: Core, child: Record) -> None:
        link_to_parents(_whole(core), child)

    def offered(self, core: Core, tenant: str) -> Mapping[str, frozenset[str]]:
        return offered(_whole(core), tenant)

    def was_never_begun(self, core: Core, run: Record, now: int) -> bool:
        return was_never_begun(_whole(core), run, now)

    def is_queue_closed(self, core: Core, pool: str, priority: Priority) -> bool:
        return is_queue_closed(_whole(core), pool, priority, core.clock.now())

    def of_tick(self, core: Core, queues: QueueStates, counts: Counter[str]) -> TickGates:
        return TickGates(_whole(core), queues, counts)
