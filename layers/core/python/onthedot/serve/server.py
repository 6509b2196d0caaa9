"""Put the parts of a server together, and run them until a signal comes."""

import ipaddress
import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from onthedot.access.ports import Principal, Token
from onthedot.access.tokens import authenticate, create_token, token_hash
from onthedot.core.clock import SystemClock
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Performer
from onthedot.engine import Engine
from onthedot.serve.app import App
from onthedot.serve.home import BadPlace, ServeHome
from onthedot.serve.http_server import HttpServer, leave_at_signals, listen
from onthedot.serve.recovery import Recovery
from onthedot.serve.ticks import Ticks
from onthedot.serve.worker import PREFIX, EmbeddedWorker
from onthedot.targets.router import TargetRouter
from onthedot.targets.rules import AllowList
from onthedot.wiring.embedded import BadFile, Database, Embedded, embedded, owned_database, server_deployment
from onthedot.worker import target_factories

_LOG: Final = logging.getLogger(__name__)
LOCAL_USER: Final = Principal(tenant="local", role="admin", name="serve")
_CPUS: Final = 1.0
_MEMORY_MB: Final = 1024
_STORAGE_MB: Final = 1024


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of a server."""

    home: ServeHome
    host: str
    port: int
    concurrency: int
    grace: float
    token: str | None
    """The token of the admin. None: the one of the last start, or a new one."""
    targets: target_factories.TargetOptions
    allow_list: AllowList


@dataclass(frozen=True, slots=True)
class Ready:
    """A server that answers."""

    url: str
    token: str


def serve(options: ServeOptions, on_ready: Callable[[Ready], None]) -> None:
    """Run a server until a signal comes. Raise BadPlace when its data or its port cannot be used."""
    with ExitStack() as stack:
        options.home.prepare()
        listener = stack.enter_context(_listening(options))
        clock = ServerClock()
        made = _engine_factories(options)
        deployment = server_deployment(
            [*target_factories.factories(options.targets, clock), *made, "workflow"],
            options.allow_list,
            cpus=_CPUS,
            memory_mb=_MEMORY_MB,
            storage_mb=_STORAGE_MB,
        )
        database = stack.enter_context(_database(options))
        parts = embedded(database, clock, deployment)
        stack.callback(parts.close)
        clock.keep_awake(parts.writer.thread)
        token = _token(parts.engine, options)
        worker_id = _worker_id()
        performer = _performer(parts.engine, options, made)
        worker = EmbeddedWorker(parts, performer, worker_id, options.concurrency, options.targets.app)
        ready = Ready(_url(options.host, listener), token)
        app = App(parts, ready.url)
        server = HttpServer(app, partial(_ready, options, ready, on_ready), app.end_waits, app)
        with _working(parts, worker, Recovery(parts, worker_id), options.grace):
            server.serve_on(listener)
            leave_at_signals()
            app.close()


@contextmanager
def _working(parts: Embedded, worker: EmbeddedWorker, recovery: Recovery, grace: float) -> Iterator[None]:
    """Start all threads, and end them in order: first what begins work, last what stores it."""
    recovery.start()
    ticks = Ticks(parts)
    worker.start()
    ticks.start()
    try:
        yield
    finally:
        recovery.stop()
        ticks.stop()
        worker.stop(grace)


def _ready(options: ServeOptions, ready: Ready, on_ready: Callable[[Ready], None]) -> None:
    options.home.describe(ready.url, ready.token)
    on_ready(ready)


def _listening(options: ServeOptions) -> socket.socket:
    try:
        return listen(options.host, options.port)
    except (OSError, OverflowError) as error:
        place = f"{options.host}:{options.port}"
        why = getattr(error, "strerror", None) or str(error)
        raise BadPlace(f"cannot listen on {place}: {why}; choose another port with --port or ONTHEDOT_PORT") from error


@contextmanager
def _database(options: ServeOptions) -> Iterator[Database]:
    with ExitStack() as stack:
        try:
            database = stack.enter_context(owned_database(options.home.data))
        except BadFile as error:
            raise BadPlace(str(error)) from error
        try:
            yield database
        except Unavailable as error:
            # A part of the file that the start needs cannot be read or written.
            raise BadPlace(f"{options.home.data} cannot be served: {error}") from error


def _engine_factories(options: ServeOptions) -> Mapping[str, Callable[[Engine], Callable[[], Performer]]]:
    """Return the factories of targets that need the engine: calls of AWS, where the allow-list has some."""
    allowed = options.allow_list
    if not (allowed.functions or allowed.calls):
        return {}

    def factory(kind: str, engine: Engine) -> Callable[[], Performer]:
        from onthedot.wiring.workers import aws_factories  # noqa: PLC0415 - needs the AWS packages

        return aws_factories(engine, "")[kind]

    return {kind: partial(factory, kind) for kind in ("lambda", "aws")}


def _performer(
    engine: Engine, options: ServeOptions, made: Mapping[str, Callable[[Engine], Callable[[], Performer]]]
) -> TargetRouter:
    return TargetRouter(
        {
            **target_factories.factories(options.targets, engine.clock),
            **target_factories.engine_factories(engine),
            **{kind: factory(engine) for kind, factory in made.items()},
        }
    )


def _token(engine: Engine, options: ServeOptions) -> str:
    """Return the admin's token: the one that was asked for, the one of the last start, or a new one."""
    if options.token is not None:
        if engine.tokens.find(token_hash(options.token)) is None:
            identity = f"tok_{token_hash(options.token)[:12]}"
            engine.tokens.add(token_hash(options.token), Token(identity, LOCAL_USER, engine.clock.now(), None))
        return options.token
    before = options.home.token()
    if before is not None:
        principal = authenticate(engine.tokens, f"Bearer {before}")
        if principal is not None and principal.role == LOCAL_USER.role:
            return before
    return create_token(engine.tokens, engine.clock, LOCAL_USER)[0]


def _worker_id() -> str:
    return f"{PREFIX}{os.getpid()}-{uuid.uuid4().hex[:8]}"


def _url(host: str, listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a server at this host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class ServerClock(SystemClock):
    """The clock of the machine. One thread, the writer, must not sleep by it, because all others wait for it."""

    def __init__(self) -> None:
        self._awake: threading.Thread | None = None

    def keep_awake(self, thread: threading.Thread) -> None:
        """Refuse sleep to this thread."""
        self._awake = thread

    def sleep_until(self, instant: int) -> None:
        """Sleep, and return at or after the instant. Raise RuntimeError in the thread that must not sleep."""
        if instant > self.now() and threading.current_thread() is self._awake:
            raise RuntimeError("an operation of the writer thread must not sleep")
        super().sleep_until(instant)
