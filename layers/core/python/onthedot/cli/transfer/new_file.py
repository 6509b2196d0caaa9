"""Write a file that holds secrets or payloads: whole or not at all, for its owner only, and over no other file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield the path of an empty file, which becomes `path` at the end, unless an error is raised.

    Raise click.ClickException when there is a file already and `force` is not set.
    """
    if path.exists() and not force:
        raise click.ClickException(f"{path} exists; give another name, or --force to replace it")
    part = path.with_name(f"{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        part.touch(mode=0o600, exist_ok=False)
        yield part
        _put(part, path, force=force)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _put(part: Path, path: Path, *, force: bool) -> None:
    if force:
        part.replace(path)
    else:
        # Unlike a rename, a link never replaces a file that was made meanwhile.
        path.hardlink_to(part)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
