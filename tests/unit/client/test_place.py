"""Where the client finds its API."""

import json
from pathlib import Path

import pytest

from onthedot.client.errors import PlaceError
from onthedot.client.place import Place, find_place


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ONTHEDOT_URL", "ONTHEDOT_TOKEN", "ONTHEDOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def a_stack(folder: Path, content: str | None = None) -> None:
    folder.mkdir(parents=True)
    stack = json.dumps({"api_url": "http://127.0.0.1:4566/x", "token": "otd_local"})
    (folder / "local.json").write_text(stack if content is None else content)


def test_arguments_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONTHEDOT_URL", "https://env/")
    monkeypatch.setenv("ONTHEDOT_TOKEN", "otd_env")
    assert find_place("https://arg/", "otd_arg") == Place("https://arg/", "otd_arg")
    assert find_place() == Place("https://env/", "otd_env")
    assert find_place("https://arg/") == Place("https://arg/", "otd_env")


def test_the_local_stack_is_found_from_a_folder_below(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a_stack(tmp_path / ".onthedot")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert find_place() == Place("http://127.0.0.1:4566/x", "otd_local", is_local=True)
    assert find_place(token="otd_other").token == "otd_other"


def test_the_home_may_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a_stack(tmp_path / "home")
    monkeypatch.setenv("ONTHEDOT_HOME", str(tmp_path / "home"))
    assert find_place().is_local


def test_without_a_place_the_error_says_what_to_give() -> None:
    with pytest.raises(PlaceError, match="give url and token, or set ONTHEDOT_URL"):
        find_place()


@pytest.mark.parametrize(
    ("url", "token", "why"),
    [
        ("ftp://x", "t", "is not the URL of an API"),
        ("https://:80/", "t", "is not the URL of an API"),
        ("https://x:99999/", "t", "is not the URL of an API"),
        ("https://[x", "t", "is not the URL of an API"),
        ("https://x/", None, "needs a token"),
        ("https://x/", "a\nb", "characters that a token cannot have"),
    ],
)
def test_a_place_that_cannot_be_called_is_refused(url: str, token: str | None, why: str) -> None:
    with pytest.raises(PlaceError, match=why):
        find_place(url, token)


def test_a_damaged_description_is_refused(tmp_path: Path) -> None:
    a_stack(tmp_path / ".onthedot", "{")
    with pytest.raises(PlaceError, match="cannot be read"):
        find_place()
