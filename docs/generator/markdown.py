"""Write Markdown that GitHub and the site read alike: tables, code blocks, links."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

LINE: Final = 110


def cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(cell(part) for part in row) for row in rows]
    if not lines:
        return ""
    return "\n".join(f"| {line} |" for line in (" | ".join(head), " | ".join(["---"] * len(head)), *lines))


def code(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def json_text(value: Any, indent: int = 0) -> str:
    """Return a JSON value as people write it: what fits into a line stays on it."""
    line = json.dumps(value, ensure_ascii=False)
    if indent + len(line) <= LINE or not isinstance(value, dict | list) or not value:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {json_text(each, indent + 2)}" for key, each in value.items()]
    else:
        parts = [json_text(each, indent + 2) for each in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{end}"


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def page(title: str, *parts: str) -> str:
    """Return a page. Empty parts are left out."""
    return "\n\n".join([f"# {title}", *(part for part in parts if part)]) + "\n"
