"""What each store calls in DynamoDB, and that the roles of the parts which use it allow these calls and these keys."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import pytest

from localstack.enforced_iam import STATEMENT_ACTIONS, request_keys, statement_checks
from onthedot.access.ports import Principal, Token
from onthedot.access.tenant_data import TenantData
from onthedot.core.choices import Priority
from onthedot.core.clock import VirtualClock
from onthedot.core.gate_names import GateId
from onthedot.core.pass_progress import ProgressStore, ShardProgress
from onthedot.core.ports import TickLease
from onthedot.core.shards import ShardHistory
from onthedot.engine import Engine
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.s3_blobs import S3Blobs
from onthedot.events.ports import PatternEntry
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import GateChange, Holder
from onthedot.statistics.counters import EndedRun, PlacedEnd
from onthedot.statistics.store import StatisticsWriter
from onthedot.targets.webhooks import SigningKey
from onthedot.transfer.stage_state import StageMode, StageState
from onthedot.wiring.aws_engine import aws_engine
from onthedot.workers.records import Load, Resources, WorkerRecord
from tests.builders import DEPLOYMENT, NOON
from tests.infra.kit import Assembly, as_list, statements_of
from tests.infra.test_fargate_stack import task
from tests.infra.test_functions import function

GATE = GateId("acme", "stripe", None)
HOLDER = Holder("t", "g", NOON, "job_a")
WORKER = WorkerRecord("w1", "acme", "pull", frozenset(), Resources(1), NOON, NOON)
ENTRY = PatternEntry("job_a", "n1", "{}", NOON)
ENTRY_OF_TOKEN = {"pk": {"S": "tokens"}, "sk": {"S": "tok_1"}, "token_hash": {"S": "h1"}}
BEFORE = ShardProgress(1, 1, 1, 1, 1)
READS = ("GetItem", "BatchGetItem", "Query", "Scan")


@dataclass
class Recorder:
    """A client that notes its calls. It finds the entry of a token, and nothing else."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        operation = "".join(part.capitalize() for part in name.split("_"))

        def call(**request: Any) -> dict[str, Any]:
            self.calls.append((operation, request))
            return self._reply(operation, request)

        return call

    def _reply(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "GetItem":
            return {"Item": ENTRY_OF_TOKEN} if request["Key"].items() <= ENTRY_OF_TOKEN.items() else {}
        if operation == "BatchExecuteStatement":
            return {"Responses": [{} for _ in request["Statements"]]}
        if operation == "UpdateItem":
            return {"Attributes": request["Key"]}
        replies: dict[str, dict[str, Any]] = {
            "Query": {"Items": []},
            "Scan": {"Items": [{"pk": {"S": "signing#acme"}, "sk": {"S": "signing"}}], "ScannedCount": 1},
            "BatchGetItem": {"Responses": {}, "UnprocessedKeys": {}},
            "DescribeTable": {"Table": {"ItemCount": 7}},
        }
        return replies.get(operation, {})


@dataclass
class Stores:
    """All stores of the aws engine on one recorder."""

    client: Any = field(default_factory=Recorder)

    def __post_init__(self) -> None:
        clock = VirtualClock()
        self.engine: Engine = aws_engine(self.client, self.client, "jobs", {}, clock=clock, deployment=DEPLOYMENT)
        items = DynamoItems(self.client, "jobs", clock)
        self.progress, self.counter = ProgressStore(items), StatisticsWriter(items)
        self.tenants = TenantData(items, S3Blobs(lambda: self.client, "bucket"))

    @property
    def transfer(self) -> Any:
        return self.engine.transfer


def finish(stores: Stores) -> None:
    lease = TickLease((0, 1, 2), "tick", NOON + 1)
    before = {0: BEFORE, 1: BEFORE}
    stores.progress.finish(lease, before, dict.fromkeys(range(3), ShardProgress(2, 2, 2, 2, 2)))


def count(stores: Stores) -> None:
    stores.counter.add("shard", [PlacedEnd(1, EndedRun("acme", 7, Priority.HIGH, "succeeded", lateness_ms=5))])


def freeze(stores: Stores) -> None:
    stores.engine.stage.replace(StageState(), StageState(StageMode.FROZEN, "f", 1, 2))


def take(stores: Stores) -> None:
    stores.engine.gates.take(GATE, 1, HOLDER, room=8, newcomer=True, capacity=None)


OPERATIONS: dict[str, Callable[[Stores], object]] = {
    "find a token": lambda s: s.engine.tokens.find("h1"),
    "list tokens": lambda s: s.engine.tokens.page(5),
    "add a token": lambda s: s.engine.tokens.add("h1", Token("tok_1", Principal("acme", "admin", "a"), NOON)),
    "remove a token": lambda s: s.engine.tokens.remove("tok_1"),
    "read limits": lambda s: s.engine.limits.read(),
    "find limits": lambda s: s.engine.limits.find("acme"),
    "put limits": lambda s: s.engine.limits.put("acme", TenantLimits(in_flight=1)),
    "delete limits": lambda s: s.engine.limits.put("acme", None),
    "find a gate": lambda s: s.engine.gates.find("acme", "stripe"),
    "put a gate": lambda s: s.engine.gates.put("acme", "stripe", GateLimits()),
    "delete a gate": lambda s: s.engine.gates.put("acme", "stripe", None),
    "list gates": lambda s: s.engine.gates.names("acme", 5),
    "read a gate": lambda s: s.engine.gates.read(GATE),
    "read the pages of a gate": lambda s: s.engine.gates.pages(GATE),
    "take a place": take,
    "give a place back": lambda s: s.engine.gates.give_back(GATE, 0, HOLDER),
    "change a gate": lambda s: s.engine.gates.change(GATE, GateChange(equals={"slot": None}, sets={"parts": 2})),
    "register a worker": lambda s: s.engine.registry.register(WORKER),
    "find a worker": lambda s: s.engine.registry.find("w1"),
    "beat": lambda s: s.engine.registry.beat("w1", NOON, Load()),
    "assign a run": lambda s: s.engine.registry.assign("w1", "job_a"),
    "unassign runs": lambda s: s.engine.registry.unassign("w1", ["job_a"]),
    "list workers": lambda s: s.engine.registry.workers(),
    "read signing keys": lambda s: s.engine.signing.keys("acme"),
    "replace signing keys": lambda s: s.engine.signing.replace("acme", (), [SigningKey("s", 1)]),
    "put a pattern": lambda s: s.engine.patterns.put("acme", ["a", "b"], ENTRY),
    "remove a pattern": lambda s: s.engine.patterns.remove("acme", ["a"], "job_a", "n1"),
    "match patterns": lambda s: list(s.engine.patterns.matching("acme", ["a", "b"])),
    "remember an event": lambda s: s.engine.patterns.first_time("acme", "e", NOON, 9),
    "read the shards": lambda s: s.engine.shards.read(),
    "announce the shards": lambda s: s.engine.shards.replace(ShardHistory(), ShardHistory().announced(2, 1)),
    "read the stage": lambda s: s.engine.stage.fresh(),
    "freeze the stage": freeze,
    "begin a tick": lambda s: s.progress.begin(TickLease((0, 1), "tick", NOON + 1), NOON),
    "finish a tick": finish,
    "read the last ticks": lambda s: s.engine.tick_times.last_ticks([0, 1]),
    "count ends": count,
    "read statistics": lambda s: s.engine.statistics.read("acme", 1, 9),
    "export": lambda s: s.transfer.entries.page(5),
    "count the items": lambda s: s.transfer.entries.about(),
    "import an event": lambda s: s.engine.patterns.remember("acme", "d1", NOON, 9),
    "find the jobs of a tenant": lambda s: s.tenants.jobs_page("acme"),
    "delete a tenant": lambda s: s.tenants.delete_page("acme"),
}
"""What a store does."""
LAGGING = {"read the last ticks", "list workers", "read limits", "read statistics"}
"""Reads that need not be consistent."""

ANNOUNCING = ("read the shards", "announce the shards", "read the stage")
GATES = ("find a gate", "read a gate", "read the pages of a gate", "take a place", "give a place back", "change a gate")
PLACING = (*ANNOUNCING, *GATES, "find limits", "read limits")
EVENTS = ("put a pattern", "remove a pattern", "match patterns", "remember an event")
SIGNING = ("read signing keys", "replace signing keys")
WORKING = (*PLACING, *SIGNING, "find a worker", "list workers", "assign a run", "unassign runs")
BY_OPERATOR = ("find the jobs of a tenant", "delete a tenant")
BY_OTHERS = (*BY_OPERATOR, "find a token", "count ends", "begin a tick", "finish a tick")
ROLES: dict[str, tuple[str, ...]] = {
    "api": tuple(name for name in OPERATIONS if name not in BY_OTHERS),
    "authorizer": ("find a token",),
    "planner": ("read the shards", "list workers"),
    "dispatcher": (*PLACING, "begin a tick", "finish a tick", "read the last ticks", "list workers"),
    "auditor": ("read the shards", "read a gate"),
    "worker": WORKING,
    "events": (*PLACING, *EVENTS),
    "statistics": ("count ends",),
    "task": (*WORKING, "register a worker", "beat"),
}
"""What each role does. `task` is one on Fargate that works on the queues itself."""


def calls_of(name: str) -> list[tuple[str, dict[str, Any]]]:
    stores = Stores()
    OPERATIONS[name](stores)
    found: list[tuple[str, dict[str, Any]]] = stores.client.calls
    return found


def keys_of(operation: str, request: dict[str, Any]) -> tuple[str, ...]:
    if operation == "BatchExecuteStatement":
        return tuple(key for check in statement_checks(request, key_of) for key in check.keys)
    return request_keys(request, key_of).get("jobs", ())


def key_of(table: str, index: str | None) -> str | None:
    return "pk" if table == "jobs" and index is None else None


def lags(operation: str, request: dict[str, Any]) -> bool:
    asked = request.get("RequestItems", {}).get("jobs", request) if operation == "BatchGetItem" else request
    return operation in READS and not asked.get("ConsistentRead")


def test_reads_are_consistent_where_a_decision_needs_it() -> None:
    assert {name for name in OPERATIONS for call in calls_of(name) if lags(*call)} == LAGGING


def actions_of(operation: str, request: dict[str, Any]) -> set[str]:
    if operation != "BatchExecuteStatement":
        return {f"dynamodb:{operation}"}
    return {STATEMENT_ACTIONS[one["Statement"].split(" ")[0]] for one in request["Statements"]}


def is_allowed(statements: list[dict[str, Any]], action: str, keys: tuple[str, ...]) -> bool:
    """Evaluate the policy as IAM does: a call is allowed if a statement allows it and none denies it."""
    effects = {one["Effect"] for one in statements if _applies(one, action, keys)}
    return effects == {"Allow"}


def _applies(statement: dict[str, Any], action: str, keys: tuple[str, ...]) -> bool:
    if not any(fnmatchcase(action, pattern) for pattern in as_list(statement["Action"])):
        return False
    tests = [
        (all if quantifier == "ForAllValues" else any, as_list(wanted["dynamodb:LeadingKeys"]))
        for test, wanted in statement.get("Condition", {}).items()
        for quantifier in [test.partition(":")[0]]
    ]
    return all(
        holds(any(fnmatchcase(key, pattern) for pattern in patterns) for key in keys) for holds, patterns in tests
    )


def policy_of(role: str, prod: Assembly, fargate: Assembly) -> list[dict[str, Any]]:
    if role == "task":
        return statements_of(fargate, task(fargate, "render")["TaskRoleArn"]["Fn::GetAtt"][0])
    return statements_of(prod, function(prod, role)["Role"]["Fn::GetAtt"][0])


def denied(names: tuple[str, ...], policy: list[dict[str, Any]]) -> Iterator[str]:
    for name in names:
        for operation, request in calls_of(name):
            keys = keys_of(operation, request)
            yield from (name for action in actions_of(operation, request) if not is_allowed(policy, action, keys))


@pytest.mark.parametrize("role", ROLES)
def test_a_role_allows_the_calls_of_its_stores(role: str, prod: Assembly, fargate: Assembly) -> None:
    assert list(denied(ROLES[role], policy_of(role, prod, fargate))) == []


TOKENS = {"find a token", "list tokens", "add a token", "remove a token"}


@pytest.mark.parametrize("role", sorted({*ROLES} - {"api", "authorizer"}))
def test_no_other_role_allows_a_call_of_the_store_of_tokens(role: str, prod: Assembly, fargate: Assembly) -> None:
    assert set(denied(tuple(TOKENS), policy_of(role, prod, fargate))) == TOKENS


def test_each_operation_is_done_by_a_role_or_by_the_operator() -> None:
    assert {name for names in (*ROLES.values(), BY_OPERATOR) for name in names} == {*OPERATIONS}
