"""Record the answers, outputs, items and messages of this version: `python -m tests.golden.record [NAME ...]`.

Record again only for a change that users are meant to see, and read the difference before you commit it.
"""

import logging
import sys
import tempfile
from pathlib import Path

from localstack.ministack_process import running_ministack
from tests.golden import compare
from tests.golden.recordings import ON_AWS, RECORDINGS, aws_recording


def main(names: list[str]) -> None:
    logging.disable()  # refusals are logged, and here they are wanted
    for name in names or (*RECORDINGS, ON_AWS):
        if name == ON_AWS:
            with tempfile.TemporaryDirectory() as folder, running_ministack(Path(folder)) as url:
                compare.write(name, aws_recording(url))
        else:
            compare.write(name, RECORDINGS[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
