"""Layers that are unpacked once for all processes of all functions.

MiniStack unpacks every layer again for each process of a function, which is most of the cost of a cold start. With this
module a process gets a small archive that contains only the path of the unpacked layer, and imports from that path. The
order of the search path does not change.
"""

import hashlib
import io
import shutil
import tempfile
import threading
import zipfile
from pathlib import Path

POINTER = "onthedot-layer-is-at"

# Runs first in the process of a function. The code of MiniStack then puts these directories on the search path.
FOLLOW_POINTERS = f"""
import os
def _onthedot_layer(directory):
    pointer = os.path.join(directory, "{POINTER}")
    if os.path.exists(pointer):
        with open(pointer) as file:
            return file.read()
    return directory
if os.environ.get("_LAMBDA_LAYERS_DIRS"):
    os.environ["_LAMBDA_LAYERS_DIRS"] = os.pathsep.join(
        map(_onthedot_layer, os.environ["_LAMBDA_LAYERS_DIRS"].split(os.pathsep))
    )
"""


class SharedLayers:
    """Layers in one directory, each in a directory named by the hash of its content."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()

    def pointer_to(self, archive: bytes) -> bytes:
        """Return an archive that contains only the path at which this one is unpacked.

        Raise zipfile.BadZipFile when the content is not an archive.
        """
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as pointer:
            pointer.writestr(POINTER, str(self._unpacked(archive)))
        return content.getvalue()

    def _unpacked(self, archive: bytes) -> Path:
        finished = self._directory / hashlib.sha256(archive).hexdigest()
        with self._lock:
            if not finished.is_dir():
                self._unpack(archive, finished)
        return finished

    def _unpack(self, archive: bytes, finished: Path) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=self._directory))
        try:
            with zipfile.ZipFile(io.BytesIO(archive)) as content:
                content.extractall(draft)
            draft.rename(finished)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
