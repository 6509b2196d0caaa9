"""Check that the gates which jobs name exist."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from onthedot.domain.errors import InvalidRequest, Problem, Unavailable
from onthedot.domain.gates.names import GateId
from onthedot.ports import Engine


@dataclass(slots=True)
class GateCheck:
    """A check of the gates of one request. It asks for each gate once, however many jobs name it.

    After a failed read it asks no more: a request with many jobs must not wait for each of their gates.
    """

    engine: Engine
    tenant: str
    known: dict[str, bool] = field(default_factory=dict)
    failed: Unavailable | None = None

    def check(self, gates: Sequence[str]) -> None:
        """Raise InvalidRequest that names each gate that does not exist. Raise Unavailable."""
        names = [GateId.of(self.tenant, named).name for named in gates]
        problems = [
            Problem(f"gates.{number}", f"there is no gate {name}; make it first with PUT /v1/gates/{name}")
            for number, name in enumerate(names)
            if not self._exists(name)
        ]
        if problems:
            raise InvalidRequest(*problems)

    def _exists(self, name: str) -> bool:
        if name not in self.known:
            if self.failed is not None:
                raise self.failed
            try:
                self.known[name] = self.engine.gates.find(self.tenant, name) is not None
            except Unavailable as error:
                self.failed = error
                raise
        return self.known[name]
