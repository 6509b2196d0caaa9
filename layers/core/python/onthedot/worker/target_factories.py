"""The performers that a worker can make without AWS, and the capabilities that it offers for them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from onthedot.core.ports import Clock, Performer
from onthedot.engine import Engine
from onthedot.targets.grpc import is_available
from onthedot.targets.processes.supervised import make_private


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """The targets that the operator of a worker allows, besides calls over the network."""

    allow_private: bool = False
    shell: bool = False
    app: str | None = None
    """The module whose `@job` handlers the worker runs."""


def factories(options: TargetOptions, clock: Clock) -> dict[str, Callable[[], Performer]]:
    """Return a factory for each target type, for a `TargetRouter`. A performer is imported at its first call."""

    def http() -> Performer:
        from onthedot.targets.http.caller import HttpCaller  # noqa: PLC0415 - made when first called

        return HttpCaller(allow_private=options.allow_private, clock=clock)

    def grpc() -> Performer:
        from onthedot.targets.grpc.caller import GrpcCaller  # noqa: PLC0415 - as above

        return GrpcCaller(allow_private=options.allow_private)

    def shell() -> Performer:
        from onthedot.targets.processes.shell import ShellRunner  # noqa: PLC0415 - as above

        return ShellRunner()

    made: dict[str, Callable[[], Performer]] = {"http": http, "grpc": grpc} if is_available() else {"http": http}
    if options.shell:
        # Now, not at the first program: a handler's process is as private as this process is when the handler's starts.
        make_private()
        made["shell"] = shell
    if options.app is not None:
        made["python"] = _python(options.app)
    return made


def engine_factories(engine: Engine) -> dict[str, Callable[[], Performer]]:
    """Return the factories that need an engine. Workers on Lambda and workers with AWS credentials have one."""

    def workflow() -> Performer:
        from onthedot.workflows.start import WorkflowStarter  # noqa: PLC0415 - as above

        return WorkflowStarter(engine)

    return {"workflow": workflow}


def _python(app: str) -> Callable[[], Performer]:
    def python() -> Performer:
        from onthedot.targets.processes.python_runner import PythonRunner  # noqa: PLC0415 - as above

        return PythonRunner(app)

    return python


def capabilities(types: Iterable[str], handlers: Iterable[str], custom: Iterable[str]) -> frozenset[str]:
    """Return the capabilities to offer: target types, each handler of the app, and the operator's own words."""
    return frozenset({*types, *custom, *(f"python:{handler}" for handler in handlers)})
