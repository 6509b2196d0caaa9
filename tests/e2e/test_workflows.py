"""Dependencies and workflows in each home: a diamond, a fan-out, results handed on."""

from typing import Any

from tests.e2e.homes import Api, Home, until
from tests.e2e.listener import Listener


def workflow(api: Api, jobs: list[dict[str, Any]], **more: Any) -> str:
    status, answer = api.call("POST", "/v1/workflows", {"name": "e2e", "jobs": jobs, **more})
    assert status == 202, answer
    return str(answer["workflow_id"])


def ended(api: Api, workflow_id: str, status: str, seconds: float = 60) -> dict[str, Any]:
    """The workflow's view, once it ended so."""

    def view() -> Any:
        code, view = api.call("GET", f"/v1/workflows/{workflow_id}")
        assert code == 200, view
        return view if view["status"] == status else None

    found: dict[str, Any] = until(view, seconds)
    return found


def states(view: dict[str, Any]) -> dict[str, str]:
    return {job["key"]: job["status"] for job in view["jobs"]}


def test_a_diamond_runs_in_order_and_its_end_gets_both_results(api: Api, listener: Listener) -> None:
    def job(key: str, *parents: str) -> dict[str, Any]:
        return {
            "key": key,
            "depends_on": list(parents),
            "callback_url": f"{listener.url}/diamond-{key}",
            "payload": key,
        }

    made = workflow(api, [job("d", "b", "c"), job("b", "a"), job("c", "a"), job("a")])
    view = ended(api, made, "SUCCEEDED")
    assert states(view) == dict.fromkeys("abcd", "SUCCEEDED")
    assert view["critical_path"][0] == "a"
    assert view["critical_path"][-1] == "d"
    at = {key: listener.wait_for(f"/diamond-{key}")[0].at for key in "abcd"}
    assert at["a"] <= min(at["b"], at["c"]) <= max(at["b"], at["c"]) <= at["d"]
    received = listener.wait_for("/diamond-d")[0].payload
    assert received["payload"] == "d"
    assert {key: parent["result"] for key, parent in received["parents"].items()} == {
        "b": "thank you",
        "c": "thank you",
    }
    assert len(listener.at_path("/diamond-d")) == 1


def test_a_fan_out_of_a_hundred_and_back(api: Api, listener: Listener) -> None:
    leaves = [f"leaf-{n}" for n in range(100)]
    jobs: list[dict[str, Any]] = [{"key": "root", "callback_url": f"{listener.url}/fan/root"}]
    jobs += [{"key": leaf, "depends_on": ["root"], "callback_url": f"{listener.url}/fan/{leaf}"} for leaf in leaves]
    jobs.append({"key": "end", "depends_on": leaves, "callback_url": f"{listener.url}/fan/end"})
    view = ended(api, workflow(api, jobs), "SUCCEEDED", seconds=120)
    assert view["progress"]["total"] == view["progress"]["ended"] == 102
    last = max(listener.at_path(f"/fan/{leaf}")[0].at for leaf in leaves)
    assert listener.at_path("/fan/end")[0].at >= last


def test_a_recurring_workflow_makes_a_new_graph_each_time(home: Home, api: Api, listener: Listener) -> None:
    def job(key: str, *parents: str) -> dict[str, Any]:
        return {"key": key, "depends_on": list(parents), "callback_url": f"{listener.url}/again-{key}"}

    made = workflow(api, [job("first"), job("second", "first")], every=round(4 * home.pace), max_runs=3)
    for key in ("first", "second"):
        assert len(listener.wait_for(f"/again-{key}", count=3, seconds=60)) >= 3
    assert api.call("GET", f"/v1/workflows/{made}")[0] == 200
