"""Measure from /proc how much CPU the local AWS, each of its functions, the receiver and other programs use."""

import os
import re
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Final

OTHERS: Final = "others"
IDLE: Final = "idle"
MINISTACK: Final = "ministack"
_FUNCTION: Final = re.compile(rb"-(api|authorizer|planner|dispatcher|worker)-")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Sampler:
    """A thread that samples every second, from `start` to `stop`, the cores that each role uses."""

    def __init__(self, leader: int, named: dict[int, str]) -> None:
        self._leader = leader
        self._named = named
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._roles: dict[int, str] = {}
        self.seconds: list[dict[str, float]] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def mean(self) -> dict[str, float]:
        """Return the cores that each role used over the whole time, the busiest first."""
        total: Counter[str] = Counter()
        for second in self.seconds:
            total.update(second)
        return {role: used / len(self.seconds) for role, used in total.most_common()} if self.seconds else {}

    def peak(self, role: str) -> float:
        return max((second.get(role, 0.0) for second in self.seconds), default=0.0)

    def _run(self) -> None:
        before, at = self._spent(), time.monotonic()
        while not self._stopped.wait(1.0):
            now, later = self._spent(), time.monotonic()
            # The CPU time of a process that has ended is missing in the sum.
            used = {role: max(now[role] - before[role], 0) / _TICKS / (later - at) for role in now}
            self.seconds.append(used)
            before, at = now, later

    def _spent(self) -> Counter[str]:
        spent: Counter[str] = Counter()
        for entry in Path("/proc").glob("[0-9]*"):
            pid = int(entry.name)
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == self._leader or pid in self._named:
                spent[self._role(pid)] += int(fields[11]) + int(fields[12])
        machine = [int(value) for value in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
        spent[IDLE] = machine[3] + machine[4]
        spent[OTHERS] = sum(machine) - spent[IDLE] - sum(spent[role] for role in spent if role != IDLE)
        return spent

    def _role(self, pid: int) -> str:
        if pid not in self._roles:
            self._roles[pid] = self._named.get(pid) or self._function(pid)
        return self._roles[pid]

    def _function(self, pid: int) -> str:
        try:
            found = _FUNCTION.search(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            return MINISTACK
        return f"{found[1].decode()}s" if found else MINISTACK
