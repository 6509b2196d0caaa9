"""The kinds of entries that are no runs: how each is read from its item, and stored where it is not there yet."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from onthedot.access.ports import Principal, Token
from onthedot.access.signing_store import keys_of
from onthedot.access.tokens import is_name, token_problems
from onthedot.core.errors import OnthedotError
from onthedot.core.gate_names import GateId
from onthedot.core.items import EXPIRES_AT, Item
from onthedot.core.schema import (
    EVENT_PREFIX,
    GATE_PREFIX,
    GATES_PREFIX,
    LIMITS_PARTITION,
    SIGNING_PREFIX,
    TENANT_PREFIX,
    TOKEN_PREFIX,
    gate_name_of,
    gate_of,
)
from onthedot.engine import Engine
from onthedot.gates.limit_store import limits_of
from onthedot.gates.limits import GateLimits, TenantLimits, problems
from onthedot.gates.manage import name_problems
from onthedot.gates.state import GateChange
from onthedot.gates.state_store import NEXT_START
from onthedot.transfer.entries import BLOB, FORMAT, RECORD, Entry

Content = Mapping[str, Any]
Read = tuple[str, Content] | None
"""The id and the content of an entry. None: an export does not have the item."""
Store = Callable[[], object]
"""Stores an entry. It returns False if another call has stored it meanwhile."""
_FIRST_PAGE: Final = "0"


class BadEntry(OnthedotError):
    """The entry cannot be stored here: a value of it is wrong, or this stage has another one."""


class Kind(NamedTuple):
    prefix: str
    """How the partitions of its items begin."""
    read: Callable[[Item], Read]
    store: Callable[[Engine, Content], Store | None]
    """None: it is there already."""
    is_secret: bool = False
    """Whether it is exported only if asked."""


def _read_limits(item: Item) -> Read:
    # Earlier versions stored marks of throttled tenants beside the items that have this prefix.
    if not item.key.sort.startswith(TENANT_PREFIX):
        return None
    tenant = item.key.sort.removeprefix(TENANT_PREFIX)
    return tenant, {"tenant": tenant, "limits": _text(item, "limits")}


def _store_limits(engine: Engine, content: Content) -> Store | None:
    tenant, limits = _tenant(content), limits_of(TenantLimits, content["limits"])
    _check_limits(limits)
    return _if_new(engine.limits.find(tenant), limits, partial(engine.limits.put, tenant, limits), "limits")


def _read_gate(item: Item) -> Read:
    tenant, name = item.key.partition.removeprefix(GATES_PREFIX), gate_name_of(item.key)
    return f"{tenant}/{name}", {"tenant": tenant, "name": name, "limits": _text(item, "limits")}


def _store_gate(engine: Engine, content: Content) -> Store | None:
    tenant, name = _tenant(content), str(content["name"])
    limits = limits_of(GateLimits, content["limits"])
    if found := name_problems(name):
        raise BadEntry(f"its name {found[0].message}")
    _check_limits(limits)
    put = partial(engine.gates.put, tenant, name, limits)
    return _if_new(engine.gates.find(tenant, name), limits, put, "limits for this gate")


def _read_rate(item: Item) -> Read:
    gate, started = gate_of(item.key), item.values.get(NEXT_START)
    if gate is None or started is None or item.key.sort != _FIRST_PAGE:
        return None
    return gate, {"gate": gate, "next_start": started}


def _store_rate(engine: Engine, content: Content) -> Store | None:
    gate, next_start = GateId.read(content["gate"]), int(content["next_start"])
    state = engine.gates.read(gate)
    if (state.next_start or 0) >= next_start:
        return None
    change = GateChange({"next_start": state.next_start}, sets={"next_start": next_start})
    return partial(engine.gates.change, gate, change)


def _read_event(item: Item) -> Read:
    # The text of a gate is made of a tenant and a name in the same way.
    event = GateId.read(item.key.partition.removeprefix(EVENT_PREFIX))
    about = {"tenant": event.tenant, "digest": event.name}
    return event.name, {**about, "time": item.values.get("event_time"), "expires_at": item.values.get(EXPIRES_AT)}


def _store_event(engine: Engine, content: Content) -> Store | None:
    values = (_tenant(content), str(content["digest"]), int(content["time"]), int(content["expires_at"]))
    return partial(engine.patterns.remember, *values)


def _read_signing(item: Item) -> Read:
    tenant = item.key.partition.removeprefix(SIGNING_PREFIX)
    return tenant, {"tenant": tenant, "keys": _text(item, "keys")}


def _store_signing(engine: Engine, content: Content) -> Store | None:
    tenant, keys = _tenant(content), keys_of(content["keys"])
    present = tuple(engine.signing.keys(tenant))
    return _if_new(present or None, keys, partial(engine.signing.replace, tenant, (), keys), "signing keys")


def _read_token(item: Item) -> Read:
    token_hash = item.key.partition.removeprefix(TOKEN_PREFIX)
    about = {name: _text(item, name) for name in ("tenant", "role", "name")}
    # A token that an earlier version made has no id.
    about |= {"token_hash": token_hash, "id": _text(item, "id") or f"tok_{token_hash[:12]}"}
    expiry = item.values.get("valid_until")
    times = {"created_at": item.values.get("token_created_at"), **({} if expiry is None else {"expires_at": expiry})}
    return about["id"], {**about, **times}


def _store_token(engine: Engine, content: Content) -> Store | None:
    who = Principal(content["tenant"], content["role"], content["name"])
    if found := token_problems(who.tenant, who.role, who.name):
        raise BadEntry(f"its {found[0].field} {found[0].message}")
    expiry = content.get("expires_at")
    token = Token(content["id"], who, int(content["created_at"]), None if expiry is None else int(expiry))
    token_hash = str(content["token_hash"])
    return _if_new(engine.tokens.find(token_hash), token, partial(engine.tokens.add, token_hash, token), "token")


KINDS: Final[Mapping[str, Kind]] = {
    "limits": Kind(LIMITS_PARTITION, _read_limits, _store_limits),
    "gate": Kind(GATES_PREFIX, _read_gate, _store_gate),
    "rate": Kind(GATE_PREFIX, _read_rate, _store_rate),
    "event": Kind(EVENT_PREFIX, _read_event, _store_event),
    "signing": Kind(SIGNING_PREFIX, _read_signing, _store_signing, is_secret=True),
    "token": Kind(TOKEN_PREFIX, _read_token, _store_token, is_secret=True),
}
"""By name. A rate is the last start at a gate with a rate. An event is the id of a received one, as a hash."""


def from_json(line: Any) -> Entry:
    """Return the entry that `to_json` made. Raise ValueError with a sentence for anything else."""
    if not isinstance(line, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - callers expect one error
    if line.get("format") != FORMAT:
        raise ValueError(f"its format is {line.get('format')!r}, and this version knows format {FORMAT}")
    if line.get("kind") not in (RECORD, BLOB, *KINDS):
        raise ValueError(f"its kind {line.get('kind')!r} is unknown")
    if not isinstance(line.get("id"), str) or not isinstance(line.get("content"), dict):
        raise ValueError("its id or its content is missing")  # noqa: TRY004 - as above
    return Entry(line["kind"], line["id"], line["content"])


def _text(item: Item, name: str) -> str:
    return str(item.values.get(name, ""))


def _if_new(present: object, wanted: object, store: Store, what: str) -> Store | None:
    """Return None if this stage has the value already. Raise BadEntry when it has another one."""
    if present == wanted:
        return None
    if present is not None:
        raise BadEntry(f"this stage has other {what} already")
    return store


def _tenant(content: Content) -> str:
    tenant = str(content["tenant"])
    if not is_name(tenant):
        raise BadEntry("its tenant is not the name of a tenant")
    return tenant


def _check_limits(limits: GateLimits) -> None:
    for problem in problems(limits):
        raise BadEntry(f"its {problem.field} {problem.message}")
