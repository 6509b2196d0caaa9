"""Routes of signing keys: show them and rotate them."""

from typing import Final

from onthedot.api.core.reading import read_body
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.signing_keys.fields import RotateFields
from onthedot.api.signing_keys.show import signing_keys_view
from onthedot.api.signing_keys.views import SigningKeysView
from onthedot.use_cases.access.signing_keys import keys_of, rotate_keys


def show_signing_keys(context: RequestContext) -> SigningKeysView:
    """Answer the tenant's keys."""
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
        "Sign with a new key; the old one goes on signing beside it for a while",
        SigningKeysView,
        body=RotateFields,
        body_may_be_left_out=True,
        is_secret=True,
        errors=(400, 413, 422),
    ),
)
