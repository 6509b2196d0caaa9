"""The worker's side of a program that runs under a supervisor (`supervisor`), and the privacy of the processes."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4


def make_private() -> None:
    """Keep other processes of this user from reading the environment and memory of this one (on Linux).

    The programs that a worker runs have the same user as the worker, whose tokens and credentials are in both.
    Debuggers of the same user cannot attach either. Processes that this one starts afterwards are not private.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def is_private() -> bool:
    return sys.platform == "linux" and not ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)


PROGRESS_FD: Final = 3
"""The descriptor on which a program reports its progress."""
_SUPERVISOR: Final = str(Path(__file__).with_name("supervisor.py"))
_GROUP: Final = "group "
_SECONDS_TO_END: Final = 0.5
"""The time that the supervisor needs to kill. It needs more only if the kernel cannot end a process now."""


class Supervised:
    """A started program. It ends by itself, by `end`, or with this process, and all that it started ends with it."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        stdin: int,
        stdout: int,
        stderr: int | None,
        directory: str | None = None,
        environment: Mapping[str, str] | None = None,
        progress: int | None = None,
    ) -> None:
        """Start the program, with streams and environment as in `subprocess.Popen`, whose errors it raises.

        `progress` is a descriptor that the program gets as PROGRESS_FD. The caller removes `directory`, or the
        supervisor does if this process is killed.
        """
        self._received = b""
        self.socket, supervisors = socket.socketpair()
        pipe = "-" if progress is None else str(progress)
        options = (str(supervisors.fileno()), pipe, "own" if directory else "shared")
        with supervisors:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", _SUPERVISOR, *options, *argv],
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    bufsize=0,
                    cwd=directory,
                    env=environment,
                    pass_fds=[supervisors.fileno(), *([] if progress is None else [progress])],
                    start_new_session=True,
                )
            except BaseException:
                self.socket.close()
                raise

    @property
    def streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        """The standard input, output and error of a program that was started with pipes."""
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        return self._process.stdin, self._process.stdout, self._process.stderr

    @property
    def status(self) -> str:
        """How it ended: `exit 3`, `signal 9`, `cannot 2` (the errno: it was not started), or empty when not known."""
        # The first line counts: after `cannot` comes an exit that means nothing.
        return next((line for line in self._lines() if not line.startswith(_GROUP)), "")

    def _lines(self) -> list[str]:
        return self._received.decode("ascii", errors="replace").splitlines()

    def read_status(self) -> bool:
        """Read lines of the supervisor. Return False when it has closed the socket."""
        try:
            received = self.socket.recv(4096)
        except ConnectionError:
            return False
        self._received += received
        return bool(received)

    def ask_to_end(self) -> None:
        """Ask the supervisor for SIGTERM now, and SIGKILL two seconds later."""
        with suppress(OSError):  # it has ended already
            self.socket.send(b"T")

    def kill(self) -> None:
        """Kill the program now. Call `end` afterwards."""
        with suppress(OSError):  # it has ended already
            self.socket.shutdown(socket.SHUT_WR)

    def end(self) -> str:
        """End the program, wait for its end, and return how it ended, or an empty text when that is not known."""
        if self._process.returncode is None:
            self.kill()
            self._process.send_signal(signal.SIGCONT)  # its own program may have stopped it
            self._read_the_rest()
            self._reap()
            if not self.status:
                self._kill_group()
            for stream in (self.socket, self._process.stdin, self._process.stdout, self._process.stderr):
                if stream:
                    stream.close()
        return self.status

    def _read_the_rest(self) -> None:
        self.socket.settimeout(_SECONDS_TO_END)
        with suppress(TimeoutError):
            while self.read_status():
                pass

    def _reap(self) -> None:
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _kill_group(self) -> None:
        """Kill the program's group, because the supervisor was killed. The program itself died with it."""
        for line in self._lines():
            if line.startswith(_GROUP):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(int(line.removeprefix(_GROUP)), signal.SIGKILL)
