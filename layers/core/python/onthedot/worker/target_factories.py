"""What a worker can perform without calling AWS: who does it, and how it is called in an offer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from onthedot.ports import Clock, Engine, Performer
from onthedot.targets.grpc.available import is_available
from onthedot.targets.processes.private_process import make_private


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """What the operator of a worker lets it do, beside calling others over the network."""

    allow_private: bool = False
    """Whether loopback and private addresses may be called."""
    shell: bool = False
    app: str | None = None
    """A module whose `@job` handlers it runs."""


def factories(tools: TargetOptions, clock: Clock) -> dict[str, Callable[[], Performer]]:
    """By target type, for a `TargetRouter`: each is imported and made when it is first called."""

    def http() -> Performer:
        from onthedot.targets.http.caller import HttpCaller  # noqa: PLC0415 - made when first called

        return HttpCaller(allow_private=tools.allow_private, clock=clock)

    def grpc() -> Performer:
        from onthedot.targets.grpc.caller import GrpcCaller  # noqa: PLC0415 - as above

        return GrpcCaller(allow_private=tools.allow_private)

    def shell() -> Performer:
        from onthedot.targets.processes.shell import ShellRunner  # noqa: PLC0415 - as above

        return ShellRunner()

    made: dict[str, Callable[[], Performer]] = {"http": http, "grpc": grpc} if is_available() else {"http": http}
    if tools.shell:
        # Now, not when the first program runs: handlers' processes are as private as this one is when they start.
        make_private()
        made["shell"] = shell
    if tools.app is not None:
        made["python"] = _python(tools.app)
    return made


def engine_factories(engine: Engine) -> dict[str, Callable[[], Performer]]:
    """What takes an engine at hand, and so is done by workers on Lambda and by those with AWS credentials."""

    def workflow() -> Performer:
        from onthedot.use_cases.workflows.start_workflow import WorkflowStarter  # noqa: PLC0415 - as above

        return WorkflowStarter(engine)

    return {"workflow": workflow}


def _python(app: str) -> Callable[[], Performer]:
    def python() -> Performer:
        from onthedot.targets.processes.python_runner import PythonRunner  # noqa: PLC0415 - as above

        return PythonRunner(app)

    return python


def capabilities(types: Iterable[str], handlers: Iterable[str], custom: Iterable[str]) -> frozenset[str]:
    """What is offered: types of targets, the app's very handlers, and what the operator says."""
    return frozenset({*types, *custom, *(f"python:{handler}" for handler in handlers)})
