"""Record the answers, outputs, items and messages of this version: `python -m tests.golden.record [NAME ...]`.

Record again only for a change that users are meant to see, and read the difference before you commit it.
"""

import logging
import sys

from tests.golden import compare
from tests.golden.recordings import RECORDINGS


def main(names: list[str]) -> None:
    logging.disable()  # refusals are logged, and here they are wanted
    for name in names or RECORDINGS:
        compare.write(name, RECORDINGS[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
