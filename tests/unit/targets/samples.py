"""Targets to try the rules with: plain ones, and ones that parsers are known to disagree about."""

from collections.abc import Iterator

from onthedot.targets.types import GrpcTarget, HttpTarget

_LONG_NAME = ".".join(["a" * 63] * 3 + ["a" * 61])
"""The longest name that DNS has: 253 characters."""

GOOD_URLS = [
    *("http://a", "http://a/", "HTTP://A.test/", "hTTps://a", "https://a:443", "https://a:80", "http://A.B:80/"),
    *("http://a:", "http://a:/x", "http://a:?x", "http://a:#", "http://a:08", "http://a:65535", "http://a:000000080/"),
    *("http://a?x", "http://a#f", "http://a/#", "http://a/?", "http://a?", "http://a/;p?q#f", "http://a/?["),
    "http://a/]",
    *("http://a/@b", "http://a?@b", "http://a#@b", "http://a/b:c@d", "http://a:80/:90", "http://a/..//../"),
    "http://a//b",
    *("http://a/%zz", "http://a/%", "http://a/%0d%0a", "http://a/%2e%2e", "http://a/'", 'http://a/"', "http://a/<>"),
    *("http://a/^", "http://a/`", "http://a/{}", "http://a/|", "http://a/[b]"),
    *("http://[::1]/", "http://[::1]:8", "http://[::1]:", "http://[::ffff:1.2.3.4]/", "http://[0:0:0:0:0:0:0:1]/"),
    *("http://a./", "http://a.b.:80", "http://-a/", "http://a-/", "http://_a/", "http://a_b/"),
    "http://xn--bcher-kva.test/",
    *("http://127.1/", "http://0x7f000001/", "http://0/", "http://1.2.3.4.5/", "http://256.256.256.256/"),
    "http://xn--/",
    *(f"http://{'a' * 63}/", f"http://{_LONG_NAME}/", f"http://{_LONG_NAME}./", f"http://{'a.' * 126}a/"),
    f"http://a/{'x' * 2039}",
]
BAD_URLS = {
    "scheme": ["", "a", ":", "//a", "ftp://a/", "javascript:alert(1)", "http+unix://a/", "http//a", "://a"],
    "host": [
        *("http:", "http://", "https://", "http:///x", "https:///", "http:a", "http:/a", "https:a", "http:?", "http:#"),
        *("http://:80/", "http://a..b/", "http://.a/", "http://a../", "http://./", "http://../", "http://a;b"),
        "http://a,b/",
        *("http://a%41/", "http://a%2e/", "http://a!/", "http://a*/", "http://a+b/", "http://a~/", "http://(a)/"),
        *("http://a'/", 'http://a"/', "http://<a>/", "http://a|b/", "http://a^b/", "http://a`/", "http://{a}/"),
        *("http://::1/", "http://[::1", "http://[::1]x/", "http://x[::1]/", "http://[::1]]/", "http://[[::1]]/"),
        *("http://[::1]80/", "http://[::1]x:80/", "http://a[b]/", "http://[]/", "http://[::G]/", "http://[::1%]/"),
        *("http://[fe80::1%eth0]/", "http://[fe80::1%25eth0]/", "http://[v1.a]/", "http://[1.2.3.4]/"),
        *(f"http://{'a' * 64}/", f"http://{_LONG_NAME}a/", f"http://{_LONG_NAME}a./", f"http://{'a.' * 127}a/"),
    ],
    "port": [
        *("http://a:0", "http://a:65536", "http://a:99999999999999", "http://a:-1", "http://a:+1", "http://a:1_0"),
        *("http://a:x", "http://a:80:80", "http://[::1]:0", "http://[::1]:99999", "http://[::1]:8:8/"),
        "http://a:00000",
    ],
    "credentials": ["http://u@a/", "http://u:p@a/", "http://@a/", "http://a@/", "http://a:b@c/"],
    "percent-encode": [
        *("http://a\\b/", "http://a/\\b", "http://a/b\\", "http://a\\@b/", "http:\\\\a", "http://a/\t", "http://a/ "),
        *(" http://a", "http://a\n", "http://a/\x00", "http://a/é", "http://é/", "http://a/\x7f", "http://a/\x80"),
        *("http://a/\u2028", "http://\u3002/", "http://a\u3002b/", "http://a/\ud800", "http://ⓐ/", "http://a／b/"),
        *("http://a℀b/", "http://a:8\r\n", "http://a\r\nX: y/", "http://a/ HTTP/1.1", "http://a:٣", "http://a: 1"),
    ],
    "at most 2048": [f"http://a/{'x' * 2040}", f"http://a?{'x' * 2100}", f"http://{'h' * 9000}/"],
}

