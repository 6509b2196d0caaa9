"""Store the entries of an export that are no records: blobs, limits, gates, rates, events, tokens and signing keys.

Each function returns whether the entry is new here. It raises BadEntry for one that cannot be stored, and never
replaces a value that this stage has already.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from onthedot.access.signing_store import keys_of
from onthedot.domain.access import is_name, token_problems
from onthedot.domain.errors import OnthedotError
from onthedot.domain.gates.limits import GateLimits, TenantLimits, problems
from onthedot.domain.gates.names import GateId
from onthedot.domain.gates.state import GateChange
from onthedot.domain.transfer.entries import Entry, EntryKind
from onthedot.gates.limit_store import DAMAGED, limits_of
from onthedot.ports import Engine, Principal, Token
from onthedot.schema import BLOBS
from onthedot.use_cases.gates.put_gate import name_problems

Content = Mapping[str, Any]
_DAMAGED: Final = (*DAMAGED, binascii.Error)


class BadEntry(OnthedotError):
    """The entry cannot be stored here: a value of it is wrong, or this stage has another one."""


class Storing(Protocol):
    """Stores one kind of entry."""

    def __call__(self, engine: Engine, entry: Entry, *, dry_run: bool) -> bool: ...


def _guarded(store: Storing) -> Storing:
    """Return the function with every fault of the content as BadEntry."""

    def guarded(engine: Engine, entry: Entry, *, dry_run: bool) -> bool:
        try:
            return store(engine, entry, dry_run=dry_run)
        except _DAMAGED as error:
            raise BadEntry(f"its content cannot be read: {type(error).__name__}: {error}"[:300]) from error

    return guarded


def _blob(engine: Engine, entry: Entry, *, dry_run: bool) -> bool:
    key, blob = entry.id, base64.b64decode(entry.content["base64"], validate=True)
    if not key.startswith(BLOBS):
        raise BadEntry("its id is not the key of a payload or a result")
    if engine.blobs.get(key) == blob:
        return False
    if not dry_run:
        engine.blobs.put(key, blob)
    return True


def _limits(engine: Engine, entry: Entry, *, dry_run: bool) -> bool:
    content = entry.content
    tenant, limits = _tenant(content), limits_of(TenantLimits, content["limits"])
    _check_limits(limits)
    return _put_new(
        engine.limits.find(tenant), limits, lambda: engine.limits.put(tenant, limits), "limits", dry_run=dry_run
    )


def _gate(engine: Engine, entry: Entry, *, dry_run: bool) -> bool:
    content = entry.content
    tenant, name = _tenant(content), str(content["name"])
    limits = limits_of(GateLimits, content["limits"])
    if found := name_problems(name):
        raise BadEntry(f"its name {found[0].message}")
    _check_limits(limits)
    return _put_new(
        engine.gates.find(tenant, name),
        limits,
        lambda: engine.gates.put(tenant, name, limits),
        "limits for this gate",
        dry_run=dry_run,
    )


def _rate(engine: Engine, entry: Entry, *, dry_run: bool) -> bool:
    content = entry.content
    gate, next_start = GateId.read(content["gate"]), int(content["next_start"])
    state = engine.gates.read(gate)
    if (state.next_start or 0) >= next_start:
        return False
    if not dry_run:
        engine.gates.change(gate, GateChange({"next_start": state.next_start}, sets={"next_start": next_start}))
    return True


def _event(engine: Engine, entry: Entry, *, dry_run: bool) -> bool:
    content = entry.content
    values = (_tenant(content), str(content["digest"]), int(content["time"]), int(content["expires_at"]))
    return dry_run or engine.patterns.remember(*values)


def _token(engine: Engine, entry: Entry, *, dry_run: bool) -> bool:
    content = entry.content
    who = Principal(content["tenant"], content["role"], content["name"])
    if found := token_problems(who.tenant, who.role, who.name):
        raise BadEntry(f"its {found[0].field} {found[0].message}")
    expiry = content.get("expires_at")
    token = Token(content["id"], who, int(content["created_at"]), None if expiry is None else int(expiry))
    token_hash = str(content["token_hash"])
    return _put_new(
        engine.tokens.find(token_hash), token, lambda: engine.tokens.add(token_hash, token), "token", dry_run=dry_run
    )


def _signing(engine: Engine, entry: Entry, *, dry_run: bool) -> bool:
    content = entry.content
    tenant, keys = _tenant(content), keys_of(content["keys"])
    present = tuple(engine.signing.keys(tenant))
    return _put_new(
        present or None, keys, lambda: engine.signing.replace(tenant, (), keys), "signing keys", dry_run=dry_run
    )


def _put_new(present: Any, wanted: Any, put: Callable[[], object], what: str, *, dry_run: bool) -> bool:
    """Store a value unless it is there. Raise BadEntry when this stage has another value."""
    if present == wanted:
        return False
    if present is not None:
        raise BadEntry(f"this stage has other {what} already")
    if not dry_run:
        put()
    return True


def _tenant(content: Content) -> str:
    tenant = str(content["tenant"])
    if not is_name(tenant):
        raise BadEntry("its tenant is not the name of a tenant")
    return tenant


def _check_limits(limits: GateLimits) -> None:
    for problem in problems(limits):
        raise BadEntry(f"its {problem.field} {problem.message}")


STORE_SETTING: Final[Mapping[EntryKind, Storing]] = {
    EntryKind.BLOB: _guarded(_blob),
    EntryKind.LIMITS: _guarded(_limits),
    EntryKind.GATE: _guarded(_gate),
    EntryKind.RATE: _guarded(_rate),
    EntryKind.EVENT: _guarded(_event),
    EntryKind.TOKEN: _guarded(_token),
    EntryKind.SIGNING: _guarded(_signing),
}
