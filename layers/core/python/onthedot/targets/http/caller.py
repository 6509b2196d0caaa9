"""Performs HTTP callbacks: with the standard library alone, since a worker's cold start pays for every import."""

import socket
import ssl
from functools import cached_property
from http.client import HTTPException, IncompleteRead, RemoteDisconnected

from onthedot.ports import Answer, Call, Clock, Performer
from onthedot.targets.addresses import AddressError, Lookup, UnresolvedError, resolve
from onthedot.targets.answers import printable, refused, stopped, timed_out
from onthedot.targets.http.place import HttpDestination, RequestError
from onthedot.targets.http.redirects import MAX_REDIRECTS, RedirectError, redirected, too_many
from onthedot.targets.http.reply import Reply, judge, receive
from onthedot.targets.http.request import OutgoingRequest, request_for
from onthedot.targets.http.wire import Countdown, Stopped, Wire, connect, secure, tls_context

_REFUSALS = {RequestError: "bad_request", AddressError: "refused_address", RedirectError: "redirect"}


class HttpCaller(Performer):
    """Calls what an `HttpTarget` names. Safe to use from several threads.

    It connects only to addresses that passed the deny list, after a redirect too; follows few redirects; uses no
    proxy; and reads no more of a reply than it keeps. The call's time-out covers everything from the resolution of
    the first name to the last byte of the last reply.
    With `allow_private` (a local stage) loopback and private addresses pass; metadata addresses never do.
    """

    def __init__(self, *, allow_private: bool, clock: Clock, resolve: Lookup = socket.getaddrinfo) -> None:
        self._allow_private = allow_private
        self._clock = clock
        self._lookup = resolve

    def perform(self, call: Call) -> Answer:
        """Make the call and judge the reply. Its time-out is kept; nothing the peer does raises."""
        countdown = Countdown(call.timeout_ms, call.stop)
        try:
            reply = self._follow(request_for(call), countdown)
        except Stopped:
            return stopped(call)
        except (RequestError, AddressError, RedirectError) as error:
            return refused(str(error), _REFUSALS[type(error)])
        except (OSError, HTTPException) as error:
            return _failed(call, error, countdown.stage)
        return judge(reply, self._clock.now())

    def _follow(self, request: OutgoingRequest, countdown: Countdown) -> Reply:
        """The first reply that does not lead elsewhere. Each place is checked like the first one."""
        for _ in range(MAX_REDIRECTS + 1):
            reply = self._exchange(request, countdown)
            if not reply.is_redirect:
                return reply
            request = redirected(request, reply.status, reply.location)
        raise too_many(request)

    def _exchange(self, request: OutgoingRequest, countdown: Countdown) -> Reply:
        with Wire(self._open(request.place, countdown), countdown) as wire:
            countdown.stage = "sending the request"
            wire.send(request.content)
            countdown.stage = "reading the answer"
            return receive(wire, request.method)

    def _open(self, place: HttpDestination, countdown: Countdown) -> socket.socket:
        countdown.stage = f"resolving {place.host}"
        addresses = resolve(
            place.host,
            place.port,
            lookup=self._lookup,
            seconds=countdown.left(),
            allow_private=self._allow_private,
            stop=countdown.stop,
        )
        countdown.stage = f"connecting to {place.host} port {place.port}"
        sock = connect(addresses, place.port, countdown)
        if not place.secure:
            return sock
        countdown.stage = f"setting up TLS with {place.host}"
        return secure(sock, self._tls, place.tls_name, countdown)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return tls_context()


def _failed(call: Call, error: OSError | HTTPException, stage: str) -> Answer:
    """What may go better another time. A connection that broke since the call was to stop did not fail."""
    if call.stop.reason is not None:
        return stopped(call)
    if isinstance(error, TimeoutError):
        return timed_out(call, stage)
    return Answer(ok=False, error=f"failed while {stage}: {_in_words(error)}", error_class=_class_of(error))


def _class_of(error: OSError | HTTPException) -> str:
    match error:
        case UnresolvedError():
            return "dns"
        case ssl.SSLError():
            return "tls"
        case RemoteDisconnected() | IncompleteRead() | OSError():
            return "connection"
        case _:
            return "protocol"


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
