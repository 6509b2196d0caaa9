"""The features that join the path of a run, at the points that the core offers."""

from onthedot.access.signing_keys import keys_of
from onthedot.core.choices import Priority
from onthedot.engine import Engine
from onthedot.gates.give_back import give_back_places, give_back_unused, wake_late
from onthedot.gates.look import TickGates
from onthedot.gates.wait import ask_or_wait, flag_again, is_turn_awaited, pass_on, wait_for_turn
from onthedot.gates.waiting import is_queue_closed
from onthedot.workers.lost import offered, was_never_begun
from onthedot.workflows.notify import link_to_parents, notify_children
from onthedot.workflows.parents_results import with_parents


class FeaturePoints:
    """Gates, workflows, workers, signing keys and the state of the stage. `Points` says what each method does."""

    ask = staticmethod(ask_or_wait)
    give_back = staticmethod(give_back_unused)
    pass_on = staticmethod(pass_on)
    flag_again = staticmethod(flag_again)
    is_turn_awaited = staticmethod(is_turn_awaited)
    wait_for_turn = staticmethod(wait_for_turn)
    parents_results = staticmethod(with_parents)
    signing_keys = staticmethod(keys_of)
    give_back_places = staticmethod(give_back_places)
    wake_late = staticmethod(wake_late)
    notify_children = staticmethod(notify_children)
    link_to_parents = staticmethod(link_to_parents)
    offered = staticmethod(offered)
    was_never_begun = staticmethod(was_never_begun)
    of_tick = staticmethod(TickGates)

    def why_closed(self, engine: Engine) -> str | None:
        stage = engine.stage.read()
        return None if stage.is_open else stage.why_closed

    def is_limited(self, engine: Engine, tenant: str) -> bool:
        limits = engine.limits.find(tenant)
        return limits is not None and not limits.is_empty

    def is_queue_closed(self, engine: Engine, pool: str, priority: Priority) -> bool:
        return is_queue_closed(engine, pool, priority, engine.clock.now())
