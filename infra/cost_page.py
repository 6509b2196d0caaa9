"""The page `docs/costs.md`, made from the figures of `costs.py`.

make costs        writes it
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aws_cdk import App

import costs
from app import build
from costs import LOADS, PRICES, Shape
from stage_config import StageConfig

SHARDS: Final = (4, 8, 16, 32, 64)
PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "costs.md"

_TEXT: Final = """\
# Costs

`make costs` writes this page, and a test holds it to the code. Figures are USD for a month of {hours} hours, at AWS's
list prices of {prices_of}, without taxes and transfer. They are computed from counted calls, assumed latencies and
measured CPU time. No AWS bill has been seen yet.

## An idle stage

A stage with all defaults and no jobs: a tick and the canary run each minute, an audit each hour, and Lambda polls the
queues. A Fargate pool without tasks adds {pool:.2f} USD, because AWS bills each metric of its two alarms. The first
pool with a shell adds {secret:.2f} USD for the secret with its token.

{idle}

Shards cost the same with and without jobs. The bounds hold for the default number only:

{shards}

Not in the table:

- S3: less than a cent for the auditor, and 0.023 USD for each GB of payloads and results.
- Requests of your monitoring to the API, and SNS messages of alarms.
- While a queue has a backlog, each tick asks CloudWatch for its age: 0.44 USD for such a queue over a whole month.
- X-Ray (`-c xray=true`) would trace {traces} calls a month. `detailed_metrics` adds metrics for each pool and priority
  in use. Metrics other than the three above are billed for the hours in which they have a value.

## A million runs

On top of the idle stage, without allowances: HTTP targets that answer within 0.2 seconds, records below 1 KB, no gates,
no retries, and one published event for each run. Costs grow in proportion, since a run's cost does not depend on other
jobs.

{million}

{loads}

A run that is submitted alone pays for a whole request to the API (and its Lambda call); `POST /v1/jobs/batch` takes up
to 500 jobs in one. A slower target costs the time for which its worker waits.

## The worker's memory

{worker_mb} MB, from `benchmarks/worker_memory.py`: a batch of ten HTTPS calls, each on a new connection, takes 40 to 46
CPU-ms and 68 MB (two vCPU AMD EPYC, 2026-11-17, busy machine). A function with {worker_mb} MB has 0.29 of a CPU, so the
batch takes about 0.15 s. With 256 MB it would take 0.3 s, and the last of ten runs would start that much later. With
1,024 MB each second of waiting for a target would cost twice as much.

## Prices

{prices_of}. Other regions differ by up to a quarter.

{prices}
"""


def page(shape: Shape) -> str:
    return _TEXT.format(
        hours=costs.HOURS,
        prices_of=costs.PRICES_OF,
        idle="\n".join(_idle(shape)),
        pool=costs.idle(costs.with_fargate_pool(shape)).total(allowances=False)
        - costs.idle(shape).total(allowances=False),
        secret=PRICES["secret"].usd,
        shards="\n".join(_shards(shape)),
        traces=_number(costs.idle(shape).amounts["request"]),
        million="\n".join(_million(shape)),
        loads="\n".join(_loads()),
        worker_mb=shape.memory_mb["worker"],
        prices="\n".join(_prices()),
    )


def _idle(shape: Shape) -> Iterator[str]:
    bill = costs.idle(shape)
    yield "| service: unit | amount | always free | with allowances | without | amount of |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for key, amount in bill.amounts.items():
        price = PRICES[key]
        paid, full = bill.usd(key, allowances=True), bill.usd(key, allowances=False)
        free, why = _number(price.free) if price.free else "", ", ".join(bill.why[key])
        yield f"| {price.service}: {price.unit} | {_number(amount)} | {free} | {paid:.2f} | {full:.2f} | {why} |"
    paid, full = bill.total(allowances=True), bill.total(allowances=False)
    bounds = f"bounds: {costs.MOST_WITH_ALLOWANCES:g} and {costs.MOST_WITHOUT:g}"
    yield f"| **sum** | | | **{paid:.2f}** | **{full:.2f}** | {bounds} |"


def _shards(shape: Shape) -> Iterator[str]:
    yield "| shards | ticks a minute | with allowances | without |"
    yield "| --- | --- | --- | --- |"
    for number in SHARDS:
        larger = costs.with_shards(shape, number)
        bill = costs.idle(larger)
        paid, full = bill.total(allowances=True), bill.total(allowances=False)
        yield f"| {number} | {larger.groups} | {paid:.2f} | {full:.2f} |"


def _million(shape: Shape) -> Iterator[str]:
    bills = [costs.per_million(load, shape.memory_mb) for load in LOADS]
    yield f"| service | {' | '.join(load.name for load in LOADS)} |"
    yield f"| --- |{' --- |' * len(LOADS)}"
    for service in dict.fromkeys(service for bill in bills for service in bill.by_service()):
        yield f"| {service} | {' | '.join(f'{bill.by_service().get(service, 0):.2f}' for bill in bills)} |"
    yield f"| **sum** | {' | '.join(f'**{bill.total(allowances=False):.2f}**' for bill in bills)} |"


def _loads() -> Iterator[str]:
    for load in LOADS:
        units = f"{load.run.writes:g} write units and {load.run.reads:g} read units"
        yield f"- *{load.name}*: {load.assumption}. {units}, {load.together} to a message request and a worker's call."


def _prices() -> Iterator[str]:
    yield "| service: unit | USD | always free a month |"
    yield "| --- | --- | --- |"
    for price in PRICES.values():
        yield f"| {price.service}: {price.unit} | {_price(price.usd)} | {_number(price.free) if price.free else ''} |"


def _price(usd: float) -> str:
    return f"{usd:.2f}" if usd >= 0.01 else f"{usd * 1e6:g} for a million"


def _number(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 100 or amount == round(amount) else f"{amount:.2f}"


def default_shape() -> Shape:
    """Synthesize a stage with all defaults, and return its shape."""
    config = StageConfig.from_context({"stage": "prod"})
    with tempfile.TemporaryDirectory() as folder:
        (layer := Path(folder, "layer")).mkdir()
        app = App(outdir=f"{folder}/out")
        build(app, config, layer)
        app.synth()
        templates = [json.loads(path.read_text()) for path in Path(folder, "out").glob("*.template.json")]
    return costs.shape_of(templates, config.shards, config.shard_groups)


if __name__ == "__main__":
    PAGE.write_text(page(default_shape()))
