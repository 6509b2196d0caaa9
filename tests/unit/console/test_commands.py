"""Each action that the console shows as a command, as curl and as Python is one that exists."""

import ast
import inspect
import json
import re
import shlex
from functools import cache
from typing import Any, Final

import click

from onthedot.api.openapi import describe
from onthedot.api.reading import read_shape
from onthedot.api.routes import ROUTES
from onthedot.cli.jobs.change import change, read_change
from onthedot.cli.jobs.job_options import read_job
from onthedot.cli.jobs.schedule import schedule
from onthedot.cli.main import main
from onthedot.cli.times import this_moment
from onthedot.client import Client, requests
from onthedot.client.options import ChangeOptions, DeadLetterOptions, JobFilter, JobOptions, WorkflowOptions
from onthedot.jobs.shapes import JobFields, PatchFields
from tests.unit.cli.job_cases import CASES, JOB, Case, fields_of, with_work
from tests.unit.console.test_modules import node

NOT_OF_JOB: Final = ("url", "token", "as_json")
URL: Final = "https://api.example.com/prod"
OPTIONS: Final = {
    "schedule": JobOptions,
    "change": ChangeOptions,
    "redrive": DeadLetterOptions,
    "bulk": JobFilter,
    "workflow": WorkflowOptions,
}
"""The options that methods take by name, besides their own."""


@cache
def forms() -> dict[str, Any]:
    creates = [[with_work(case).body] for case in CASES]
    changes = [[JOB, case.body, 3] for case in CASES if case.fields() <= fields_of(PatchFields)]
    done = node("forms.mjs", typed=json.dumps({"document": describe(ROUTES), "create": creates, "change": changes}))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def told(word: str = "") -> list[dict[str, str]]:
    """Return the forms of each action whose name begins so."""
    return [one for one in forms()["told"] if one["name"].startswith(word)]


def commands(text: str) -> list[list[str]]:
    """Return the words of each command."""
    # A text in quotes may have lines of its own.
    return [shlex.split(one) for one in re.split(r"\n(?=onthedot |curl )", text.replace("\\\n", " "))]


def test_every_action_is_checked_and_has_every_form() -> None:
    assert forms()["missing"] == []
    assert [one["name"] for one in told() if not (one["cli"] and one["curl"] and one["python"])] == []


def test_the_command_line_takes_it() -> None:
    for program, *given in (words for one in told() for words in commands(one["cli"])):
        assert program == "onthedot"
        words = given
        command: click.Command = main
        context = click.Context(main)
        while isinstance(command, click.Group):
            name, *words = words
            found = command.get_command(context, name)
            assert found is not None, f"there is no command {name}"
            command = found
        command.make_context(command.name, list(words))


def test_the_client_takes_it() -> None:
    for one in told():
        calls = [node for node in ast.walk(ast.parse(one["python"])) if isinstance(node, ast.Call)]
        methods = [call for call in calls if isinstance(call.func, ast.Attribute)]
        assert any(isinstance(call.func, ast.Name) and call.func.id == "Client" for call in calls), one
        assert methods, one
        for call in methods:
            assert isinstance(call.func, ast.Attribute)
            own = inspect.signature(getattr(Client, call.func.attr))
            named = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg is not None}
            own.bind(None, *map(ast.literal_eval, call.args), **named)
            taken = OPTIONS.get(call.func.attr)
            options = set(() if taken is None else taken.__annotations__)
            assert {name for name in named if name not in own.parameters} <= options, one


def test_the_api_has_the_call() -> None:
    for program, *words in (words for one in told() for words in commands(one["curl"])):
        assert program == "curl"
        method = words[words.index("-X") + 1] if "-X" in words else "GET"
        [address] = [word for word in words if word.startswith("https://")]
        path = address.removeprefix(URL).partition("?")[0]
        patterns = [re.sub(r"\{\w+\}", "[^/]+", route.path) for route in ROUTES if route.method == method]
        assert any(re.fullmatch(pattern, path) for pattern in patterns), f"{method} {path}"
        if "-d" in words:
            assert isinstance(json.loads(words[words.index("-d") + 1]), dict)


Sent = tuple[str, dict[str, Any], str | None]
"""The path of a call, the fields as the API reads them, and the version that the job must have."""


def test_the_forms_of_a_change_send_the_same() -> None:
    for one in told("change "):
        by_curl = sent_by_curl(one["curl"])
        assert sent_by_python(one["python"]) == by_curl
        assert sent_by_command(one["cli"]) == by_curl


def test_the_forms_of_a_new_job_send_the_same() -> None:
    for one in told("create "):
        [[_, *words]] = commands(one["curl"])
        by_curl = created(json.loads(words[words.index("-d") + 1]))
        assert created(new_by_python(one["python"])) == by_curl
        assert created(new_by_command(one["cli"])) == by_curl


def test_the_console_names_every_field() -> None:
    def names(kind: str) -> set[str]:
        calls = [commands(one["curl"])[0] for one in told(kind)]
        bodies = [json.loads(words[words.index("-d") + 1]) for words in calls]
        return {name for body in bodies for name in Case([], body).fields()}

    assert names("create ") >= fields_of(JobFields)
    assert names("change ") >= fields_of(PatchFields)


def created(body: Any) -> dict[str, Any]:
    fields = read_shape(JobFields, body)
    # `callback_url` is short for an http target.
    if target := fields.pop("callback_url", None):
        fields["target"] = target
    return fields


def new_by_python(text: str) -> Any:
    [call] = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call) and (one.args or one.keywords)]
    named: Any = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    return requests.job_request(*map(ast.literal_eval, call.args), **named)


def new_by_command(text: str) -> Any:
    [[_, _, *words]] = commands(text)
    given = schedule.make_context("schedule", words).params
    return read_job({name: given[name] for name in given if name not in NOT_OF_JOB}, this_moment())


def sent(path: str, body: Any, version: str | None) -> Sent:
    fields = read_shape(PatchFields, body)
    # An empty list and null both mean a job without gates.
    return path, {**fields, **({"gates": fields["gates"] or None} if "gates" in fields else {})}, version


def sent_by_curl(text: str) -> Sent:
    [[_, *words]] = commands(text)
    [address] = [word for word in words if word.startswith("https://")]
    version = next((word.removeprefix("If-Match: ") for word in words if word.startswith("If-Match: ")), None)
    return sent(address.removeprefix(URL), json.loads(words[words.index("-d") + 1]), version)


def sent_by_python(text: str) -> Sent:
    [call] = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call) and one.args]
    named: Any = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    return sent_by(ast.literal_eval(call.args[0]), named, named.pop("if_version", None))


def sent_by_command(text: str) -> Sent:
    [[_, _, *words]] = commands(text)
    given = change.make_context("change", words).params
    options = {name: given[name] for name in given if name not in (*NOT_OF_JOB, "job", "if_version")}
    return sent_by(given["job"], read_change(options, this_moment()), given["if_version"])


def sent_by(job: str, options: Any, version: int | None) -> Sent:
    made = requests.change(job, options, version)
    return sent(made.path, made.body, made.headers["If-Match"].strip('"') if made.headers else None)
