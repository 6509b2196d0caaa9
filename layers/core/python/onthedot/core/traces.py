"""Traces by the W3C recommendation Trace Context: one trace from the API call over the run to the call of its target.

A *trace* is stored and sent as text: trace id, id of the caller's span, and flags, as in the header `traceparent`, but
without the version. A run without a stored trace has one of its own, made from its id. So it costs no bytes, and every
part finds the same one. Each attempt is a span whose id is made from the run and the attempt's number.
"""

import hashlib
import re
import secrets
from typing import Final

HEADER: Final = "traceparent"
SAMPLED: Final = "01"
"""The flag of a trace that onthedot makes. Without it, many targets would record nothing of the call."""
_VERSION: Final = "00"
_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_ROOT: Final = re.compile(r"(?:^|;)\s*Root=1-([0-9a-f]{8})-([0-9a-f]{24})", re.ASCII)
_PARENT: Final = re.compile(r"(?:^|;)\s*Parent=([0-9a-f]{16})", re.ASCII)


def read_traceparent(header: str | None) -> str | None:
    """Return the trace of a header. None if there is none, or if it is not valid: then a new trace begins."""
    match = _TRACEPARENT.fullmatch((header or "").strip())
    if match is None:
        return None
    version, trace_id, span_id, flags, more = match.groups()
    is_known = version != "ff" and not (version == _VERSION and more)
    if not is_known or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return f"{trace_id}-{span_id}-{int(flags, 16) & 1:02x}"


def read_xray(text: str | None) -> str | None:
    """Return the trace of an X-Ray header, such as `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=…`, or None.

    Its flag counts only for X-Ray, which does not sample while it is off.
    """
    root, parent = _ROOT.search(text or ""), _PARENT.search(text or "")
    if root is None:
        return None
    span_id = secrets.token_hex(8) if parent is None else parent[1]
    return f"{root[1]}{root[2]}-{span_id}-{SAMPLED}"


def fresh_trace() -> str:
    return f"{secrets.token_hex(16)}-{secrets.token_hex(8)}-{SAMPLED}"


def trace_of(run_id: str, stored: str | None) -> str:
    return stored or f"{_hash('trace', run_id)[:32]}-{_hash('span', run_id)[:16]}-{SAMPLED}"


def trace_id_of(run_id: str, stored: str | None) -> str:
    return trace_of(run_id, stored).split("-")[0]


def span_id_of(run_id: str, attempt: int) -> str:
    return _hash("attempt", f"{run_id}/{attempt}")[:16]


def traceparent(run_id: str, stored: str | None, attempt: int) -> str:
    trace_id, _, flags = trace_of(run_id, stored).split("-")
    return f"{_VERSION}-{trace_id}-{span_id_of(run_id, attempt)}-{flags}"


def _hash(purpose: str, text: str) -> str:
    return hashlib.sha256(f"{purpose}:{text}".encode()).hexdigest()
