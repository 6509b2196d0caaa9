"""Supervise a program that a worker runs: `python -I -S supervisor.py <fd> <fd|-> own|shared program …`.

The program and all processes that it started, daemons included, end when the program ends, when the worker asks for
it, and when the worker dies. When it dies, for any reason, the kernel closes its end of the socket `fd`.

The worker sends `T` (SIGTERM, and SIGKILL after two seconds) or closes the socket (SIGKILL). The supervisor sends
lines: `group 7`, the process group that the worker kills if the supervisor is killed; `cannot 2`, the errno, if the
program could not be started; and `exit 3` or `signal 9` when all processes have ended. The second descriptor is the
pipe for the program's reports. The program gets it as descriptor 3, because some shells know numbers of one digit only.
The directory that it starts in is the program's `own` or `shared`. It removes an own directory when the worker has died
and cannot do so.

It imports little, since each run takes that time, and nothing of onthedot, since `-S` has no packages.
"""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_GRACE_SECONDS = 2.0
_NOT_FOUND = 127
_PROGRESS = 3
_SET_BY_PYTHON = {"C.UTF-8", "C.utf8", "UTF-8"}
"""Values that Python sets for itself in the C locale. The program gets the environment without them."""


def main() -> None:
    """Start the program, wait for a reason to end it, end all its processes, and report how it ended."""
    control, progress, directory, argv = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
    home = os.getcwd()  # noqa: PTH109 - pathlib is slow to import
    os.set_inheritable(control, False)
    _process_control(_PR_SET_CHILD_SUBREAPER, 1)
    # This process may have the worker's environment, which other programs must not read.
    _process_control(_PR_SET_DUMPABLE, 0)
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    program = os.fork()
    if not program:
        _become(argv, control if progress == "-" else _with_progress(int(progress), control))
    if progress != "-":
        os.close(int(progress))
    _report(control, f"group {program}")
    _release_streams()
    _wait(program, control, woken)
    if not _report(control, _end_all(program)) and directory == "own":
        _remove(home)


def _become(argv: list[str], control: int) -> None:
    """Turn this process into the program, which dies when the supervisor does."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        # Python ignores some signals, and `nohup` or a shell's `&` others. The program would inherit that.
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        _process_control(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.environ.get("LC_CTYPE") in _SET_BY_PYTHON:
            del os.environ["LC_CTYPE"]
        os.execvp(argv[0], argv)  # noqa: S606 - that there is no shell is the point
    except OSError as error:
        _report(control, f"cannot {error.errno}")
    finally:
        os._exit(_NOT_FOUND)


def _with_progress(progress: int, control: int) -> int:
    """Make the pipe descriptor 3 of the program. Return the control socket, which may have been in the way."""
    if progress == _PROGRESS:
        return control
    moved = os.dup(control) if control == _PROGRESS else control
    os.dup2(progress, _PROGRESS)
    os.close(progress)
    return moved


def _wait(program: int, control: int, woken: int) -> None:
    """Wait until the program has ended, or the worker asks for its end, or has died."""
    events = select.poll()
    for descriptor in (control, woken):
        events.register(descriptor, select.POLLIN)
    forced_at: float | None = None
    while True:
        left = None if forced_at is None else max(0.0, forced_at - time.monotonic()) * 1000
        ready = {descriptor for descriptor, _ in events.poll(left)}
        if not ready:
            return
        if woken in ready:
            os.read(woken, 4096)
            if _ended(program):
                return
            _reap(except_for=program)
        if control in ready:
            if not _received(control):
                return
            forced_at = forced_at or time.monotonic() + _GRACE_SECONDS
            _signal_group(program, signal.SIGTERM)


def _received(control: int) -> bytes:
    try:
        return os.read(control, 1)
    except ConnectionError:
        return b""


def _ended(program: int) -> str | None:
    """Return the program's status if it has ended. `_end_all` reaps it: until then no other process gets its id."""
    end = os.waitid(os.P_PID, program, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    if end is None:
        return None
    return f"{'exit' if end.si_code == os.CLD_EXITED else 'signal'} {end.si_status}"


def _end_all(program: int) -> str | None:
    """Kill the program's group, then the orphans that the kernel made children of this process, until none is left.

    Return how the program ended, or None if the kernel cannot end it now.
    """
    _signal_group(program, signal.SIGKILL)
    status, until = None, time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < until:
        status = status or _ended(program)
        _reap(except_for=None if status else program)
        children = list(_children())
        if status and not children:
            break
        for child in children:
            _kill(child)
        time.sleep(0.001)
    return status


def _reap(except_for: int | None) -> None:
    for child in _children():
        if child != except_for:
            os.waitpid(child, os.WNOHANG)


def _children() -> Iterator[int]:
    """Yield the children of this process, where the system has a /proc."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listing:  # noqa: PTH123 - pathlib is slow to import
            yield from map(int, listing.read().split())
    except FileNotFoundError:
        return


def _signal_group(program: int, number: int) -> None:
    try:
        os.killpg(program, number)
    except (ProcessLookupError, PermissionError):
        return


def _kill(child: int) -> None:
    try:
        os.kill(child, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _report(control: int, line: str | None) -> bool:
    """Send a line to the worker. Return whether the worker is still there."""
    try:
        os.write(control, f"{line or ''}\n".encode())
    except OSError:
        return False
    return True


def _remove(directory: str) -> None:
    import shutil  # noqa: PLC0415 - slow to import, and needed only when the worker was killed

    shutil.rmtree(directory, ignore_errors=True)


def _release_streams() -> None:
    """Close this process's copies of the program's streams, or the worker would wait for their ends forever."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _process_control(option: int, value: int) -> None:
    """Set an option that only Linux has. Other systems do without it: there only the worker's requests count."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
