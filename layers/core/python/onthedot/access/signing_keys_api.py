"""Signing keys: show and rotate them."""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field
from typing_extensions import TypedDict

from onthedot.access.signing_keys import keys_of, rotate_keys
from onthedot.api.fields import Fields
from onthedot.api.reading import read_body
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import show_time
from onthedot.core.clock import format_instant
from onthedot.targets.webhooks import SigningKey

LEAST_OVERLAP_SECONDS: Final = 120
"""Workers remember keys for a minute, so the old key must sign for longer than that."""
MAX_OVERLAP_SECONDS: Final = 30 * 86_400


class RotateFields(Fields):
    """A request to rotate the keys. The API makes a new key at once. The old key also signs until the overlap ends."""

    overlap_seconds: Annotated[
        int,
        Field(ge=LEAST_OVERLAP_SECONDS, le=MAX_OVERLAP_SECONDS, description="how long the old key keeps signing"),
    ] = 86_400


# pydantic describes TypedDicts of `typing` only from Python 3.12 on.


class SigningKeyView(TypedDict):
    """A key. It stops signing at `retires_at`, which is null for the newest key."""

    secret: str
    created_at: str
    retires_at: str | None


class SigningKeysView(TypedDict):
    """The tenant's keys, the newest first. Each of them signs every call until it retires."""

    keys: list[SigningKeyView]


def signing_keys_view(keys: Sequence[SigningKey]) -> SigningKeysView:
    return {
        "keys": [
            {
                "secret": key.secret,
                "created_at": format_instant(key.created_at),
                "retires_at": show_time(key.retires_at),
            }
            for key in keys
        ]
    }


def show_signing_keys(context: RequestContext) -> SigningKeysView:
    return signing_keys_view(keys_of(context.engine, context.tenant))


def rotate_signing_keys(context: RequestContext) -> SigningKeysView:
    """Make a new key. The old key also signs until the overlap ends."""
    overlap_ms = read_body(RotateFields, context.request.body).overlap_seconds * 1000
    return signing_keys_view(rotate_keys(context.engine, context.tenant, overlap_ms))


ROUTES: Final = (
    Route(
        "GET",
        "/v1/signing-keys",
        show_signing_keys,
        "List the keys that sign your HTTP calls, the newest first",
        SigningKeysView,
        is_secret=True,
    ),
    Route(
        "POST",
        "/v1/signing-keys/rotate",
        rotate_signing_keys,
        "Sign with a new key; the old one keeps signing alongside it for a while",
        SigningKeysView,
        body=RotateFields,
        body_may_be_left_out=True,
        is_secret=True,
        errors=(400, 413, 422),
    ),
)
