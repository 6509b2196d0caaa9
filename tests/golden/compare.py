"""Mask what may differ, write a recording so that people can read it, and say where two recordings differ."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded"
WIDTH = 120
LONGEST = 1_000
LARGE = 8
SHORT = 10
SENTENCE = re.compile(r"[A-Za-z`']{2,}[,;:]? [A-Za-z`'({]{1,}.* |[a-z]{2,} [a-z]{2,}")
"""Two words or more. Values of the scenarios have no spaces between letters, so that they are no sentences."""
KEPT = re.compile(r"CREATE |[\[{<]")
RANDOM = re.compile(
    r"job_[a-z2-7]{26}|client-[0-9a-f]{32}|20[\d-]{8}T\d\d(?::|%3A)\d\d(?::|%3A)\d\d\.\d{6}|frz_[0-9a-f]{12}|worker_[0-9a-f]{16}|tok_\d{8,}|otd_\d{8,}|whsec_[A-Za-z0-9+/]+=*"
    r"|\b[0-9a-f]{24}(?=\.\d+/\d)|\b0{6}(?:[0-9a-f]{6}|[0-9a-f]{10}|[0-9a-f]{26})\b"
)
DAY = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ [A-Z]\w+ (?:\d{4} )?\d\d:\d\d(?::\d\d)?")
"""A time as people read it, whose form depends on the present."""
KINDS = re.compile(r"job|client|frz|worker|tok|otd|whsec")


class Mask:
    """Give random values numbers in the order in which they are met, and ids of jobs their names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._met: dict[str, str] = {}

    def value(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            shown = ((self.text(str(name)), one) for name, one in value.items())
            return {name: self.value(one, name) for name, one in sorted(shown, key=lambda pair: pair[0])}
        if isinstance(value, list | tuple):
            return [self.value(one, key) for one in value]
        if isinstance(value, bytes):
            value = value.decode()
        return self._string(value, key) if isinstance(value, str) else value

    def _string(self, value: str, key: str) -> Any:
        if key in ("do", "gone"):
            return self.text(value)
        if "cursor" in key or key in ("span_id", "ETag"):
            return value if len(value) < SHORT else f"<{key}>"
        if value[:1] in ("[", "{"):
            try:
                return {"<json>": self.value(json.loads(value))}
            except ValueError:
                pass
        if len(value) > LONGEST and not KEPT.match(value):
            value = f"{value[:20]}<{len(value)} characters>"
        return self.text(value if KEPT.match(value) or not SENTENCE.search(value) else "<text>")

    def text(self, text: str) -> str:
        for known, name in self._names.items():
            text = text.replace(known, f"<{name}>")
        text = DAY.sub("<day>", text)
        return RANDOM.sub(lambda found: self._number(found[0]), text)

    def _number(self, found: str) -> str:
        kind = KINDS.match(found)
        return self._met.setdefault(found, f"<{kind[0] if kind else 'random'} {len(self._met) + 1}>")


def since(before: Any, now: Any, about: str) -> Any:
    """Return what has changed of a document since it was met before, or the whole document if it is new or small."""
    if not isinstance(before, dict) or not isinstance(now, dict) or len(now) < LARGE:
        return now
    changed = {name: value for name, value in now.items() if name not in before or before[name] != value}
    gone = sorted(before.keys() - now.keys())
    return {"(as before)": [about, len(now) - len(changed)], **changed, **({"gone": gone} if gone else {})}


def pretty(value: Any, indent: int = 0) -> str:
    """Return JSON with as much on a line as fits."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    pairs = value.items() if isinstance(value, dict) else (("", one) for one in value)
    names = (f"{json.dumps(name, ensure_ascii=False)}: " if isinstance(value, dict) else "" for name, _ in pairs)
    values = value.values() if isinstance(value, dict) else value
    lines = [""]
    for part in (name + pretty(one, indent + 1) for name, one in zip(names, values, strict=True)):
        fits = "\n" not in part and not lines[-1].endswith("\n") and len(lines[-1]) + len(part) + indent < WIDTH
        if lines[-1] and fits and "\n" not in lines[-1]:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    inner = ",\n".join(f"{' ' * (indent + 1)}{one}" for one in lines[1:])
    left, right = "{}" if isinstance(value, dict) else "[]"
    return f"{left}\n{inner}\n{' ' * indent}{right}"


def write(name: str, document: Any) -> None:
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{name}.json").write_text(pretty(document) + "\n")


def read(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text())


def differences(recorded: Any, found: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each place in which two documents differ."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        for name in sorted(recorded.keys() | found.keys()):
            if name not in found:
                yield f"{path}/{name}: missing, was {_short(recorded[name])}"
            elif name not in recorded:
                yield f"{path}/{name}: new: {_short(found[name])}"
            else:
                yield from differences(recorded[name], found[name], f"{path}/{name}")
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for place, (old, new) in enumerate(zip(recorded, found, strict=True)):
            does = f" ({new['do']})" if isinstance(new, dict) and "do" in new else ""
            yield from differences(old, new, f"{path}[{place}]{does}")
    elif type(recorded) is not type(found) or recorded != found:
        yield f"{path}: was {_short(recorded)}, is {_short(found)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"


def plain(document: Any) -> Any:
    """Return a document as it would be read from its file."""
    return json.loads(json.dumps(document))
