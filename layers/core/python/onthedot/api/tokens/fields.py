"""Models of the requests about API tokens."""

from typing import Annotated, Literal

from pydantic import Field

from onthedot.api.core.body import read_object
from onthedot.api.core.fields import CalendarInstant, Fields, PageQuery
from onthedot.api.core.reading import SMALL_BODY, read_without_nulls
from onthedot.domain.access import LONGEST_NAME
from onthedot.ports import Principal

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class TokenFields(Fields):
    """A new token."""

    tenant: Annotated[Name, Field(description="the tenant whose jobs it is for")]
    role: Literal["admin", "operator", "viewer", "worker"]
    name: Annotated[Name, Field(description="its owner or its purpose")]
    expires_at: Annotated[
        CalendarInstant | None, Field(description="from then on it is not valid (it is valid until it is revoked)")
    ] = None

    @property
    def principal(self) -> Principal:
        """The caller that the token stands for."""
        return Principal(self.tenant, self.role, self.name)


class TokensQuery(PageQuery):
    """The query of the list of tokens."""

    tenant: Annotated[Name | None, Field(description="only the tokens of this tenant")] = None


def read_token(body: bytes) -> TokenFields:
    """Return the new token in a body. Raise ApiError or InvalidRequest."""
    return read_without_nulls(TokenFields, read_object(body, SMALL_BODY))
