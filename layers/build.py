"""The build of the dependencies layer without Docker, for AWS or for the local AWS.

The built directory has `python/` with exactly the packages that `layers/dependencies/requirements.txt` pins, checked
against their hashes. The same requirements for the same target are built once, into `build/`. The core layer needs no
build: `layers/core` is its content.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "layers" / "dependencies" / "requirements.txt"
BUILD = ROOT / "build" / "layers"

LAMBDA_PYTHON = "3.14"
LAMBDA_PLATFORM = "aarch64-manylinux_2_28"
RECIPE = "1"
"""A part of the cache key. Raise it when this file builds something else from the same requirements."""


class LayerBuildError(RuntimeError):
    """The layer could not be built. The message is the output of the installer."""


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    python: str
    install_options: tuple[str, ...]
    compiler: str | None
    """An interpreter of the target's version on this machine, which compiles the layer. None if there is none."""

    def key(self, requirements: bytes) -> str:
        """Return a key that is the same only for the same packages on the same target."""
        compiled = "compiled" if self.compiler else "source"
        parts = [RECIPE.encode(), self.name.encode(), self.python.encode(), compiled.encode(), requirements]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def aws_target() -> Target:
    """Return Lambda on arm64. It takes wheels only: a source build on this machine would be for the wrong one."""
    options = ("--python-platform", LAMBDA_PLATFORM, "--python-version", LAMBDA_PYTHON)
    compiler = interpreter(LAMBDA_PYTHON)
    return Target("lambda-arm64", LAMBDA_PYTHON, (*options, "--only-binary", ":all:"), compiler)


def local_target() -> Target:
    """Return this interpreter, which also runs the functions of the local AWS."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Target(f"local-{sys.platform}", version, ("--python", sys.executable), sys.executable)


def interpreter(version: str) -> str | None:
    """Return an interpreter of this version that is on this machine and works."""
    if not (found := shutil.which(f"python{version}")):
        return None
    ask = [found, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    said = subprocess.run(ask, capture_output=True, text=True, check=False)
    return found if said.stdout.strip() == version else None


def dependencies_layer(*, local: bool) -> Path:
    """Return the directory of the dependencies layer, and build it if it does not exist.

    Raise LayerBuildError when a package cannot be installed for the target.
    """
    target = local_target() if local else aws_target()
    finished = BUILD / f"{target.name}-{target.key(REQUIREMENTS.read_bytes())}"
    if not finished.is_dir():
        _build(target, finished)
    return finished


def _build(target: Target, finished: Path) -> None:
    # Built in another directory and renamed, so that an interrupted or concurrent build leaves no half layer.
    BUILD.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=BUILD))
    try:
        _install(target, draft / "python")
        _compile(target, draft / "python")
        draft.chmod(0o755)
        draft.rename(finished)
    except OSError:
        # A concurrent build finished first, and its layer is the same.
        if not finished.is_dir():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _install(target: Target, into: Path) -> None:
    command = [_uv(), "pip", "install", "--quiet", "--target", str(into), *target.install_options]
    command += ["--require-hashes", "--requirement", str(REQUIREMENTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LayerBuildError(f"the {target.name} layer: {done.stderr.strip()}")
    shutil.rmtree(into / "bin", ignore_errors=True)
    (into / ".lock").unlink(missing_ok=True)


def _compile(target: Target, directory: Path) -> None:
    """Add bytecode. Lambda mounts layers read-only, so without it every cold start compiles the packages again.

    Bytecode of another version than the target's would be useless, so there is none without an interpreter of that
    version. The archive does not keep the times of files, so the bytecode must not be checked against them.
    """
    if target.compiler is None:
        return
    command = [target.compiler, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    # A package may contain a file for another version of Python, which cannot be compiled.
    subprocess.run([*command, "-s", str(directory), str(directory)], capture_output=True, check=False)


def _uv() -> str:
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("uv")
    if not found:
        raise LayerBuildError("uv is not installed; `make install` brings it")
    return found


def main() -> None:
    """Print the layer's directory, building it if need be."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--local", action="store_true", help="for this interpreter instead of AWS Lambda")
    sys.stdout.write(f"{dependencies_layer(local=parser.parse_args().local)}\n")


if __name__ == "__main__":
    main()
