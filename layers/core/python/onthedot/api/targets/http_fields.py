"""The fields of an HTTP target. The rules are those of `domain.targets`, which workers apply too.

pydantic does not check the limits. The schema only states them, and the rules check them, so that the API and a worker
refuse with the same message.
"""

from typing import Annotated

from pydantic import AfterValidator, Field

from onthedot.domain.targets import header_rules, http_rules
from onthedot.domain.targets.http_rules import Method

__all__ = ["Headers", "Method", "Url"]


def _checked(headers: dict[str, str]) -> dict[str, str]:
    header_rules.check_headers(headers)
    return headers


Url = Annotated[str, Field(json_schema_extra={"maxLength": http_rules.MAX_URL}), AfterValidator(http_rules.check_url)]
HeaderName = Annotated[str, AfterValidator(header_rules.check_header_name)]
HeaderValue = Annotated[str, AfterValidator(header_rules.check_header_value)]
Headers = Annotated[
    dict[HeaderName, HeaderValue],
    Field(json_schema_extra={"maxProperties": header_rules.MAX_HEADERS}),
    AfterValidator(_checked),
]
