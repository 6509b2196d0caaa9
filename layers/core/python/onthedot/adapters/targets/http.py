"""Performs HTTP callbacks: with the standard library alone, since a worker's cold start pays for every import."""

import socket
import ssl
from functools import cached_property
from http.client import HTTPException, IncompleteRead, RemoteDisconnected

from onthedot.adapters.targets.addresses import AddressError, Lookup, resolve
from onthedot.adapters.targets.http_reply import Reply, judge, printable, receive
from onthedot.adapters.targets.http_request import Request, RequestError, request_for
from onthedot.adapters.targets.http_wire import Countdown, Wire, connect, secure, tls_context
from onthedot.ports import Answer, Call, Clock, Target


class HttpCaller(Target):
    """Calls what an `HttpTarget` names. Safe to use from several threads.

    It connects only to addresses that passed the deny list, follows no redirect, uses no proxy, and reads no more
    of a reply than it keeps. The call's time-out covers everything from the resolution of the name to the last byte.
    With `allow_private` (a local stage) loopback and private addresses pass; metadata addresses never do.
    """

    def __init__(self, *, allow_private: bool, clock: Clock, resolve: Lookup = socket.getaddrinfo) -> None:
        self._allow_private = allow_private
        self._clock = clock
        self._lookup = resolve

    def perform(self, call: Call) -> Answer:
        """Make the call and judge the reply. Its time-out is kept; nothing the peer does raises."""
        countdown = Countdown(call.timeout_ms)
        try:
            reply = self._exchange(request_for(call), countdown)
        except (RequestError, AddressError) as error:
            return Answer(ok=False, error=str(error), retryable=False)
        except TimeoutError:
            return Answer(ok=False, error=f"timed out after {call.timeout_ms} ms while {countdown.stage}")
        except (OSError, HTTPException) as error:
            return Answer(ok=False, error=f"failed while {countdown.stage}: {_in_words(error)}")
        return judge(reply, self._clock.now())

    def _exchange(self, request: Request, countdown: Countdown) -> Reply:
        with Wire(self._open(request, countdown), countdown) as wire:
            countdown.stage = "sending the request"
            wire.send(request.content)
            countdown.stage = "reading the answer"
            return receive(wire, request.method)

    def _open(self, request: Request, countdown: Countdown) -> socket.socket:
        countdown.stage = f"resolving {request.host}"
        addresses = resolve(
            request.host,
            request.port,
            lookup=self._lookup,
            seconds=countdown.left(),
            allow_private=self._allow_private,
        )
        countdown.stage = f"connecting to {request.host} port {request.port}"
        sock = connect(addresses, request.port, countdown)
        if not request.secure:
            return sock
        countdown.stage = f"setting up TLS with {request.host}"
        return secure(sock, self._tls, request.tls_name, countdown)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return tls_context()


def _in_words(error: OSError | HTTPException) -> str:
    match error:
        case RemoteDisconnected():
            return "the connection was closed without an answer"
        case IncompleteRead():
            return "the connection was closed in the middle of the answer"
        case HTTPException():
            return f"the answer is not valid HTTP ({type(error).__name__}: {printable(str(error), 100)})"
        case ssl.SSLCertVerificationError():
            return f"the certificate is not trusted: {error.verify_message}"
        case ssl.SSLError(reason=str(reason)):
            return reason.replace("_", " ").lower()
        case _:
            return printable(error.strerror or str(error), 200)
