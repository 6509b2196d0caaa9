"""A program under supervision, as the worker sees it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

_SUPERVISOR: Final = str(Path(__file__).with_name("supervisor.py"))
_GROUP: Final = "group "
_SECONDS_TO_END: Final = 0.5
"""What the supervisor has for killing; more only if the kernel cannot kill something now."""


class Supervised:
    """A program, started. All that it starts ends with it, and it ends by `end` or with this process."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        stdin: int,
        stdout: int,
        stderr: int | None,
        directory: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Streams and environment as `subprocess.Popen` has them. A `directory` is the program's own to run in; if
        this process is killed it is removed, else that is the caller's to do.

        :raises OSError: there is no room for another process, or the arguments are too long
        :raises ValueError: the arguments hold what no program can get
        """
        self._said = b""
        whose = "own" if directory else "shared"
        self.line, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [
                        sys.executable,
                        "-I",
                        "-S",
                        _SUPERVISOR,
                        str(theirs.fileno()),
                        whose,
                        *argv,
                    ],
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    bufsize=0,
                    cwd=directory,
                    env=environment,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except BaseException:
                self.line.close()
                raise

    @property
    def streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        """Its input, output and standard error; for one that was started with pipes."""
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        return self._process.stdin, self._process.stdout, self._process.stderr

    @property
    def status(self) -> str:
        """How it ended: `exit 3`, `signal 9`, `cannot 2` (the errno: it did not begin), or nothing known."""
        # The first word counts: after `cannot` comes an exit that means nothing.
        return next((line for line in self._lines() if not line.startswith(_GROUP)), "")

    def _lines(self) -> list[str]:
        return self._said.decode("ascii", errors="replace").splitlines()

    def hear(self) -> bool:
        """Take what the supervisor says on the line; False when there will be no more."""
        try:
            said = self.line.recv(4096)
        except ConnectionError:
            return False
        self._said += said
        return bool(said)

    def ask_to_end(self) -> None:
        """Politely; by force two seconds later."""
        with suppress(OSError):  # it has ended already
            self.line.send(b"T")

    def kill(self) -> None:
        """It ends now. Whoever waits for it sees that; `end` is still to come."""
        with suppress(OSError):  # it has ended already
            self.line.shutdown(socket.SHUT_WR)

    def end(self) -> str:
        """When this returns all is over. Says how the program ended, nothing if nobody knows."""
        if self._process.returncode is None:
            self.kill()
            self._process.send_signal(signal.SIGCONT)  # its own program may have stopped it
            self._hear_the_rest()
            self._reap()
            if not self.status:
                self._kill_group()
            for stream in (self.line, self._process.stdin, self._process.stdout, self._process.stderr):
                if stream:
                    stream.close()
        return self.status

    def _hear_the_rest(self) -> None:
        self.line.settimeout(_SECONDS_TO_END)
        with suppress(TimeoutError):
            while self.hear():
                pass

    def _reap(self) -> None:
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _kill_group(self) -> None:
        """In the place of the supervisor, which was killed; the program itself died with it."""
        for line in self._lines():
            if line.startswith(_GROUP):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(int(line.removeprefix(_GROUP)), signal.SIGKILL)
