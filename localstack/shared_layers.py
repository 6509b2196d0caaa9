"""Layers unpacked once, for all processes of all functions.

MiniStack unpacks every layer anew for each process of a function, which is most of what a cold start costs there.
With this, a process gets a tiny archive that only says where the layer is, and looks there instead. The order
of its search path stays as it was.
"""

import hashlib
import io
import shutil
import tempfile
import threading
import zipfile
from pathlib import Path

POINTER = "onthedot-layer-is-at"

# Runs first in a function's process. MiniStack's own code then puts these directories on the search path.
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
    """Layers by their content, unpacked under one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()

    def pointer_to(self, archive: bytes) -> bytes:
        """An archive that stands for this one: it says where the content is unpacked.

        :raises zipfile.BadZipFile: it is no archive.
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
