"""Targets: one of each type, and those with which to try the rules, where parsers are known to disagree."""

from collections.abc import Iterator

from onthedot.targets.types import (
    AwsTarget,
    GrpcTarget,
    HttpTarget,
    LambdaTarget,
    PythonTarget,
    ShellTarget,
    Target,
)

OF_EACH_TYPE: dict[str, Target] = {
    "http": HttpTarget("http://127.0.0.1:9/", headers={"X-Team": "a"}),
    "grpc": GrpcTarget("127.0.0.1:9", "package.Service/Method", tls=False),
    "lambda": LambdaTarget("not-allowed"),
    "aws": AwsTarget("sqs", "SendMessage", {"QueueUrl": "q"}),
    "shell": ShellTarget(("true",)),
    "python": PythonTarget("handler"),
}
"""The types that users can name, with every field."""

_LONG_NAME = ".".join(["a" * 63] * 3 + ["a" * 61])
"""The longest name that DNS has: 253 characters."""

GOOD_URLS = [
    *("http://a", "hTTps://A.test/", "https://a:443", "http://a:", "http://a:?x", "http://a:65535", "http://a:000080/"),
    *("http://a?x", "http://a#f", "http://a/;p?q#f", "http://a/@b:c@d", "http://a:80/:90", "http://a/..//../"),
    *("http://a/%zz", "http://a/%0d%0a", "http://a/'\"<>^`{}|[b]"),
    *("http://[::1]/", "http://[::1]:8", "http://[::ffff:1.2.3.4]/"),
    *("http://a.b.:80", "http://-a_b/", "http://127.1/", "http://0x7f000001/", "http://256.256.256.256/"),
    *(f"http://{_LONG_NAME}./", f"http://a/{'x' * 2039}"),
]
BAD_URLS = {
    "scheme": ["", "a", "//a", "ftp://a/", "javascript:alert(1)", "http+unix://a/"],
    "host": [
        *("http:", "http:///x", "https:a", "http:/a", "http://:80/", "http://a..b/", "http://./", "http://a;b"),
        *("http://a%41/", "http://a~/", "http://<a>/", "http://{a}/"),
        *("http://::1/", "http://[::1", "http://[::1]x/", "http://x[::1]/", "http://[[::1]]/", "http://[::1]80/"),
        *("http://[]/", "http://[::G]/", "http://[fe80::1%eth0]/", "http://[fe80::1%25eth0]/", "http://[1.2.3.4]/"),
        *(f"http://{'a' * 64}/", f"http://{_LONG_NAME}a/"),
    ],
    "port": [
        *("http://a:0", "http://a:65536", "http://a:99999999999999", "http://a:-1", "http://a:1_0", "http://a:x"),
        *("http://a:80:80", "http://[::1]:0"),
    ],
    "credentials": ["http://u@a/", "http://u:p@a/", "http://@a/", "http://a:b@c/"],
    "percent-encode": [
        *("http://a\\b/", "http://a\\@b/", "http:\\\\a", "http://a/\t", " http://a", "http://a\n", "http://a/\x00"),
        *("http://é/", "http://a/\x7f", "http://a\u3002b/", "http://a/\ud800", "http://a／b/", "http://a:٣"),
        *("http://a\r\nX: y/", "http://a/ HTTP/1.1"),
    ],
    "at most 2048": [f"http://a/{'x' * 2040}"],
}

GOOD_METHODS = ["POST", "PUT", "PATCH", "GET", "DELETE", "HEAD", "OPTIONS"]
BAD_METHODS = ["", "get", "GET ", "GET\n", "TRACE", "CONNECT", "poſt", "GET /x HTTP/1.1\r\n"]

GOOD_HEADER_NAMES = ["a", "!#$%&'*+-.^_`|~", "authorization", "user-agent", "x-onthedot", "webhook", "X" * 300]
BAD_HEADER_NAMES = {
    "not a header name": ["", "a b", "a:b", "a\r\nb", "é", "x\n", "a/b", "a\x00", "\u212aeep-alive", "\ud800"],
    "set by the scheduler": [
        *("Host", "content-length", "Transfer-Encoding", "connection", "te", "trailer", "upgrade", "expect"),
        *("keep-alive", "proxy-connection", "Idempotency-Key", "X-Onthedot-New", "webhook-id"),
    ],
}

