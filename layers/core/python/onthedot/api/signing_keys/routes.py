"""The keys that sign a tenant's calls: for those who check the signatures, and who change the keys."""

from typing import Annotated, Final

from pydantic import Field

from onthedot.api.core.fields import Fields
from onthedot.api.core.reading import read_fields
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.workers import show as present_workers
from onthedot.api.workers import views as worker_views
from onthedot.use_cases.access.signing_keys import keys_of, rotate_keys

LEAST_OVERLAP_SECONDS: Final = 120
MAX_OVERLAP_SECONDS: Final = 30 * 86_400


class RotateFields(Fields):
    """The key before goes on for the overlap. Workers remember keys for a minute, so it is two at least."""

    overlap_seconds: Annotated[int, Field(ge=LEAST_OVERLAP_SECONDS, le=MAX_OVERLAP_SECONDS)] = 86_400


def show_signing_keys(context: RequestContext) -> worker_views.SigningKeysView:
    return present_workers.signing_keys_view(keys_of(context.engine, context.tenant))


def rotate_signing_keys(context: RequestContext) -> worker_views.SigningKeysView:
    overlap_ms = read_fields(RotateFields, context.request.body).overlap_seconds * 1000
    return present_workers.signing_keys_view(rotate_keys(context.engine, context.tenant, overlap_ms))


ROUTES: Final = (
    Route(
        "GET",
        "/v1/signing-keys",
        show_signing_keys,
        "The keys that sign your HTTP calls, the newest first",
        worker_views.SigningKeysView,
        is_secret=True,
    ),
    Route(
        "POST",
        "/v1/signing-keys/rotate",
        rotate_signing_keys,
        "Sign with a new key; the one before goes on beside it for a while",
        worker_views.SigningKeysView,
        body=RotateFields,
        body_may_be_left_out=True,
        is_secret=True,
        errors=(400, 413, 422),
    ),
)
