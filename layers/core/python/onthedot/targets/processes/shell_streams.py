"""The streams of a running program. One thread feeds, drains and watches them, and keeps the time-out."""

import os
import selectors
import time
from dataclasses import dataclass
from typing import IO, Final, cast

from onthedot.ports import RESULT_BYTES
from onthedot.targets.processes.reported_lines import ReportedLines
from onthedot.targets.processes.supervised import Supervised

_COMPLAINT_BYTES: Final = 4096
"""Bytes at the end of standard error that are kept."""
_CHUNK: Final = 64 * 1024
_DRAIN_SECONDS: Final = 0.5
"""How long the streams of an ended program are still read. Another process may hold them open for ever."""


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a program."""

    result: bytes
    """The beginning of its standard output."""
    complaint: bytes
    """The end of its standard error."""
    out_of_time: bool
    """Whether it was asked to end because its time was over."""


class _Excerpt:
    """The beginning or the end of a stream. The rest is dropped."""

    def __init__(self, limit: int, *, tail: bool) -> None:
        self._limit, self._tail = limit, tail
        self.content = bytearray()

    def add(self, chunk: bytes) -> None:
        if self._tail:
            self.content += chunk
            del self.content[: -self._limit]
        else:
            self.content += chunk[: self._limit - len(self.content)]


def exchange(program: Supervised, payload: bytes, seconds: float, reports: ReportedLines) -> Output:
    """Feed and drain the program, and read its reports, until it ends or its time is over."""
    return _Exchange(program, payload, seconds, reports).run()


class _Exchange:
    def __init__(self, program: Supervised, payload: bytes, seconds: float, reports: ReportedLines) -> None:
        ending = min(2.0, seconds / 10)
        self._ask_at = time.monotonic() + seconds - ending
        self._end_at = self._ask_at + ending * 3 / 4
        self._out_of_time = self._ended = False
        self._program = program
        self._reports = reports
        self._input, output, complaint = program.streams
        self._left = memoryview(payload)
        self._excerpts = {output: _Excerpt(RESULT_BYTES, tail=False), complaint: _Excerpt(_COMPLAINT_BYTES, tail=True)}
        self._streams = selectors.DefaultSelector()

    def run(self) -> Output:
        with self._streams:
            self._streams.register(self._program.socket, selectors.EVENT_READ)
            self._streams.register(self._reports, selectors.EVENT_READ)
            for stream in self._excerpts:
                self._watch(stream, selectors.EVENT_READ)
            if self._left:
                self._watch(self._input, selectors.EVENT_WRITE)
            else:
                self._input.close()
            self._until_it_ends()
        result, complaint = (bytes(excerpt.content) for excerpt in self._excerpts.values())
        return Output(result, complaint, self._out_of_time)

    def _watch(self, stream: IO[bytes], events: int) -> None:
        os.set_blocking(stream.fileno(), False)
        self._streams.register(stream, events)

    def _until_it_ends(self) -> None:
        while self._streams.get_map() and (now := time.monotonic()) < self._end_at:
            if self._ask_at <= now and not self._ended:
                self._ask_at, self._out_of_time = self._end_at, True
                self._program.ask_to_end()
            for key, _ in self._streams.select(min(self._ask_at, self._end_at) - now):
                self._serve(key.fileobj)

    def _serve(self, stream: object) -> None:
        if stream is self._program.socket:
            self._read_status()
        elif stream is self._input:
            self._feed()
        elif stream is self._reports:
            self._read_reports()
        else:
            self._drain(cast("IO[bytes]", stream))

    def _read_status(self) -> None:
        if self._program.read_status():
            return
        self._streams.unregister(self._program.socket)
        self._stop_reading_reports()
        self._ended = True
        self._end_at = self._ask_at = min(self._end_at, time.monotonic() + _DRAIN_SECONDS)

    def _read_reports(self) -> None:
        if not self._reports.read():
            self._stop_reading_reports()

    def _stop_reading_reports(self) -> None:
        if self._reports in {key.fileobj for key in self._streams.get_map().values()}:
            self._streams.unregister(self._reports)

    def _feed(self) -> None:
        try:
            self._left = self._left[os.write(self._input.fileno(), self._left[:_CHUNK]) :]
        except BrokenPipeError:  # the program does not read all of it
            self._left = self._left[:0]
        if not self._left:
            self._streams.unregister(self._input)
            self._input.close()

    def _drain(self, stream: IO[bytes]) -> None:
        if chunk := os.read(stream.fileno(), _CHUNK):
            self._excerpts[stream].add(chunk)
        else:
            self._streams.unregister(stream)
