"""HTTP targets that are not called at all. `test_api_and_performers_agree` has the samples of bad definitions."""

import socket
from typing import Any

import pytest

from tests.unit.targets.http.peer import a_call, a_caller, a_peer, reply, resolving_to, sending


def refused(url: str, **target: Any) -> str:
    """Return why a call is not made. The answer must be final."""
    answer = a_caller(resolve=resolving_to()).perform(a_call(url, **target))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, "bad_request")
    return answer.error or ""


def test_a_refused_url_does_not_show_its_password() -> None:
    assert "hunter2" not in refused("http://user:hunter2@a.test/")


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\tb", "\x00", "\x85", "日本"])
def test_a_header_value_that_cannot_be_sent_is_refused_without_being_shown(value: str) -> None:
    error = refused("http://a.test/", headers={"X-Mine": value})
    assert "X-Mine" in error
    assert value not in error


def test_a_private_address_among_public_ones_is_not_called() -> None:
    with a_peer(sending(reply())) as peer:
        caller = a_caller(allow_private=False, resolve=resolving_to("8.8.8.8", "127.0.0.1"))
        answer = caller.perform(a_call(f"http://target.test:{peer.port}/"))
    assert (answer.error_class, answer.retryable, peer.connections) == ("refused_address", False, 0)
    assert "127.0.0.1, a loopback address" in (answer.error or "")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0", "[::ffff:127.0.0.1]", "localhost"]
)
def test_no_spelling_of_loopback_is_called_in_production(host: str) -> None:
    with a_peer(sending(reply())) as peer:
        answer = a_caller(allow_private=False).perform(a_call(f"http://{host}:{peer.port}/"))
    assert (answer.error_class, answer.retryable, peer.connections) == ("refused_address", False, 0)


@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "0xa9fea9fe"])
def test_metadata_is_not_called_even_on_a_local_stage(host: str) -> None:
    answer = a_caller(allow_private=True).perform(a_call(f"http://{host}/latest/meta-data/"))
    assert (answer.ok, answer.retryable) == (False, False)
    assert "metadata" in (answer.error or "")


def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    asked: list[str] = []

    def rebinding(host: str, port: int, *_: object) -> list[tuple[Any, ...]]:
        asked.append(host)
        return [(0, 0, 0, "", ("127.0.0.1" if len(asked) == 1 else "169.254.169.254", port))]

    with a_peer(sending(reply())) as peer:
        assert a_caller(resolve=rebinding).perform(a_call(f"http://target.test:{peer.port}/")).ok
    assert (asked, peer.headers["host"]) == (["target.test"], f"target.test:{peer.port}")


def test_the_next_address_is_tried_when_one_refuses_the_connection() -> None:
    with a_peer(sending(reply())) as peer:
        caller = a_caller(resolve=resolving_to("127.0.0.2", "127.0.0.3", "127.0.0.1"))
        assert caller.perform(a_call(f"http://target.test:{peer.port}/")).ok


def test_a_name_that_does_not_resolve_is_tried_again() -> None:
    def unknown(*_: object) -> list[tuple[Any, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    answer = a_caller(resolve=unknown).perform(a_call("http://target.test/"))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "dns")
