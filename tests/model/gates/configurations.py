"""The instances of the models: small ones for every test run, large ones for `make model`, and planted bugs.

A planted bug is a rule that is switched off, in the smallest instance that shows it, with the property that breaks.
"""

from typing import Any, Final, NamedTuple

from tests.model.gates.explorer import Model
from tests.model.gates.keys import KeyConfig, KeyRules, Keys
from tests.model.gates.pages import NEVER, ONE_ASK, TWO_ASKS, WRITTEN, PageConfig, PageRules, Pages
from tests.model.gates.protocol.model import Protocol
from tests.model.gates.protocol.rules import NO_LIMIT, Config, Rules
from tests.model.gates.rates import RateConfig, RateRules, Rates


class Planted(NamedTuple):
    """A model with a planted bug."""

    model: Model[Any]
    breaks: str
    """The property that it breaks."""
    most: int = 60_000
    """The number of states within which it shows."""


def _protocol(rules: Rules | None = None, **config: Any) -> Protocol:
    return Protocol(Config(**config), rules or Rules())


def _pages(rules: PageRules | None = None, **config: Any) -> Pages:
    return Pages(PageConfig(**config), rules or PageRules())


def _keys(rules: KeyRules | None = None, **config: Any) -> Keys:
    return Keys(KeyConfig(**config), rules or KeyRules())


def _rates(rules: RateRules | None = None, **config: Any) -> Rates:
    return Rates(RateConfig(**config), rules or RateRules())


THREE: Final = ((0,), (0,), (0,))
MIXED: Final = ((0, 1), (0,), (1,))
BOTH: Final = ((0, 1), (0, 1))
# Old messages have no effect then, which makes the graph several times smaller.
DROPS_OLD: Final = Rules(read_first=True, again_flag=False)
WAITING: Final = ("flag", "park", "look again", "flag again")
TAKEN_OVER: Final[dict[str, Any]] = {
    "takes_over": True,
    "limits": (0,),
    "workers": 1,
    "stops": 1,
    "crashes": 1,
    "faults_at": ("park", "look again"),
}

SMALL: Final[dict[str, Model[Any]]] = {
    "two runs": _protocol(lag=2),
    "two runs, a crash": _protocol(DROPS_OLD, crashes=1, lag=0),
    "a run is taken over": _protocol(takes_over=True),
    "a stopped worker on the way to the list": _protocol(stops=1, faults_at=WAITING),
    "a newcomer overtakes": _protocol(DROPS_OLD, runs=THREE, overtakes=1, lag=0),
    "a woken run is cancelled": _protocol(skips=1),
    "a limit is raised and lowered": _protocol(DROPS_OLD, puts=((0, 2), (0, 1))),
    "a gate is deleted": _protocol(puts=((0, NO_LIMIT),)),
    "a run gets other gates": _protocol(DROPS_OLD, runs=((0,), (1,)), limits=(1, 1), patches=((0, (1,)),)),
    "two gates": _protocol(DROPS_OLD, runs=BOTH, limits=(1, 1), lag=0),
    "a retry": _protocol(DROPS_OLD, retries=1),
    "a pool without workers": _protocol(DROPS_OLD, runs=THREE, dead=(0,)),
    "pages: lower": _pages(limits=(2, 1), workers=3),
    "pages: lower, a stopped worker": _pages(limits=(2, 1), stops=1),
    "pages: raise": _pages(limits=(1, 2), workers=3),
    "pages: lower and raise": _pages(limits=(2, 1, 2)),
    "pages: raise twice and lower": _pages(limits=(1, 2, 3, 2)),
    "pages: raise and lower before a look": _pages(limits=(1, 2, 1), capacity=2),
    "pages: pages of two places": _pages(limits=(3, 2), size=2, workers=3),
    "keys: a stopped worker and a crash": _keys(stops=1, crashes=1),
    "keys: two keys": _keys(runs=(0, 0, 1)),
    "rates": _rates(),
    "rates: a crash": _rates(places=1, horizon=1, crashes=1),
    "rates: a burst": _rates(burst=2, runs=3, interval=1, horizon=1),
    "rates: a waiting list": _rates(runs=3, interval=1, horizon=1),
}

