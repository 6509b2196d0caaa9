"""What the API answers, scenario by scenario. Each function is one recording; the bodies are in `bodies.json`."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.golden.compare import Mask, since
from tests.golden.world import World, on_sqlite

BODIES: dict[str, Any] = json.loads(Path(__file__).with_name("bodies.json").read_text())
KINDS: dict[str, Any] = BODIES["kinds"]
HEADERS = ("Allow", "ETag", "Location", "Retry-After", "WWW-Authenticate")
URL = "https://example.org/hook"
SHELL = {"type": "shell", "argv": ["true"]}
LONG = 12


class Rest:
    """A world whose API is called, and the calls with their answers. `<name>` in a path or a body is an id."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.steps: list[Any] = []
        self._met: dict[Any, Any] = {}

    def call(self, method: str, path: str, body: Any = None, /, **also: Any) -> Any:
        """Call the API, note the call and its answer, and return the answer's body."""
        content = (
            body
            if isinstance(body, bytes)
            else b""
            if body is None
            else with_ids(self.world, json.dumps(body)).encode()
        )
        response = self.world.answer(method, with_ids(self.world, path), content, **also)
        assert response.status != 500, (method, path)
        step: dict[str, Any] = {"do": f"{method} {path}", "status": response.status}
        step |= {name: value for name, value in also.items() if value}
        if body is not None:
            text = content.decode()
            step["body"] = body if len(text) < 1_000 and not isinstance(body, bytes) else f"{len(text)}: {text[:60]}"
        headers = {name: value for name, value in response.headers.items() if name in HEADERS}
        if headers:
            step["headers_out"] = headers
        kind = response.headers.get("Content-Type", "")
        answer = json.loads(response.text) if kind == "application/json" and response.text else kind
        self.steps.append({**step, "answer": self._news(shortened(answer))})
        return answer

    def _news(self, answer: Any) -> Any:
        """Return an answer without the fields of a job or an execution that were the same when it was last shown."""
        if isinstance(answer, list):
            return [self._news(one) for one in answer]
        if not isinstance(answer, dict):
            return answer
        about = answer.get("execution_id") or answer.get("job_id")
        if not isinstance(about, str):
            return {name: self._news(value) for name, value in answer.items()}
        shape = (about, *answer)
        before, self._met[shape] = self._met.get(shape), answer
        return since(before, answer, about)

    def get(self, *paths: str, **also: Any) -> Any:
        return [self.call("GET", path, **also) for path in paths][-1]

    def post(self, path: str, *bodies: Any) -> Any:
        return [self.call("POST", path, body) for body in bodies or (None,)][-1]

    def job(self, name: str, /, **fields: Any) -> str:
        """Make a job by a noted call, and remember its name."""
        where = {} if {"target", "callback_url"} & fields.keys() else {"callback_url": URL}
        answer = self.post("/v1/jobs", {"idempotency_key": name, **where, **fields})
        assert "job_id" in answer, (name, answer)
        self.world.names[answer["job_id"]] = name
        return str(answer["job_id"])

    def make(self, *names: str) -> None:
        """Make jobs of these kinds by calls that are not noted."""
        for name in names:
            self.world.make(name, **KINDS[name])

    def masked(self) -> Any:
        return Mask(self.world.names).value(self.steps)


def with_ids(world: World, text: str) -> str:
    """Put ids in the place of their names."""
    ids = {name: known for known, name in world.names.items()}
    return re.sub(r"<([\w/]+)>", lambda found: ids[found[1]], text)


def shortened(answer: Any) -> Any:
    """Leave out entries that count nothing, of a long list of minutes or hours, but for the first one."""
    if isinstance(answer, dict):
        return {name: shortened(value) for name, value in answer.items()}
    if not isinstance(answer, list) or len(answer) < LONG or not all(isinstance(one, dict) for one in answer):
        return answer
    kept = [one for place, one in enumerate(answer) if not place or counts(one)]
    return [*kept, {"left out": len(answer) - len(kept)}] if len(kept) < len(answer) else answer


