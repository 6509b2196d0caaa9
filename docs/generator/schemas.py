"""Say the types and bounds of a JSON schema in words."""

import json
from collections.abc import Mapping
from typing import Any, Final

from docs.generator.markdown import anchor

TYPES_PAGE: Final = "rest-types.md"
_WORDS: Final = {None: "any JSON", "string": "text", "boolean": "true or false", "integer": "whole number"}
_BOUNDS: Final = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
    "maxProperties": "at most {} entries",
}


def link(name: str, page: str = TYPES_PAGE) -> str:
    return f"[{name}]({page}#{anchor(name)})"


def type_of(schema: Mapping[str, Any], page: str = TYPES_PAGE) -> str:
    """Return the type of a schema in words, with links to other types."""
    if "$ref" in schema:
        return link(str(schema["$ref"]).rsplit("/", 1)[1], page)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(type_of(one, page) for one in schema[several]))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    return _plain(schema, page)


def _plain(schema: Mapping[str, Any], page: str) -> str:
    kind = schema.get("type")
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}), page)}"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"map of {type_of(values, page)}" if isinstance(values, dict) and values else "object"
    if schema.get("format") == "date-time":
        return "time"
    return _WORDS.get(kind, str(kind))


def bounds_of(schema: Mapping[str, Any]) -> str:
    """Return the bounds of a schema in words, or an empty text."""
    schemas = [schema, *schema.get("anyOf", ())]
    found = [text.format(f"{one[key]:,}") for one in schemas for key, text in _BOUNDS.items() if key in one]
    return ", ".join(dict.fromkeys(_one(text) for text in found))


def _one(text: str) -> str:
    return text.replace(" 1 characters", " 1 character").replace(" 1 entries", " 1 entry")


def default_of(name: str, schema: Mapping[str, Any], required: bool) -> str:
    """Return whether the field is required, or its default."""
    if required:
        return f"`{name}` required"
    default = schema.get("default")
    return f"`{name}`" if default in (None, [], {}) else f"`{name}` ({json.dumps(default, ensure_ascii=False)})"
