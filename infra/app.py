"""The CDK app: context in, five stacks out, checked by cdk-nag."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import App, Environment, Stack, Tags

import nag
from context_values import BadContext
from layers.build import dependencies_layer
from stacks.api_stack import ApiStack
from stacks.data_stack import DataStack
from stacks.dispatch_stack import DispatchStack
from stacks.queues_stack import QueuesStack
from stacks.workers_stack import WorkersStack
from stage_config import StageConfig


@dataclass(frozen=True, slots=True)
class Stacks:
    """All of one stage."""

    data: DataStack
    queues: QueuesStack
    dispatch: DispatchStack
    workers: WorkersStack
    api: ApiStack

    def all(self) -> list[Stack]:
        return [self.data, self.queues, self.dispatch, self.workers, self.api]


def build(app: App, config: StageConfig, dependencies: Path) -> Stacks:
    """The stage's stacks; `dependencies` is the directory of the packages' layer."""
    env = Environment(account=config.account, region=config.region)
    data, queues = DataStack(app, config, env), QueuesStack(app, config, env)
    stacks = Stacks(
        data,
        queues,
        DispatchStack(app, config, env, data=data, queues=queues, dependencies=dependencies),
        WorkersStack(app, config, env, data=data, queues=queues, dependencies=dependencies),
        ApiStack(app, config, env, data=data, queues=queues, dependencies=dependencies),
    )
    Tags.of(app).add("application", "onthedot")
    Tags.of(app).add("stage", config.stage)
    return stacks


def main() -> None:
    app = App()
    context = {"region": os.environ.get("CDK_DEFAULT_REGION"), **app.node.get_all_context()}
    try:
        config = StageConfig.from_context(context)
    except BadContext as error:
        # What is wrong is in the message; a trace of our own calls would only hide it.
        sys.exit(str(error))
    stacks = build(app, config, dependencies_layer(local=config.local))
    nag.check(app, config, stacks.all())
    app.synth()


if __name__ == "__main__":
    main()
