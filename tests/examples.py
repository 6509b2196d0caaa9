"""Values for each field of a job, from the table of fields: some that the API takes, and some that it refuses."""

from typing import Any

from onthedot.jobs import forms
from onthedot.jobs.spec import Change, Field


def good(field: Field) -> list[Any]:
    """Return different values, in JSON. Their bounds are those of the form."""
    return list(field.examples[:2]) if field.examples else _good(field.form)


def bad(field: Field) -> list[Any]:
    return [*([field.examples[2]] if field.examples else []), *_bad(field.form)]


def _good(form: forms.Form) -> list[Any]:  # noqa: C901, PLR0911 - one line for each form
    match form:
        case forms.Text():
            return ["ü" * form.most, "x" * max(form.least, 1)]
        case forms.Whole():
            return [form.least, form.least + 7 if form.most is None else form.most]
        case forms.Number():
            return [form.least, form.least + 0.5, *([] if form.most is None else [form.most])]
        case forms.Switch():
            return [True, False]
        case forms.Choice():
            return list(form.words)
        case forms.Names():
            return [["b", "a"], ["c"]]
        case forms.Instant():
            return ["2027-01-31T09:30:00.000Z", "2028-02-29T00:00:00.001Z"]
        case forms.Parts():
            each = [{part.name: value} for part in form.parts for value in good(part)]
            return [{part.name: good(part)[0] for part in form.parts}, *each]
    raise AssertionError(f"{form} has no values of its own: give examples in the table")


def _bad(form: forms.Form) -> list[Any]:  # noqa: C901, PLR0911 - one line for each form
    match form:
        case forms.Text():
            return [3, ["a"], "x" * (form.most + 1), *([""] if form.least else [])]
        case forms.Whole():
            return [
                "5",
                True,
                form.least + 0.5,
                form.least - 1,
                *([] if form.most is None else [form.most + 1, 10**400]),
            ]
        case forms.Number():
            return ["5", True, form.least - 1, 10**400, *([] if form.most is None else [form.most + 1, 1e300])]
        case forms.Switch():
            return ["yes", 1]
        case forms.Choice():
            return ["nonsense", 1]
        case forms.Names():
            return ["a", [1], ["a"] * (form.most + 1)]
        case forms.Tags():
            return [["a"], {"a": 1}, {str(n): "" for n in range(form.most + 1)}]
        case forms.Instant():
            return ["tomorrow", -1, True, []]
        case forms.Parts():
            return [5, {"colour": 1}, *({part.name: value} for part in form.parts for value in bad(part))]
    return []


def in_code(field: Field, value: Any) -> Any:
    """Return a value as code works with it."""
    if isinstance(field.form, forms.Parts) and field.change is Change.MERGE:
        return {part.name: part.form.read(value[part.name]) for part in field.form.parts if part.name in value}
    return field.form.read(value)


def shown(field: Field, value: Any, before: Any) -> Any:
    """Return what an answer shows of a value that was sent, when it showed `before`."""
    match field.form:
        case forms.Parts() as form:
            kept = before if field.change is Change.MERGE else field.form.show(form.kind())
            return {**kept, **value}
        case forms.Names(in_order=False):
            return sorted(value)
    return value
