"""The performer of HTTP targets.

It uses sockets and `http.client` instead of urllib3, which boto3 has loaded anyway, for three reasons. One hard
deadline holds for the whole call, from the first name to the last byte. The connection goes to the very address that
was checked. A request to stop interrupts the call wherever it waits.
"""

import socket
import ssl
from functools import cached_property
from http.client import HTTPException, IncompleteRead, RemoteDisconnected

from onthedot.core.ports import Answer, Call, Clock, Performer
from onthedot.targets.addresses import AddressError, Lookup, UnresolvedError, resolve
from onthedot.targets.answers import printable, refused, stopped, timed_out
from onthedot.targets.countdown import Countdown, Stopped
from onthedot.targets.http.messages import (
    MAX_REDIRECTS,
    OutgoingRequest,
    RedirectError,
    Reply,
    judge,
    receive,
    redirected,
    request_for,
    too_many,
)
from onthedot.targets.http.wire import Wire, connect, secure, tls_context
from onthedot.targets.rules import BadTarget, HttpDestination

_REFUSALS = {BadTarget: "bad_request", AddressError: "refused_address", RedirectError: "redirect"}
_MAX_ERROR = 400


class HttpCaller(Performer):
    """A performer of HTTP targets. It is safe to use from several threads.

    It connects only to addresses that passed the deny list, also after a redirect, uses no proxy, and reads no more of
    a reply than it keeps. The timeout covers everything up to the last byte of the last reply.
    With `allow_private` (on a local stage) it also calls loopback and private addresses, but never metadata addresses.
    """

    def __init__(self, *, allow_private: bool, clock: Clock, resolve: Lookup = socket.getaddrinfo) -> None:
        self._allow_private = allow_private
        self._clock = clock
        self._lookup = resolve

    def perform(self, call: Call) -> Answer:
        """Make the call within its timeout and judge the reply. Nothing that the peer does makes this raise."""
        countdown = Countdown(call.timeout_ms, call.stop)
        try:
            reply = self._follow(request_for(call), countdown)
        except Stopped:
            return stopped(call)
        except (BadTarget, AddressError, RedirectError) as error:
            return refused(printable(str(error), _MAX_ERROR), _REFUSALS[type(error)])
        except (OSError, HTTPException) as error:
            return _failed(call, error, countdown.phase)
        return judge(reply, self._clock.now())

    def _follow(self, request: OutgoingRequest, countdown: Countdown) -> Reply:
        for _ in range(MAX_REDIRECTS + 1):
            reply = self._exchange(request, countdown)
            if not reply.is_redirect:
                return reply
            request = redirected(request, reply.status, reply.location)
        raise too_many(request)

    def _exchange(self, request: OutgoingRequest, countdown: Countdown) -> Reply:
        with Wire(self._open(request.destination, countdown), countdown) as wire:
            countdown.phase = "sending the request"
            wire.send(request.content)
            countdown.phase = "reading the answer"
            return receive(wire, request.method)

    def _open(self, destination: HttpDestination, countdown: Countdown) -> socket.socket:
        addresses = resolve(
            destination.host, destination.port, self._lookup, countdown, allow_private=self._allow_private
        )
        countdown.phase = f"connecting to {destination.host} port {destination.port}"
        sock = connect(addresses, destination.port, countdown)
        if not destination.secure:
            return sock
        countdown.phase = f"setting up TLS with {destination.host}"
        return secure(sock, self._tls, destination.tls_name, countdown)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return tls_context()


def _failed(call: Call, error: OSError | HTTPException, phase: str) -> Answer:
    if call.stop.reason is not None:  # the stop broke the connection
        return stopped(call)
    if isinstance(error, TimeoutError):
        return timed_out(call, phase)
    return Answer(ok=False, error=f"failed while {phase}: {_in_words(error)}", error_class=_class_of(error))


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
