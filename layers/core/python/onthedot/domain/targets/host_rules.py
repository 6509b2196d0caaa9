"""The rules for hosts and ports in URLs and gRPC addresses.

These rules read the text only. Whether the addresses of a host may be called is decided by `targets.addresses`, after
the performer has resolved the name.
"""

import re
from ipaddress import IPv6Address
from typing import Final

_AUTHORITY: Final = re.compile(r"(?P<host>\[.*\]|[^:]*)(:(?P<port>.*))?")
_NAME: Final = re.compile(r"(?=.{1,253}\.?\Z)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_PORT: Final = re.compile(r"0*[0-9]{1,5}", re.ASCII)


def split_authority(authority: str) -> tuple[str, str]:
    """Split `host:port` into its two texts, either of which may be empty or invalid."""
    match = _AUTHORITY.fullmatch(authority)
    return (match["host"], match["port"] or "") if match else ("", "")


def is_host(host: str) -> bool:
    """Return whether the text is a name, an IPv4 address, or an IPv6 address in brackets and without a zone.

    Other spellings of IPv4 addresses (`127.1`, `0x7f000001`) are names here. The operating system resolves them, and
    the resulting address is checked.
    """
    if not (host.startswith("[") and host.endswith("]")):
        return _NAME.fullmatch(host) is not None
    try:
        return IPv6Address(host[1:-1]).scope_id is None
    except ValueError:
        return False


def port_number(text: str) -> int | None:
    """Return the port, or None when the text is not a number from 1 to 65535."""
    if not _PORT.fullmatch(text) or not 0 < int(text) < 65_536:
        return None
    return int(text)
