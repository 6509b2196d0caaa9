"""What a function loads before its first event, each in a process of its own with the environment of Lambda."""

import subprocess
import sys

import pytest

from benchmarks.imports import CORE, FUNCTIONS, Function, environment, handler_of


def loaded_by(function: Function, **variables: str) -> set[str]:
    """Return the modules of boto3 and botocore that a function loads. Powertools loads the empty shell of botocore."""
    done = subprocess.run(
        [sys.executable, "-c", f"{handler_of(function)}; print(*sys.modules)"],
        env=environment(function, [CORE], **variables),
        capture_output=True,
        text=True,
        check=True,
    )
    return {name for name in done.stdout.split() if name.partition(".")[0] in ("boto3", "botocore")} - {"botocore"}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_a_function_loads_no_boto3_before_it_needs_another_service(function: Function) -> None:
    assert loaded_by(function) == set()


@pytest.mark.parametrize(
    "variables", [{"ONTHEDOT_AWS_CLIENT": "boto3"}, {"AWS_USE_FIPS_ENDPOINT": "true"}, {"AWS_ACCESS_KEY_ID": ""}]
)
def test_boto3_is_used_where_the_lean_client_is_turned_off_or_does_not_fit(variables: dict[str, str]) -> None:
    assert "boto3" in loaded_by(FUNCTIONS[0], **variables)
