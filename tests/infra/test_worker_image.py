"""The image of the worker: its content, and that it runs the command which the local tests run as a process."""

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from onthedot.cli.main import main
from tests.infra.kit import ROOT, Assembly

DOCKERFILE = (ROOT / "Dockerfile").read_text()
OPTIONS = {
    "pull": "--shell --json --concurrency 4 --cpu 1 --memory-mb 1920 --grace 105",
    "render": "--direct --json --concurrency 2 --cpu 0.5 --memory-mb 896 --grace 105 --aws --capability chromium",
}


def instruction(name: str) -> str:
    """The last instruction of this name, on one line."""
    found = re.findall(rf"^{name} +((?:.*\\\n)*.*)$", DOCKERFILE, re.MULTILINE)
    return str(found[-1]).replace("\\\n", " ")


def command(assembly: Assembly, pool: str) -> list[str]:
    task = assembly.named("AWS::ECS::TaskDefinition", "Family", f"worker-{pool}")
    [container] = task["ContainerDefinitions"]
    assert "EntryPoint" not in container, "the image has the only say in that"
    return list(container["Command"])


def images(assembly: Assembly) -> list[tuple[Path, dict[str, Any]]]:
    """Where the content of each image is, and how it is built."""
    assets = json.loads((assembly.directory / f"{assembly.config.name('fargate')}.assets.json").read_text())
    sources = [asset["source"] for asset in assets["dockerImages"].values()]
    return [(assembly.directory / source["directory"], source) for source in sources]


@pytest.mark.parametrize("pool", sorted(OPTIONS))
def test_a_task_runs_the_images_own_command_for_its_pool(fargate: Assembly, pool: str) -> None:
    entry, default = json.loads(instruction("ENTRYPOINT")), json.loads(instruction("CMD"))
    assert (entry, default) == (["onthedot"], ["worker"])
    name, *arguments = command(fargate, pool)
    assert [name, *arguments] == [*default, "--pool", pool, *OPTIONS[pool].split()]
    worker = main.get_command(click.Context(main), name)
    assert worker is not None
    assert worker.make_context(name, arguments).params["grace"] < 120, "the rest is for handing back"


def test_a_pool_can_have_an_app_in_an_image_of_its_own(other: Assembly) -> None:
    assert " --app shop.jobs" in " ".join(command(other, "shop"))
    assert any("COPY shop shop" in (folder / "Dockerfile").read_text() for folder, _ in images(other))


def test_the_image_runs_as_nobody_in_particular_and_its_tmp_is_a_volume() -> None:
    assert instruction("USER") == "10001"
    assert DOCKERFILE.index("\nUSER") > DOCKERFILE.rindex("\nRUN"), "it must not be able to change what is installed"
    # Fargate takes the rights of a mounted volume from the image, if it says that it is one.
    assert json.loads(instruction("VOLUME")) == ["/tmp"]
    assert "--require-hashes" in DOCKERFILE


def test_everything_that_is_copied_is_there_and_nothing_else_is_sent(fargate: Assembly) -> None:
    [(directory, built)] = images(fargate)
    assert built["platform"] == "linux/arm64"
    copied = [line.split()[1:-1] for line in DOCKERFILE.splitlines() if line.startswith("COPY")]
    wanted = {source for sources in copied for source in sources}
    assert all((directory / source).exists() for source in wanted)
    sent = {path.name for path in directory.iterdir()}
    assert sent == {"Dockerfile", ".dockerignore", *(source.split("/")[0] for source in wanted)}
    files = {path.relative_to(directory) for path in (directory / "layers").rglob("*") if path.is_file()}
    assert all(path.is_relative_to("layers/core/python/onthedot") for path in files)
    assert not [path for path in files if path.suffix == ".pyc"]
