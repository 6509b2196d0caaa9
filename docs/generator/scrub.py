"""Replace values that are random in each run by fixed ones, so that a page changes only when the API does."""

import base64
import hashlib
import re
from typing import Any, Final

_RANDOM: Final = re.compile(
    r"(?P<prefix>\bjob_|\bworker_|\bfrz_|-manual-|\btok_(?=[\w-]{12}))"
    r"(?P<random>(?<=\btok_)[\w-]{12}|(?<!\btok_)[a-z0-9]{12,26}(?![a-z0-9]))"
    r"|\b(?P<hex>(?!00177)[0-9a-f]{16,64})\b"
)
_SECRET: Final = {"token": "otd_…", "secret": "whsec_…", "receipt": "…", "webhook-signature": "v1,…"}
"""The fields whose values are secrets, with the text that stands for them."""


class Scrub:
    """A stand-in for each random value, by the order in which the values are met."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def value(self, value: Any) -> Any:
        """Return a JSON value with fixed stand-ins for ids and secrets."""
        match value:
            case dict():
                return {key: self._field(key, each) for key, each in value.items()}
            case list():
                return [self.value(each) for each in value]
            case str():
                return self.text(value)
        return value

    def _field(self, key: str, value: Any) -> Any:
        return _SECRET[key] if value and key in _SECRET else self.value(value)

    def text(self, text: str) -> str:
        """Return a text with fixed stand-ins for ids."""
        return _RANDOM.sub(self._stand_in, text)

    def _stand_in(self, found: re.Match[str]) -> str:
        known = self._known
        if found[0] not in known:
            digest = hashlib.sha256(str(len(known)).encode()).digest()
            letters = base64.b32encode(digest).decode().lower()[: len(found["random"] or "")]
            known[found[0]] = f"{found['prefix']}{letters}" if found["prefix"] else digest.hex()[: len(found[0])]
        return known[found[0]]
