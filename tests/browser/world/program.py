"""`onthedot serve` on a machine whose hosts file knows the hosts of the world: `*.internal` is loopback.

With ONTHEDOT_WORLD_LATE its ticks hang, and its clock was ten minutes behind when it started. So the first tick is late
without a wait of three minutes.
"""

import os
import socket
import sys
from typing import Any

_lookup = socket.getaddrinfo


def _known(host: Any, *arguments: Any, **options: Any) -> Any:
    name = host.decode() if isinstance(host, bytes) else str(host or "")
    return _lookup("127.0.0.1" if name.endswith(".internal") else host, *arguments, **options)


def _let_ticks_hang() -> None:
    from onthedot.serve import server
    from onthedot.serve.server import ServerClock
    from onthedot.serve.ticks import Ticks

    class SetAhead(ServerClock):
        """A clock that is ten minutes behind until the ticks would start."""

        behind = 600_000

        def now(self) -> int:
            return super().now() - self.behind

    class Hanging(Ticks):
        """Ticks that never come."""

        def start(self) -> None:
            SetAhead.behind = 0

        def stop(self) -> None:
            """Wait for nothing."""

    vars(server).update(ServerClock=SetAhead, Ticks=Hanging)


if __name__ == "__main__":
    socket.getaddrinfo = _known
    from onthedot.cli.main import main

    if os.environ.get("ONTHEDOT_WORLD_LATE"):
        _let_ticks_hang()
    sys.exit(main())
