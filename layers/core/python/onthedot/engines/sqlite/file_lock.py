"""The right of one process to serve a file. The system takes it back when the process ends, however it ends."""

import fcntl
import os
from pathlib import Path
from typing import Self


class AlreadyServed(Exception):
    """Another process serves the file."""


class FileLock:
    """A lock next to a file, held until it is closed. Raise AlreadyServed when another process has it."""

    def __init__(self, path: Path) -> None:
        lock = path.with_name(path.name + ".lock")
        self._descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(self._descriptor, 20).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise AlreadyServed(
                f"process {owner or 'unknown'} serves {path}; stop it first, or use other data"
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
