"""The optional packages that a command may need, and the message when they are not installed."""

from typing import Final

import click

EXTRAS: Final = {
    "boto3": "aws",
    "botocore": "aws",
    "pydantic": "aws",
    "pydantic_core": "aws",
    "typing_extensions": "aws",
    "aws_lambda_powertools": "aws",
    "grpc": "grpc",
    "grpc_reflection": "grpc",
    "google": "grpc",
    "pytest": "testing",
    "uvicorn": "serve",
}
"""The extra of the distribution that brings each import package."""
TITLES: Final = {
    "aws": "the AWS packages",
    "grpc": "the gRPC packages",
    "serve": "the packages of a server",
    "testing": "the packages for tests",
}


class MissingExtra(click.ClickException):
    """A command needs packages that are not installed."""

    exit_code = 2

    def __init__(self, command: str, extra: str) -> None:
        super().__init__(f"{command} needs {TITLES[extra]}: pip install 'onthedot[{extra}]'")


def missing_extra(error: ModuleNotFoundError, command: str) -> MissingExtra | None:
    """Return the error to show instead of this one, or None when the module is not one of an extra."""
    extra = EXTRAS.get((error.name or "").partition(".")[0])
    if extra is not None and command.endswith("serve"):
        extra = "serve"  # it has all that a server needs
    return None if extra is None else MissingExtra(command, extra)
