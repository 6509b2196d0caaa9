"""A reader who follows a page: types its commands in order, saves its files, and compares the outputs."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.pages.blocks import COMMANDS, OUTPUT, OUTPUTS, RUNS_ON, SAMPLE, Block, blocks_of
from tests.pages.outputs import differences
from tests.served import quiet_port

SECONDS = 120
PATIENCE = 60.0
"""Seconds until an output must be there."""
PORTS = ("8000", "8001")
"""The ports of listeners on all pages."""
READS = re.compile(
    r"^(\.venv/bin/)?onthedot (explain|get|executions|dead-letters|workflow show) |^curl -s \"?\$URL(?!.* -d )"
)
"""Commands that change nothing. The reader repeats them until they say what the page says."""
VARIABLES = "docs/README.md"
"""The page that says how the variables of the examples are set."""
ID = {"JOB_ID": re.compile(r"\bjob_[a-z2-7]{26}\b"), "TOKEN_ID": re.compile(r"\btok_[\w-]+")}
"""Words on pages that a reader replaces by the latest value that a command has printed."""
NEW_ID = re.compile(r"onthedot schedule.*\n.*JOB_ID")
FILE = re.compile(r"# (\S+\.py)\n")
OF_THE_TESTS = ("AWS_", "ONTHEDOT_", "PYTHON", "PYTEST", "VIRTUAL_ENV", "MAKE", "MFLAGS", "COLUMNS")


@dataclass
class Walk:
    """A reader with a folder, a shell whose variables stay, and programs in other terminals."""

    folder: Path
    words: dict[str, str] = field(default_factory=dict)
    """Words on the page, and the reader's own in their place."""
    environment: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    last: str = ""
    """The commands of the last block."""
    output: str = ""
    programs: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_THE_TESTS)}
        path = os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])
        # A block without its mark must not reach an account of the person who runs the tests.
        no_account = {
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self.environment = {**kept, **no_account, "PATH": path, "TZ": "UTC", "NO_COLOR": "1", "COLUMNS": "120"}
        self.ports = {port: str(quiet_port()) for port in PORTS}
        (self.folder / ".venv").symlink_to(Path(sys.executable).parents[1])

    def follow(self, page: str) -> None:
        """Follow a page from its begin to its end."""
        for block in blocks_of(VARIABLES):
            self.run(block)
        for block in blocks_of(page):
            if block.is_run_here:
                self.take(block)
        if (self.folder / "test_page.py").exists():
            self.run_text("pytest -q -p no:cacheprovider test_page.py", "the tests of the page")

    def take(self, block: Block) -> None:
        if block.language in COMMANDS:
            self.begin(block) if RUNS_ON in block.marks else self.run(block)
        elif block.language == "python":
            self.save_or_run(block)
        elif block.language in OUTPUTS and (block.follows or OUTPUT in block.marks):
            self.compare(block, self.output)

    def run(self, block: Block) -> None:
        """Run the commands of a block. In a console block, the lines after a command are its output."""
        if block.language == "bash":
            self.last = block.text
            self.output = self.run_text(block.text, block.place)
            return
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            self.last = command
            self.output = self.run_text(command, block.place)
            if SAMPLE not in block.marks:
                self.compare(Block(block.page, block.line, "", output, {}, True), self.output)

    def run_text(self, text: str, place: str) -> str:
        assert not NEW_ID.search(text), f"{place}: a reader does not know the id before the command has printed it"
        after = self.folder / ".environment"
        script = f"set -a\n{self.own(text)}\nenv -0 >{after}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{place}\n{text}\nsays:\n{done.stdout}"
        assert not re.match(r'\{"error":', done.stdout), f"{place}\n{text}\nis refused:\n{done.stdout}"
        self.environment = dict(one.split("=", 1) for one in after.read_text().split("\0") if one)
        for word, pattern in ID.items():
            if found := pattern.findall(done.stdout):
                self.ids[word] = found[0]
        return done.stdout

    def own(self, text: str) -> str:
        """Return the text with the reader's own values: ids, and a listener at a port that is free here."""
        text = re.sub(r"\bonthedot listen\b(?! --port)", f"onthedot listen --port {PORTS[0]}", text)
        for port, free in self.ports.items():
            text = re.sub(rf'(127\.0\.0\.1:|127\.0\.0\.1", |--port ){port}\b', rf"\g<1>{free}", text)
        for word, value in {**self.words, **self.ids}.items():
            text = text.replace(word, value)
        return text

    def begin(self, block: Block) -> None:
        """Start the program of a block in a terminal of its own, and wait until it says something.

        The server runs already.
        """
        if re.match(r"make serve|(\.venv/bin/)?onthedot serve", block.text):
            return
        log = self.folder / f"terminal-{len(self.programs)}.log"
        with log.open("wb") as output:
            program = subprocess.Popen(
                ["bash", "-c", f"exec {self.own(block.text)}"],
                cwd=self.folder,
                env={**self.environment, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.programs.append(program)
        deadline = time.monotonic() + PATIENCE
        while not log.read_text():
            assert time.monotonic() < deadline, f"{block.place} says nothing"
            time.sleep(0.05)

    def save_or_run(self, block: Block) -> None:
        """Save a file or a test that a page shows. Run any other Python, after the Python above it."""
        if name := FILE.match(block.text):
            (self.folder / name[1]).write_text(self.own(block.text))
        elif "pytest_plugins" in block.text:
            (self.folder / "conftest.py").write_text(block.text)
        elif "def test_" in block.text:
            with (self.folder / "test_page.py").open("a") as file:
                file.write(block.text + "\n")
        else:
            self.scripts.append(block.text)
            (self.folder / "page_script.py").write_text("\n".join(self.scripts))
            self.output = self.run_text("python page_script.py", block.place)

    def compare(self, block: Block, output: str) -> None:
        """Check the output, and that of the other terminals. A listener may print a moment later."""
        expected = self.own(block.text)
        deadline = time.monotonic() + PATIENCE
        while lost := self.lost(expected, output, block.language):
            assert time.monotonic() < deadline, f"{block.place}: {lost}\nis not in:\n{output}\n{self.terminals()}"
            time.sleep(0.1)
            if READS.match(self.last):
                output = self.output = self.run_text(self.last, block.place)

    def lost(self, expected: str, output: str, language: str) -> list[str]:
        """Return the lines or fields that no terminal shows; an empty list when one of them has all."""
        found = [_differences(expected, text, language) for text in (output, *self.terminals())]
        return [] if [] in found else found[0]

    def terminals(self) -> list[str]:
        return [log.read_text() for log in sorted(self.folder.glob("terminal-*.log"))]

    def leave(self) -> None:
        """Press Ctrl-C in all terminals."""
        for program in self.programs:
            program.send_signal(signal.SIGINT)
        for program in self.programs:
            try:
                program.wait(timeout=30)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


def _differences(expected: str, output: str, language: str) -> list[str]:
    try:
        return differences(expected, output, language)
    except ValueError as error:
        return [f"no JSON: {error}"]
