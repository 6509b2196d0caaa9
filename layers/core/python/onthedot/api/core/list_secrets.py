"""The secrets that sign the cursors of a tenant's lists."""

from onthedot.api.core.route import RequestContext
from onthedot.use_cases.access.signing_keys import keys_of


def list_secret(context: RequestContext, what: str, filters: str) -> str:
    """Return the secret for pages of a list: the tenant's signing key, which viewers do not see, and the filters.

    Cursors become invalid when the tenant rotates the key.
    """
    return f"{keys_of(context.engine, context.tenant)[0].secret}/{what}/{filters}"