LARGE: Final[dict[str, Model[Any]]] = {
    "a run is taken over and waits": _protocol(puts=((0, 1), (0, 0), (0, 1)), **TAKEN_OVER),
    "two runs, a crash, old messages": _protocol(crashes=1),
    "a crash and a duplicate": _protocol(DROPS_OLD, crashes=1, duplicates=1),
    "two crashes": _protocol(DROPS_OLD, crashes=2),
    "a stopped worker": _protocol(stops=1),
    "a stopped worker and a crash": _protocol(stops=1, crashes=1),
    "a stopped worker and a duplicate": _protocol(stops=1, duplicates=1),
    "three runs": _protocol(runs=THREE, lag=0),
    "three runs, the index lags": _protocol(DROPS_OLD, runs=THREE),
    "three runs, a crash": _protocol(DROPS_OLD, runs=THREE, crashes=1),
    "three runs, two places, a crash": _protocol(DROPS_OLD, runs=THREE, limits=(2,), crashes=1),
    "a run is taken over, a crash": _protocol(takes_over=True, crashes=1),
    "a run is taken over, a stopped worker and a crash": _protocol(takes_over=True, stops=1, crashes=1),
    "a newcomer overtakes, a crash": _protocol(DROPS_OLD, runs=THREE, overtakes=1, crashes=1, lag=0),
    "a gate is stopped and goes on": _protocol(DROPS_OLD, puts=((0, 0), (0, 1))),
    "a gate is stopped and goes on, a crash": _protocol(DROPS_OLD, puts=((0, 0), (0, 1)), crashes=1),
    "a limit is lowered, a stopped worker": _protocol(limits=(2,), puts=((0, 1),), stops=1),
    "a gate is deleted, a crash": _protocol(puts=((0, NO_LIMIT),), crashes=1),
    "a run gets other gates, a stopped worker": _protocol(
        runs=((0,), (1,)), limits=(1, 1), patches=((0, (1,)),), stops=1
    ),
    "two gates, a crash": _protocol(DROPS_OLD, runs=BOTH, limits=(1, 1), crashes=1),
    "two gates, a stopped worker": _protocol(runs=BOTH, limits=(1, 1), stops=1),
    "two gates and three runs": _protocol(DROPS_OLD, runs=MIXED, limits=(1, 1)),
    "a retry, a crash": _protocol(DROPS_OLD, retries=1, crashes=1),
    "two ticks, a crash": _protocol(DROPS_OLD, ticks=2, crashes=1),
    "pages: one page less of three": _pages(limits=(3, 2), workers=4),
    "pages: one page less of three, a stopped worker": _pages(limits=(3, 2), workers=3, stops=1),
    "pages: three pages, lower and raise": _pages(limits=(3, 2, 3), workers=3),
    "pages: lower and raise, a stopped worker": _pages(limits=(2, 1, 2), workers=3, stops=1),
    "pages: raise twice and lower, three workers": _pages(limits=(1, 2, 3, 2), workers=3),
    "pages: raise and lower before a look, a stopped worker": _pages(limits=(1, 2, 1), capacity=2, workers=3, stops=1),
    "pages: pages of two places, lower and raise": _pages(limits=(3, 2, 3), size=2, workers=3),
    "keys: three runs, a stopped worker and a crash": _keys(runs=(0, 0, 0), stops=1, crashes=1),
    "keys: two keys and four runs": _keys(runs=(0, 0, 1, 1), crashes=1),
    "rates: three runs, a crash": _rates(runs=3, interval=1, horizon=1, crashes=1),
    "rates: three runs, one place": _rates(runs=3, places=1, interval=1, horizon=1),
}