GOOD_METHODS = ["POST", "PUT", "PATCH", "GET", "DELETE", "HEAD", "OPTIONS"]
BAD_METHODS = [
    *("", "get", "post", "Post", "GET ", "G ET", "GET\n", "TRACE", "CONNECT", "PROPFIND", "*", "M-SEARCH"),
    *("ſ", "poſt", "optıons", "GET /x HTTP/1.1\r\n", "x" * 5000),
]

GOOD_HEADER_NAMES = [
    *("a", "A", "!#$%&'*+-.^_`|~", "authorization", "cookie", "content-type", "content-encoding", "user-agent"),
    *("accept-encoding", "x-onthedot", "webhook", "date", "via", "range", "set-cookie", "proxy-authorization"),
    *("x-forwarded-for", "X" * 80, "X" * 300),
]
BAD_HEADER_NAMES = {
    "not a header name": [
        *("", "a b", "a:b", "a\r\nb", "é", "x\n", "a\t", "host ", "a/b", "a(b)", "a[b]", "a@b", "a\x00", "a\x7f"),
        *("a,b", "a;b", "a=b", "a{b}", "ſ-te", "\u212aeep-alive", ":authority", "\ud800"),
    ],
    "set by the scheduler": [
        *("Host", "hOst", "content-length", "Content-Length", "transfer-encoding", "connection", "te", "TE", "trailer"),
        *("upgrade", "expect", "keep-alive", "proxy-connection", "idempotency-key", "Idempotency-Key"),
        *("x-onthedot-job", "X-Onthedot-New", "webhook-id", "Webhook-X"),
    ],
}

GOOD_HEADER_VALUES = ["", "a", "a b", "é", "\xff", "a\xa0a", '"q"', ";", "\xad", "x" * 8187]
BAD_HEADER_VALUES = [
    *(" a", "a ", "\ta", "a\tb", "a\t", "a\r\nb", "a\nb", "a\rb", "\x00", "a\x0b", "a\x0c", "a\x1c", "a\x1f", "a\x7f"),
    *("a\x80", "a\x85", "a\x85b", "a\x9f", "a\xa0", "\xa0", "日本", "\u2028", "\u0100", "\ud800", "a\r\nX-Evil: 1"),
]
BAD_HEADERS = {
    "at most 50": {f"X{number}": "v" for number in range(51)},
    "two spellings": {"a": "1", "A": "2"},
    "8,193 bytes": {"X": "x" * 8188},
}

GOOD_ADDRESSES = [
    *("host:1", "host:65535", "host:00001", "HOST:1", "a.:1", "_a:1", "-a:1", "-:1", "a_b:1", "xn--a:1", "127.1:1"),
    *("0x7f000001:1", "0:1", "1.2.3.4.5:1", "[::1]:1", "[::ffff:1.2.3.4]:1", "[0:0:0:0:0:0:0:1]:1", "[::1]:00443"),
    *(f"{'a' * 63}:1", f"{_LONG_NAME}:1"),
]
BAD_ADDRESSES = {
    "host:port": [
        *("", "host", "host:", "host:0", ":1", "host:65536", "host:٣", "host: 1", "host:1 ", " host:1", "host:1\n"),
        *("http://host:1", "https://h:1", "unix:/x", "unix:x:1", "dns:host:1", "ipv4:1.2.3.4:5", "a@b:1", "u:p@h:1"),
        *("::1:80", "[::1]", "[::1]:", "[::1]:0", "[x]:1", "[]:1", "[1.2.3.4]:1", "[fe80::1%eth0]:1"),
        *("[fe80::1%25e]:1", "[v1.a]:1", "x[::1]:1", "[::1]x:1", "[[::1]]:1", "[::G]:1", "a..b:1", ".a:1", "..:1"),
        *(".:1", "...:1"),
        *("a/b:1", "a\\b:1", "a b:1", "é:1", "a%41:1", "a,b:1", "a;b:1", "a:1:2", "a:1,b:2", "a:+1", "a:-1", "a:1_0"),
        *("a\x00:1", "a\ud800:1", "ſ:1", "h:1/x", "h:1?x", "h:1#x", f"{'a' * 64}:1"),
    ],
    "at most 255": [f"{'x' * 600}:1", f"{_LONG_NAME}.:1", f"{_LONG_NAME}a:1", f"{'a.' * 127}:1"],
}

GOOD_RPCS = ["S/M", "/S/M", "p.S/M", "p.q.S/M", "_S/_M", "s/m"]
BAD_RPCS = {
    "package.Service/Method": [
        *("", "S", "S/", "/M", "//S/M", "S//M", ".S/M", "p..S/M", "p.S./M", "S/M\n", "S/M ", "S.M", "p/S/M", "1S/M"),
        *("S/1M", "S-a/M", "S/M-a", "é/M", "S/é", "S٣/M", "S/M.N", "S\\M", "S/M?x", "S/*", "S/M/", "S/M\x00"),
        "\ud800/M",
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