GOOD_HEADER_VALUES = ["", "a b", "é\xff", "a\xa0a", '"q";', "x" * 8187]
BAD_HEADER_VALUES = [" a", "a ", "a\tb", "a\nb", "a\rb", "\x00", "a\x1f", "a\x7f", "a\x85b", "\xa0", "\u0100", "\ud800"]
BAD_HEADERS = {
    "at most 50": {f"X{number}": "v" for number in range(51)},
    "two spellings": {"a": "1", "A": "2"},
    "8,193 bytes": {"X": "x" * 8188},
}

GOOD_ADDRESSES = ["HOST:1", "a.:65535", "_a-:00001", "127.1:1", "[::1]:1", "[::ffff:1.2.3.4]:00443", f"{_LONG_NAME}:1"]
BAD_ADDRESSES = {
    "host:port": [
        *("", "host", "host:", "host:0", ":1", "host:65536", "host:٣", "host: 1", "host:1\n", "a:+1", "a:1_0"),
        *("http://host:1", "unix:/x", "unix:x:1", "dns:host:1", "u:p@h:1", "h:1/x", "h:1?x", "a:1,b:2", "a,b:1"),
        *("::1:80", "[::1]", "[]:1", "[1.2.3.4]:1", "[fe80::1%eth0]:1", "x[::1]:1", "[[::1]]:1", "a..b:1", ".:1"),
        *("a\\b:1", "é:1", "a%41:1", "a\x00:1", "a\ud800:1", f"{'a' * 64}:1"),
    ],
    "at most 255": [f"{_LONG_NAME}.:1"],
}

GOOD_RPCS = ["S/M", "/p.q.S/M", "_S/_M"]
BAD_RPCS = {
    "package.Service/Method": [
        *("", "S/", "/M", "//S/M", ".S/M", "p..S/M", "S/M\n", "S.M", "p/S/M", "1S/M", "S/1M", "S-a/M", "S/é"),
        *("S/M.N", "S/M?x", "S/M/", "\ud800/M"),
    ],
    "at most 255": [f"{'S' * 600}/M"],
}

GOOD = [
    *(HttpTarget(url) for url in GOOD_URLS),
    *(HttpTarget("http://a/", method) for method in GOOD_METHODS),
    *(HttpTarget("http://a/", headers={name: "v"}) for name in GOOD_HEADER_NAMES),
    *(HttpTarget("http://a/", headers={"X": value}) for value in GOOD_HEADER_VALUES),
    HttpTarget("http://a/", headers={f"X{number}": "v" for number in range(50)}),
    *(GrpcTarget(address, "S/M") for address in GOOD_ADDRESSES),
    *(GrpcTarget("a:1", rpc) for rpc in GOOD_RPCS),
]


def _bad() -> Iterator[tuple[HttpTarget | GrpcTarget, str, str]]:
    for part, urls in BAD_URLS.items():
        yield from ((HttpTarget(url), "target.url", part) for url in urls)
    for method in BAD_METHODS:
        yield HttpTarget("http://a/", method), "target.method", "give 'POST', "
    for part, names in BAD_HEADER_NAMES.items():
        yield from ((HttpTarget("http://a/", headers={name: "v"}), f"target.headers.{name}", part) for name in names)
    for value in BAD_HEADER_VALUES:
        yield HttpTarget("http://a/", headers={"X": value}), "target.headers.X", "line breaks"
    for part, headers in BAD_HEADERS.items():
        yield HttpTarget("http://a/", headers=headers), "target.headers", part
    for part, addresses in BAD_ADDRESSES.items():
        yield from ((GrpcTarget(address, "S/M"), "target.address", part) for address in addresses)
    for part, rpcs in BAD_RPCS.items():
        yield from ((GrpcTarget("a:1", rpc), "target.method", part) for rpc in rpcs)


BAD = list(_bad())
"""A target, the field that is refused, and a part of the message."""
