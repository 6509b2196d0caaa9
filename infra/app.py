"""The CDK app: it reads the context, builds seven stacks (eight with a Fargate pool), and checks them with cdk-nag."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import App, Environment, Stack, Tags

import environment_size
import nag
from context_values import BadContext
from environment_size import EnvironmentTooLarge
from layers.build import dependencies_layer
from stacks.api_stack import ApiStack
from stacks.data_stack import DataStack
from stacks.dispatch_stack import DispatchStack
from stacks.events_stack import EventsStack
from stacks.fargate_stack import FargateStack
from stacks.queues_stack import QueuesStack
from stacks.watch_stack import WatchStack
from stacks.workers_stack import WorkersStack
from stage_config import StageConfig


@dataclass(frozen=True, slots=True)
class Stacks:
    data: DataStack
    queues: QueuesStack
    dispatch: DispatchStack
    workers: WorkersStack
    api: ApiStack
    events: EventsStack
    fargate: FargateStack | None
    watch: WatchStack

    def all(self) -> list[Stack]:
        always: list[Stack] = [self.data, self.queues, self.dispatch, self.workers, self.api, self.events, self.watch]
        return always if self.fargate is None else [*always, self.fargate]


def build(app: App, config: StageConfig, dependencies: Path) -> Stacks:
    """Build the stacks of a stage. `dependencies` is the directory of the layer with the packages."""
    env = Environment(account=config.account, region=config.region)
    data, queues = DataStack(app, config, env), QueuesStack(app, config, env)
    dispatch = DispatchStack(app, config, env, data=data, queues=queues, dependencies=dependencies)
    workers = WorkersStack(app, config, env, data=data, queues=queues, dependencies=dependencies)
    api = ApiStack(app, config, env, data=data, queues=queues, dependencies=dependencies)
    events = EventsStack(app, config, env, data=data, queues=queues, dependencies=dependencies)
    fargate = None
    if any(known.fargate for known in config.pools):
        fargate = FargateStack(app, config, env, data=data, queues=queues, api=api)
    for user in (dispatch, workers, api, events, fargate):
        if user is not None:
            # They know the queues by name, which CDK does not see.
            user.add_stack_dependency(queues)
    watch = WatchStack(app, config, env)
    for stack in (dispatch, workers):
        watch.add_stack_dependency(stack, "An alarm on silence would go off before there is a first tick.")
    Tags.of(app).add("application", "onthedot")
    Tags.of(app).add("stage", config.stage)
    return Stacks(data, queues, dispatch, workers, api, events, fargate, watch)


def synthesize(app: App, config: StageConfig, stacks: Stacks) -> None:
    """Write the templates, and check them. Raise EnvironmentTooLarge when Lambda would refuse a function."""
    nag.check(app, config, stacks.all())
    assembly = app.synth()
    environment_size.check(Path(stack.template_full_path) for stack in assembly.stacks)


def main() -> None:
    app = App()
    context = {"region": os.environ.get("CDK_DEFAULT_REGION"), **app.node.get_all_context()}
    try:
        config = StageConfig.from_context(context)
        synthesize(app, config, build(app, config, dependencies_layer(local=config.local)))
    except (BadContext, EnvironmentTooLarge) as error:
        # The message says all. A trace of our own calls would only hide it.
        sys.exit(str(error))


if __name__ == "__main__":
    main()
