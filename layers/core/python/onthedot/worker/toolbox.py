"""What a worker can perform without calling AWS: who does it, and how it is called in an offer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from onthedot.adapters.targets.private_process import make_private
from onthedot.ports import Clock, Engine, Target


@dataclass(frozen=True, slots=True)
class Tools:
    """What the operator of a worker lets it do, beside calling others over the network."""

    allow_private: bool = False
    """Whether loopback and private addresses may be called."""
    shell: bool = False
    app: str | None = None
    """A module whose `@job` handlers it runs."""


def makers(tools: Tools, clock: Clock) -> dict[str, Callable[[], Target]]:
    """By target type, for a `TargetRouter`: each is imported and made when it is first called."""

    def http() -> Target:
        from onthedot.adapters.targets.http import HttpCaller  # noqa: PLC0415 - made when first called

        return HttpCaller(allow_private=tools.allow_private, clock=clock)

    def grpc() -> Target:
        from onthedot.adapters.targets.grpc_ import GrpcCaller  # noqa: PLC0415 - as above

        return GrpcCaller(allow_private=tools.allow_private)

    def shell() -> Target:
        from onthedot.adapters.targets.shell import ShellRunner  # noqa: PLC0415 - as above

        return ShellRunner()

    made: dict[str, Callable[[], Target]] = {"http": http, "grpc": grpc}
    if tools.shell:
        # Now, not when the first program runs: handlers' processes are as private as this one is when they start.
        make_private()
        made["shell"] = shell
    if tools.app is not None:
        made["python"] = _python(tools.app)
    return made


def engine_makers(engine: Engine) -> dict[str, Callable[[], Target]]:
    """What takes an engine at hand, and so is done by workers on Lambda and by those with AWS credentials."""

    def workflow() -> Target:
        from onthedot.use_cases.start_workflow import WorkflowStarter  # noqa: PLC0415 - as above

        return WorkflowStarter(engine)

    return {"workflow": workflow}


def _python(app: str) -> Callable[[], Target]:
    def python() -> Target:
        from onthedot.adapters.targets.python_ import PythonRunner  # noqa: PLC0415 - as above

        return PythonRunner(app)

    return python


def capabilities(types: Iterable[str], handlers: Iterable[str], custom: Iterable[str]) -> frozenset[str]:
    """What is offered: types of targets, the app's very handlers, and what the operator says."""
    return frozenset({*types, *custom, *(f"python:{handler}" for handler in handlers)})
