"""Remove secrets from recorded errors: messages quote URLs, headers and answers, and history is kept for long."""

import re
from typing import Final

HIDDEN: Final = "***"


_WORDS: Final = (
    r"(?:password|passwd|passphrase|\bpass|pwd|secret|token|api[-_]?key|access[-_]?key|credential|signature|\bsig)"
)


_QUOTED: Final = r"\"(?:[^\"\\]|\\.)*\"?"
"""A quoted text, also without its end, because recorded messages are cut."""


_RULES: Final = (
    # `Bearer …`, `Basic …`
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}"), rf"\1 {HIDDEN}"),
    # `Authorization: Token …`, `Set-Cookie: …`: to the end of the line or of the quoted text
    (re.compile(rf"(?i)((?:authorization|cookie)[\"']?\s*[=:]\s*)({_QUOTED}|[^\n\"]+)"), rf"\1{HIDDEN}"),
    # `https://user:password@host`, `https://token@host`
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30}://)[^\s/@]+@"), rf"\1{HIDDEN}@"),
    (re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"), HIDDEN),
    # `password=…`, `"api_key": "…"`, `X-Auth-Token: …`
    (re.compile(rf"(?i)({_WORDS}[\w-]{{0,60}}[\"']?\s*[=:]\s*)({_QUOTED}|'[^']*'?|[^\s,;&\"'}}]+)"), rf"\1{HIDDEN}"),
    # AWS access keys, signing secrets, JSON web tokens
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), HIDDEN),
    (re.compile(r"\bwhsec_[A-Za-z0-9+/=]{8,}"), HIDDEN),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), HIDDEN),
)


def redacted(text: str) -> str:
    """Return the text with everything hidden that looks like a secret. It hides too much rather than too little."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
