"""The end of a deployment: the URLs of a stage, and the next step."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

CONSOLE_SECONDS: Final = 10


def api_url_of(outputs: Mapping[str, str], endpoint_url: str | None) -> str:
    """Return the URL before the paths of the API, without a slash at the end. Raise KeyError when it is unknown.

    At a substitute for AWS it is the form with the path: the form with the host would need a name server for it.
    """
    url = outputs["ApiUrl"].rstrip("/")
    if endpoint_url is None:
        return url
    stage = urlsplit(url).path.strip("/")
    return f"{endpoint_url.rstrip('/')}/restapis/{outputs['ApiId']}/{stage}/_user_request_"


def console_url_of(api_url: str) -> str | None:
    """Return the URL of the console, if the API serves one."""
    import urllib3  # noqa: PLC0415 - `--help` needs none

    url = f"{api_url}/console"
    try:
        answer = urllib3.request("GET", url, retries=False, timeout=CONSOLE_SECONDS)
    except urllib3.exceptions.HTTPError:
        return None
    return url if answer.status == 200 else None