def counts(value: Any) -> bool:
    """Say whether there is a number above 0 somewhere."""
    if isinstance(value, dict | list):
        return any(map(counts, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and value > 0


SCENARIOS: dict[str, Callable[[Rest], None]] = {}


def scenario(play: Callable[[Rest], None]) -> Callable[[Rest], None]:
    SCENARIOS[f"rest_{play.__name__}"] = play
    return play


def with_gates(world: World) -> None:
    world.answer("PUT", "/v1/gates/stripe", b'{"in_flight": 1}')
    world.answer("PUT", "/v1/gates/customer", b'{"in_flight": 3, "per_second": 5}')


@scenario
def create(rest: Rest) -> None:
    with_gates(rest.world)
    for name, fields in KINDS.items():
        rest.job(name, **fields)
    rest.job("child", dependencies=["<full>", "<now>"], on_parent_failure="run")
    rest.job("full", **KINDS["full"])
    rest.post("/v1/jobs", {"callback_url": "https://example.org/other", "idempotency_key": "full"})
    rest.call("POST", "/v1/jobs", {"callback_url": URL}, headers={"Idempotency-Key": "header"})
    for name in (*KINDS, "child"):
        rest.get(f"/v1/jobs/<{name}>", f"/v1/jobs/<{name}>/status", f"/v1/jobs/<{name}>/explain")
    for body in (*BODIES["refused"], {"payload": "x" * 5_000_000}):
        where = {} if not body or "target" in body or isinstance(body, list) else {"callback_url": URL}
        answer = rest.post("/v1/jobs", {**where, **body} if isinstance(body, dict) else body)
        assert "error" in answer, str(body)[:99]
    rest.post("/v1/jobs", b"{not json", b"[" * 5_000)
    rest.post("/v1/jobs/batch", {"jobs": [{"callback_url": URL, "idempotency_key": "batch"}, {}, {"delay": -1}]})
    rest.post("/v1/jobs/batch", {"jobs": []})


@scenario
def lists(rest: Rest) -> None:
    with_gates(rest.world)
    for name in ("full", "recurring", "event", "shell", "now"):
        rest.world.make(name, **{"name": name, **KINDS[name]})
    rest.get(*(f"/v1/jobs{query}" for query in BODIES["lists"]))
    page = rest.get("/v1/jobs?limit=3")
    rest.get(f"/v1/jobs?limit=3&cursor={page['next_cursor']}")
    rest.steps[-1]["do"] = "GET /v1/jobs?limit=3&cursor=next"
    rest.get("/v1/jobs", tenant="other")
    rest.get(*BODIES["overviews"])
    rest.post("/v1/schedules/preview", *BODIES["previews"])


@scenario
def change(rest: Rest) -> None:
    with_gates(rest.world)
    rest.make("full", "recurring", "event", "now", "seconds")
    for name, body in BODIES["patches"]:
        rest.call("PATCH", f"/v1/jobs/<{name}>" if name != "gone" else "/v1/jobs/job_gone", body)
    tag = rest.get("/v1/jobs/<full>") and rest.steps[-1]["headers_out"]["ETag"]
    for match in (tag, '"0"', "bad"):
        rest.call("PATCH", "/v1/jobs/<full>", {"name": "matched"}, headers={"If-Match": match})
    rest.get("/v1/jobs/<full>", headers={"If-None-Match": '"0"'})
    for method, move in (("POST", "pause"), ("POST", "resume"), ("POST", "run"), ("PUT", "cancel")):
        for place in ("<full>", "<recurring>", "<event>", "job_gone"):
            rest.call(method, f"/v1/jobs/{place}/{move}")
            rest.call(method, f"/v1/jobs/{place}/{move}")
    for place in ("<full>", "<recurring>", "job_gone"):
        rest.post(f"/v1/jobs/{place}/pause")
        rest.post(f"/v1/jobs/{place}/resume")
        for method in ("DELETE", "DELETE", "GET"):
            rest.call(method, f"/v1/jobs/{place}")
    rest.post("/v1/jobs", {"callback_url": URL, "idempotency_key": "full"})
    run = rest.post("/v1/jobs/<seconds>/run", {"payload": {"other": 1}})
    rest.get(f"/v1/executions/{run['execution_id']}", f"/v1/jobs/{run['execution_id']}", "/v1/executions/job_gone")
    rest.post("/v1/jobs/<seconds>/execute", {"worker_id": "worker_missing"})
    rest.post("/v1/jobs/<seconds>/backfill", *BODIES["windows"])
    rest.post("/v1/jobs/<now>/backfill", BODIES["windows"][0])
    rest.post("/v1/jobs/bulk", *BODIES["bulk"])


@scenario
def runs(rest: Rest) -> None:
    world = rest.world
    with_gates(world)
    for name, fields in BODIES["runs"].items():
        rest.job(name, **fields)
        if name == "holder":
            world.start(rest.steps[-1]["answer"]["job_id"])
    world.execute_due()
    rest.post("/v1/jobs/<paused>/pause")
    for minutes in (0, 5):
        world.tick(minutes)
        for name in BODIES["runs"]:
            rest.get(f"/v1/jobs/<{name}>/explain")
            if minutes:
                rest.get(f"/v1/jobs/<{name}>", f"/v1/jobs/<{name}>/executions")
    rest.get(*BODIES["run_queries"])
    for run in rest.get("/v1/executions?job_id=<every>")["executions"][:1]:
        rest.get(f"/v1/executions/{run['execution_id']}")
    rest.post("/v1/dead-letters/redrive", *BODIES["redrives"])
    world.tick()
    rest.get(*BODIES["after_runs"])


@scenario
def workers(rest: Rest) -> None:
    world = rest.world
    rest.post("/v1/workers/register", *BODIES["registrations"])
    worker = rest.steps[0]["answer"]["worker_id"]
    world.names[worker] = "worker"
    for name, priority in (("a", "HIGH"), ("b", "LOW"), ("c", "MEDIUM"), ("d", "LOW")):
        world.make(name, target=SHELL, priority=priority, retry={"max_retries": 1, "jitter": False})
    world.make("big", target=SHELL, requirements={"memory_mb": 4_096})
    rest.get("/v1/queues", "/v1/jobs/<a>/explain", "/v1/jobs/<big>/explain")
    leased = rest.post("/v1/workers/<worker>/lease", {"max": 3})["runs"]
    rest.post("/v1/workers/<worker>/lease", *BODIES["leases"])
    rest.post("/v1/workers/worker_missing/lease", {})
    for run, end in zip(leased, BODIES["ends"], strict=True):
        path, said = f"/v1/executions/{run['execution_id']}", {"attempt": run["attempt"], "receipt": run["receipt"]}
        rest.post(f"{path}/heartbeat", {**said, "progress": {"fraction": 0.5, "text": "half"}})
        rest.get(path, "/v1/executions?worker_id=<worker>")
        rest.post(f"{path}/heartbeat", {**said, "attempt": 7}, {**said, "progress": {"fraction": 2}})
        rest.post(f"{path}/complete", {**said, **end, "attempt": 7}, {**said, **end}, {**said, **end})
        rest.get(path)
    rest.post("/v1/executions/<d>/complete", {"status": "DONE", "attempt": 0})
    rest.post("/v1/executions/job_gone/complete", {"status": "LOST", "attempt": 1})
    rest.post("/v1/jobs/<d>/execute", {"worker_id": worker})
    rest.post("/v1/workers/<worker>/heartbeat", *BODIES["beats"])
    rest.post("/v1/workers/worker_missing/heartbeat", {})
    rest.get(*BODIES["worker_queries"])
    rest.get("/v1/workers", tenant="other")
    rest.post("/v1/workers/<worker>/heartbeat", {"stopped": True})
    world.tick(3)
    rest.get("/v1/workers", "/v1/overview")


@scenario
def workflows_and_events(rest: Rest) -> None:
    world = rest.world
    for body in BODIES["workflows"]:
        answer = rest.post("/v1/workflows", body)
        if "job_id" in answer:
            key = str(body["idempotency_key"])
            world.names[answer["job_id"]] = key
            rest.get(f"/v1/workflows/{answer['workflow_id']}", f"/v1/jobs/<{key}>")
            members = rest.get(f"/v1/jobs?workflow={answer['workflow_id']}")["jobs"]
            world.names |= {job["job_id"]: f"{key}/{job['key']}" for job in members if job["key"]}
    world.execute_due()
    world.tick(2)
    first = rest.steps[0]["answer"]["workflow_id"]
    listed = rest.get(f"/v1/workflows/{first}", "/v1/workflows/job_missing", "/v1/jobs?limit=50")
    rest.get(*(f"/v1/jobs/{job['job_id']}" for job in listed["jobs"]))
    world.make("on_order", name="on_order", **KINDS["event"])
    world.make("exact", on_event={"detail": {"total": [{"numeric": [">", 10]}]}})
    rest.post("/v1/events", *BODIES["events"])
    world.tick()
    for name in ("on_order", "exact"):
        rest.get(f"/v1/jobs/<{name}>", f"/v1/jobs/<{name}>/executions", f"/v1/jobs/<{name}>/explain")


@scenario
def operations(rest: Rest) -> None:
    for call in BODIES["operations"]:
        answer = rest.call(*call)
        if isinstance(answer, dict) and answer.get("tokens"):
            rest.world.names.setdefault(answer["tokens"][0]["id"], "token")
    rest.get("/openapi.json")
    rest.steps[-1]["answer"] = "recorded in openapi.json"


MOVED = ("full", "recurring", "event", "shell")


def make_moved(world: World) -> None:
    for name in MOVED:
        world.make(name, **{key: value for key, value in KINDS[name].items() if key != "gates"})


@scenario
def transfer(rest: Rest) -> None:
    world = rest.world
    make_moved(world)
    world.make("wf", "/v1/workflows", jobs=BODIES["workflows"][0]["jobs"])
    rest.call("PUT", "/v1/gates/stripe", {"in_flight": 2})
    rest.call("PUT", "/v1/limits/acme", {"weight": 2})
    world.tick(2)
    rest.get(*(f"/v1/export{query}" for query in ("", "?only=x", "?cursor=bad")))
    rest.post("/v1/stage/freeze", None, None)
    frozen = rest.get("/v1/stage")
    rest.post("/v1/jobs", {"callback_url": URL})
    rest.post("/v1/import/begin", {"freeze_id": "f1"})
    world.clock.advance(10)
    rest.post("/v1/export/finish", {"freeze_id": "wrong"}, {"freeze_id": str(frozen["freeze_id"])})
    rest.get("/v1/export?history=true&secrets=true")
    rest.post("/v1/stage/thaw", None, {"force": True}, {})


@scenario
def imports(rest: Rest) -> None:
    with on_sqlite() as other:
        make_moved(other)
        rest.world.names = other.names
        entries = json.loads(other.answer("GET", "/v1/export?history=true&secrets=true").text)["entries"]
    whole = {"freeze_id": "f1", "entries": entries}
    rest.post("/v1/import", whole)
    rest.post("/v1/import/begin", {"freeze_id": "f1"})
    rest.post("/v1/stage/freeze")
    rest.post("/v1/import", whole)
    rest.world.clock.advance(10)
    odd = {"freeze_id": "f1", "entries": [*entries, {"odd": 1}, 7]}
    rest.post("/v1/import", {**whole, "dry_run": True}, odd, whole, {"freeze_id": "f2", "entries": []})
    rest.post("/v1/import/release", {"freeze_id": "f2"}, {"freeze_id": "f1"})
    rest.get("/v1/stage", "/v1/jobs")