PLANTED: Final[dict[str, Planted]] = {
    "park, then flag": Planted(_protocol(Rules(flag_first=False, again_flag=False)), "S4"),
    "an old flag is left as it is": Planted(_protocol(Rules(skips_old=True), runs=THREE), "S4"),
    "no second flag after a late park": Planted(_protocol(Rules(late_flag=False), stops=1), "S4"),
    "no second flag for an old message": Planted(_protocol(Rules(again_flag=False), stops=1, crashes=1), "S4"),
    "a holder is removed without a fence": Planted(_protocol(Rules(fence=False), stops=1), "S1"),
    "a fenced run goes on the list": Planted(_protocol(Rules(fence_to="list", again_flag=False), crashes=1), "S4"),
    "a worker removes the holders of its run": Planted(_protocol(Rules(own_token=False), stops=1), "I1"),
    "a woken run has to wait like a newcomer": Planted(
        _protocol(Rules(woken_passes=False, read_first=True, again_flag=False), runs=THREE, lag=0), "S5", 32_000
    ),
    "no second look": Planted(_protocol(Rules(second_look=False), lag=0), "S4f"),
    "a newcomer takes the flag away": Planted(_protocol(Rules(newcomer_reads="clear"), runs=THREE), "S4"),
    "a PATCH keeps the generation": Planted(
        _protocol(Rules(patch_generation=False), runs=((0,), (1,)), limits=(1, 1), patches=((0, (1,)),)), "S1"
    ),
    "places in any order": Planted(
        _protocol(Rules(in_order=False, read_first=True, again_flag=False), runs=BOTH, limits=(1, 1), lag=0), "S5"
    ),
    "a gate leaves its slot without compare": Planted(_protocol(Rules(leave_compares=False), runs=THREE), "S4"),
    "a flag without time for the park": Planted(_protocol(Rules(grace=1)), "S4"),
    "a flag without any time": Planted(_protocol(Rules(grace=0)), "S4"),
    "a place that is given back wakes none": Planted(
        _protocol(Rules(give_back_wakes=False), runs=MIXED, limits=(1, 1), lag=0), "S4f"
    ),
    "a wake is not passed on": Planted(_protocol(Rules(pass_on=False), runs=THREE, skips=1, lag=0), "S4f"),
    "limits of any age": Planted(_protocol(Rules(checks_age=False), limits=(2,), puts=((0, 1),), stops=1), "S1"),
    "a deleted gate keeps its runs": Planted(_protocol(Rules(wakes_all=False), puts=((0, NO_LIMIT),)), "S4b"),
    "pages: places are spread evenly": Planted(
        _pages(PageRules(is_monotone=False), limits=(3, 4), size=3, workers=5, running=(0, 0, 0)), "S1"
    ),
    "pages: page 0 gets more than its places": Planted(
        _pages(
            PageRules(bounds_page_0=False, settles_at=NEVER),
            limits=(3, 4),
            workers=5,
            capacity=4,
            running=(0, 3),
        ),
        "S1",
        100_000,
    ),
    "pages: limits of any age": Planted(_pages(PageRules(checks_age=False), limits=(2, 1), stops=1), "S1"),
    "pages: a PUT returns after one ask": Planted(_pages(PageRules(returns_at=ONE_ASK), limits=(2, 1)), "S1"),
    "pages: a PUT returns after two asks": Planted(
        _pages(PageRules(returns_at=TWO_ASKS, settles_at=NEVER), limits=(3, 2), workers=3), "S1"
    ),
    "pages: a look lowers the capacity at once": Planted(_pages(PageRules(settles_at=WRITTEN), limits=(2, 1)), "S1"),
    "pages: a look does not see that the pages are used": Planted(
        _pages(PageRules(flags_first=False), limits=(1, 2, 1), capacity=2), "S1"
    ),
    "pages: a worker goes on with another capacity": Planted(
        _pages(PageRules(raises_again=False, settles_at=NEVER), limits=(1, 2, 3, 2), workers=3), "S1"
    ),
    "keys: only the key is flagged": Planted(_keys(KeyRules(flags_gate=False)), "S4"),
    "keys: the gate is flagged by the age of the key": Planted(
        _keys(KeyRules(own_age=False), stops=1, crashes=1), "S4"
    ),
    "keys: an old flag is left as it is": Planted(_keys(KeyRules(skips_old=True), runs=(0, 0, 0)), "S4"),
    "keys: the gate leaves while keys are flagged": Planted(_keys(KeyRules(keys_empty=False)), "S4"),
    "keys: a flag is taken away without compare": Planted(_keys(KeyRules(compares=False), runs=(0, 0, 1, 1)), "S4"),
    "keys: a fresh flag is taken away": Planted(_keys(KeyRules(grace=False)), "S4"),
    "keys: no second flag after a late park": Planted(_keys(KeyRules(late_flag=False), stops=1), "S4"),
    "keys: no second flag for an old message": Planted(_keys(KeyRules(again_flag=False), stops=1, crashes=1), "S4"),
    "rates: a start without compare": Planted(_rates(RateRules(compares=False)), "R"),
    "rates: the start has another time": Planted(_rates(RateRules(records_instant=False)), "R"),
    "rates: a place is kept until the instant": Planted(_rates(RateRules(gives_back=False)), "H"),
    "rates: newcomers take reserved instants": Planted(_rates(RateRules(respects_instants=False), runs=3), "O"),
    "rates: a reserved run is not swept": Planted(_rates(RateRules(sweeps=False), horizon=2, crashes=1), "S2"),
    "rates: a look wakes by instants alone": Planted(_rates(RateRules(wakes_for_places=False), places=1), "S5"),
}
