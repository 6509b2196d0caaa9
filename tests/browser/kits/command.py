"""Run a command that the console shows."""

import json
import shlex
from typing import Any

from click.testing import CliRunner
from playwright.sync_api import Locator

from onthedot.cli.main import main
from tests.e2e.homes import Api


def run_shown(panel: Locator, api: Api) -> dict[str, Any]:
    """Run the command in a panel of the console, and return the document that it prints."""
    program, *words = shlex.split(panel.inner_text().replace("\\\n", " "))
    assert program == "onthedot"
    environment = {"ONTHEDOT_URL": api.url, "ONTHEDOT_TOKEN": api.token}
    result = CliRunner(env=environment).invoke(main, [*words, "--json"], prog_name=program)
    assert result.exit_code == 0, result.stderr
    return dict(json.loads(result.stdout))
