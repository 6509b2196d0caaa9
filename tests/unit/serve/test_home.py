"""The folders of a server."""

import os
from pathlib import Path

import pytest

from onthedot.serve.home import BadPlace, ServeHome


def test_the_names_of_new_folders_are_synced_and_those_of_old_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    home = ServeHome(tmp_path / "home", tmp_path / "a" / "b" / "jobs.db")

    home.prepare()
    assert sorted(synced) == sorted([str(tmp_path), str(tmp_path), str(tmp_path / "a")])
    home.prepare()
    assert len(synced) == 3
    assert home.data.parent.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadPlace, match="file/data"):
        ServeHome(tmp_path, tmp_path / "file" / "data" / "jobs.db").prepare()
