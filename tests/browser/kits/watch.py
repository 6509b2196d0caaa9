"""Watch a page for all that must never happen: errors, requests to other hosts, breaches of the content policy."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

POLICY_LISTENER = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`breach of the content policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
"""


@dataclass
class Watch:
    """What happened on the pages of one context."""

    host: str
    """Host and port of the server. Requests to any other are wrong."""
    wrong: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """Method, path and query of each request."""
    allowed: set[str] = field(default_factory=set)
    """Parts of messages that a test expects."""

    def see(self, context: BrowserContext) -> None:
        """Watch all pages of a context, from their first request."""
        context.add_init_script(POLICY_LISTENER)
        context.on("page", self._see_page)

    def allow(self, *parts: str) -> None:
        """Expect messages with these parts, such as `status of 401`."""
        self.allowed.update(parts)

    def check(self) -> None:
        """Raise AssertionError if something wrong was seen."""
        found = [text for text in self.wrong if not any(part in text for part in self.allowed)]
        assert not found, "the page did what it must not do:\n" + "\n".join(found)

    def count(self, start: str) -> int:
        """Return the number of requests that begin so, as `GET /v1/overview`."""
        return sum(one.startswith(start) for one in self.requests)

    def forget(self) -> None:
        """Count requests anew."""
        self.requests.clear()

    def _see_page(self, page: Page) -> None:
        page.on("console", self._see_message)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("request", self._see_request)

    def _see_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def _see_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("data", "blob"):
            return
        if parts.netloc != self.host:
            self.wrong.append(f"request to another host: {request.url}")
        self.requests.append(f"{request.method} {parts.path}{'?' if parts.query else ''}{parts.query}")
