"""The page of all context values: types, bounds, defaults and meanings, from `infra/stage_config.py` itself."""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from typing import Any, Final

from docs.generator.markdown import page, table
from docs.generator.schemas import bounds_of

_TEXT: Final = """\
All values of `onthedot deploy -c name=value`, made from the model that checks them. Lists and objects are JSON. An
unknown name or a wrong value stops the deployment. What to choose: [deploy.md](../deploy.md#context-values)."""


class NoDocstring(LookupError):
    """A context value says nothing about itself."""


def context_page() -> str:
    """Return the page. Raise NoDocstring when a value has no text below its field."""
    from pool_config import Fargate, StagePool  # noqa: PLC0415 - loads CDK
    from stage_config import StageConfig  # noqa: PLC0415 - as above

    models = {"Values": StageConfig, "An entry of pools": StagePool, "fargate of a pool": Fargate}
    parts = [part for title, model in models.items() for part in (f"## {title}", _table(model))]
    return page("Context values", _TEXT, *parts)


def _table(model: Any) -> str:
    schema = model.model_json_schema()
    return table(("value", "default", "type", "meaning"), (_row(model, name, schema) for name in model.model_fields))


def _row(model: Any, name: str, schema: Mapping[str, Any]) -> tuple[str, str, str, str]:
    found = next(part for key, part in schema["properties"].items() if key in (name, "slots"))
    field = model.model_fields[name]
    default = "required" if field.is_required() else f"`{_shown(field.default)}`"
    return f"`{name}`", default, _kind(found), meanings_of(model, name)


def _shown(value: Any) -> str:
    match value:
        case None | ():
            return "none"
        case bool():
            return str(value).lower()
        case tuple():
            return ":".join(map(str, value))
    return str(value)


def _kind(schema: Mapping[str, Any]) -> str:
    choices = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    if any("$ref" in one or "prefixItems" in one for one in choices):
        return "object, see below" if "Fargate" in str(choices) else "text, parts with colons between them"
    kinds = {"integer": "whole number", "boolean": "true or false", "string": "text", "array": "list"}
    kind = " or ".join(dict.fromkeys(kinds.get(one.get("type", ""), one.get("type", "object")) for one in choices))
    return "; ".join(part for part in (kind, bounds_of(schema)) if part)


def meanings_of(model: Any, name: str) -> str:
    """Return the text below a field. Raise NoDocstring when there is none."""
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)
    for field, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.target.id == name:
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return str(after.value.value)
            break
    raise NoDocstring(f"{model.__name__}.{name} is not documented: write a text below it")
