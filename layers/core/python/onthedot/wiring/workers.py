"""The parts of a worker that depend on the engine: its targets, and the source of its runs."""

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from onthedot.core.clock import SystemClock
from onthedot.core.ports import Performer
from onthedot.engine import Engine
from onthedot.settings import WorkerSettings
from onthedot.wiring import aws
from onthedot.worker import target_factories

if TYPE_CHECKING:
    from onthedot.targets.router import TargetRouter
    from onthedot.worker.direct_source import DirectWorkSource


def push_targets(settings: WorkerSettings, engine: Engine) -> "TargetRouter":
    """Return the targets that a Lambda worker performs.

    The HTTP caller is made now, because most jobs are HTTP callbacks. The others are made when first called.
    """
    from onthedot.targets.http.caller import HttpCaller  # noqa: PLC0415 - a pull worker makes its own when needed
    from onthedot.targets.router import Canary, TargetRouter  # noqa: PLC0415 - only push workers need it here

    private = settings.allow_private_targets
    http = HttpCaller(allow_private=private, clock=engine.clock)
    calling = {
        **target_factories.factories(target_factories.TargetOptions(allow_private=private), engine.clock),
        "http": lambda: http,
        "canary": Canary,
    }
    return TargetRouter(
        {**calling, **target_factories.engine_factories(engine), **aws_factories(engine, settings.calls_role)}
    )


def aws_factories(engine: Engine, calls_role: str) -> dict[str, Callable[[], Performer]]:
    @cache
    def make() -> Callable[..., Any]:
        from onthedot.targets.aws.clients import make_client, session_of  # noqa: PLC0415 - made when first called

        if not calls_role:
            return make_client
        return partial(make_client, session=session_of(calls_role, cache(lambda: aws.client("sts"))))

    def invoker() -> Performer:
        from onthedot.targets.aws.callers import LambdaInvoker  # noqa: PLC0415 - as above

        return LambdaInvoker(allow_list=engine.deployment.allow_list, make=partial(make(), "lambda"))

    def caller() -> Performer:
        from onthedot.targets.aws.callers import AwsCaller  # noqa: PLC0415 - as above

        return AwsCaller(allow_list=engine.deployment.allow_list, make=make())

    return {"lambda": invoker, "aws": caller}


def direct_source(settings: WorkerSettings, pool: str) -> "tuple[DirectWorkSource, Engine]":
    """Return the work source of a pull worker with AWS credentials. It checks its clock against each reply of AWS."""
    from onthedot.engines.aws.client import READ_SECONDS  # noqa: PLC0415 - Lambda workers need none of this
    from onthedot.engines.aws.sqs.queues import LONG_POLL_SECONDS  # noqa: PLC0415 - as above
    from onthedot.engines.store_around import counted  # noqa: PLC0415 - as above
    from onthedot.observability import Metrics, write_to_log  # noqa: PLC0415 - as above
    from onthedot.worker.direct_source import ClockCheck, DirectWorkSource  # noqa: PLC0415 - as above

    clock = ClockCheck(SystemClock().now)
    metrics = Metrics(settings.stage, detailed=settings.detailed_metrics, write=write_to_log)
    aws.observe_clients(metrics, clock.note)
    stored = aws.engine_of(
        settings,
        sqs=aws.client("sqs", options={"read_timeout": LONG_POLL_SECONDS + READ_SECONDS}),
        blobs=aws.blobs_in(settings.blob_bucket),
        poll_seconds=LONG_POLL_SECONDS,
    )
    engine = counted(stored, metrics)
    return DirectWorkSource(engine, pool, check=clock.check, flush=metrics.flush), engine
