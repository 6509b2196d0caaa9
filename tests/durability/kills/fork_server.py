"""A process that has imported `onthedot serve` and forks one server for each line that it reads.

A server of it starts in a tenth of the time of a new process, so that a test can kill many. It is a process of its own
with files of its own: they are opened after the fork. A line `start` answers with the id of a new server. A line with
an id waits for the end of that server.
"""

import os
import signal
import sys


def main(arguments: list[str]) -> None:
    """Fork servers with these arguments until the input ends."""
    from onthedot.cli.serve import serve
    from onthedot.targets.http import caller  # noqa: F401 - the first call of a target would import it

    child = 0
    for line in sys.stdin:
        if line.strip() != "start":
            os.waitpid(int(line), 0)
            child = 0
            _answer("ended")
            continue
        child = os.fork()
        if child == 0:
            log = os.open(os.environ["KILLS_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            serve(arguments, prog_name="onthedot serve")
        _answer(str(child))
    if child:
        # The test ended without a word. Its last server must not stay.
        os.kill(child, signal.SIGKILL)


def _answer(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
