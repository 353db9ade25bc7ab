"""What secrets look like by themselves: keys with a prefix, tokens, key blocks, addresses.

Letters and digits are ASCII's throughout, so that a key is found between Chinese characters
as well as between spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["RULES", "Rule", "is_template"]

Accept = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """One kind of secret.

    Attributes:
        kind: What it is called where it was taken out.
        pattern: Finds it; of several groups the first that matched is the secret.
        hints: A text without any of these, in lower case, holds no such secret.
        begins: It is looked for only where a hint stands, and begins there.
        whole: Its groups are no more than parts of the secret.
        accept: Tells of a match whether it is one; None: each is.
    """

    kind: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    accept: Accept | None = None
    begins: bool = False
    whole: bool = False


_TEMPLATE = re.compile(
    r"[<>{}$%]|\A\[.*\]\Z|\A[*.xX•_-]{3,}\Z|\b(?:your|the|some)[-_ ]|\.\.\.|\*{3}|x{4,}|…"
    r"|\A\[?redacted|(?-i:\bexample\b)|placeholder|changeme|process\.env|environ|getenv",
    re.IGNORECASE,
)


def is_template(value: str) -> bool:
    """Whether a value stands for a secret without being one, such as ``${TOKEN}`` or ``xxxx``."""
    return _TEMPLATE.search(value) is not None


def _random(match: re.Match[str]) -> bool:
    """Accept what is not made of words: it has several digits, and letters."""
    value = match[match.lastindex or 0]
    body = value.lstrip("sk-")
    return sum(c.isdigit() for c in body) >= 2 and any(c.isalpha() for c in body)


def _no_template(match: re.Match[str]) -> bool:
    return not is_template(match[1])


def _key(kind: str, prefix: str, body: str, *, accept: Accept | None = None) -> Rule:
    """Return the rule of a key that begins with a prefix of its provider."""
    pattern = re.compile(rf"(?<![A-Za-z0-9_]){prefix}{body}", re.ASCII)
    return Rule(kind=kind, pattern=pattern, hints=_literals(prefix), accept=accept, begins=True)


def _literals(prefix: str) -> tuple[str, ...]:
    """Return the texts a prefix stands for, in lower case: ``gh[po]_`` is ghp_ and gho_."""
    choice = re.search(r"\[(\w+)\]|\(\?:([^)]*)\)", prefix)
    if choice is None:
        return (prefix.replace("\\", "").lower(),)
    options = list(choice[1]) if choice[1] else choice[2].split("|")
    return tuple(
        literal
        for option in options
        for literal in _literals(prefix[: choice.start()] + option + prefix[choice.end() :])
    )


_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]{0,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:(?:\\r|\\n|[\s>|])*[A-Za-z0-9+/=]{16,100}){0,400})"
)
_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\"'<>`,，。]{0,100}:"
    r"([^\s/@\"'<>`，。]{1,200}(?:@[^\s/@\"'<>`:，。]{1,60}(?=@))?)@(?=[A-Za-z0-9\[$<{])",
    re.ASCII,
)

RULES: tuple[Rule, ...] = (
    Rule(kind="private-key", pattern=_BLOCK, hints=("private key",)),
    Rule(kind="password", pattern=_ADDRESS, hints=("://",), accept=_no_template),
    Rule(
        kind="json-web-token",
        pattern=re.compile(
            r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"
        ),
        hints=("eyj",),
    ),
    Rule(
        kind="bearer-token",
        pattern=re.compile(
            r"(?<![A-Za-z0-9])(?:bearer|authorization\\*[\"']?\s{0,3}[:=]\s{0,3}\\*[\"']?"
            r"(?:basic|token|digest|apikey))\s{1,3}([A-Za-z0-9._~+/=-]{12,4096})",
            re.IGNORECASE,
        ),
        hints=("bearer", "authorization"),
        accept=lambda match: any(c.isdigit() for c in match[1]) and not is_template(match[1]),
    ),
    Rule(
        kind="signature",
        pattern=re.compile(
            r"[?&](?:sig|x-(?:amz|goog)-signature|x-amz-security-token)=([A-Za-z0-9%+/=_-]{16,2048})",
            re.IGNORECASE,
        ),
        hints=("sig=", "signature=", "security-token="),
    ),
    Rule(
        kind="password",
        pattern=re.compile(
            r"\bcurl\b[^\n|;]{0,400}?\s(?:-u|--user)[ =]?\\?[\"']?[^\s:\"'\\]{1,100}:"
            r"([^\s\"'\\]{3,200})"
            r"|\bsshpass\s+-p\s*\\?[\"']?([^\s\"'\\]{3,200})"
            r"|\b(?:mysql|mysqldump|mariadb)\b[^\n|;]{0,200}?\s-p\\?[\"']?([^\s\"'\\-][^\s\"'\\]{3,200})"
            r"|\bredis-cli\b[^\n|;]{0,200}?\s-a\s+\\?[\"']?([^\s\"'\\]{4,200})",
            re.ASCII,
        ),
        hints=("curl", "sshpass", "mysql", "mariadb", "redis-cli"),
        accept=lambda match: not is_template(match[match.lastindex or 0]),
    ),
    _key("api-key", r"sk-", r"[A-Za-z0-9_-]{20,200}", accept=_random),
    _key("api-key", r"(?:AIza|ya29\.|GOCSPX-)", r"[A-Za-z0-9_-]{20,400}", accept=_random),
    _key("api-key", r"hf_", r"[A-Za-z0-9]{30,60}"),
    _key("api-key", r"gsk_", r"[A-Za-z0-9]{40,80}"),
    _key("api-key", r"xai-", r"[A-Za-z0-9]{40,100}"),
    _key("api-key", r"pplx-", r"[A-Za-z0-9]{40,80}"),
    _key("api-key", r"r8_", r"[A-Za-z0-9]{30,60}"),
    _key("api-key", r"nvapi-", r"[A-Za-z0-9_-]{40,100}"),
    _key("api-key", r"tvly-", r"[A-Za-z0-9-]{20,80}", accept=_random),
    _key("api-key", r"lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    _key("api-key", r"lin_api_", r"[A-Za-z0-9]{30,60}"),
    _key("api-key", r"ntn_", r"[A-Za-z0-9]{40,60}"),
    _key("access-token", r"github_pat_", r"[A-Za-z0-9_]{40,120}"),
    _key("access-token", r"gh[pousr]_", r"[A-Za-z0-9]{36,255}"),
    _key("access-token", r"npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _key("access-token", r"dckr_pat_", r"[A-Za-z0-9_-]{20,60}"),
    _key("access-token", r"dop_v1_", r"[0-9a-f]{64}"),
    _key("access-token", r"dapi", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _key("access-token", r"shp(?:at|ca|pa|ss)_", r"[0-9a-fA-F]{32}"),
    _key("access-token", r"sbp_", r"[0-9a-f]{40}"),
    _key("access-token", r"hvs\.", r"[A-Za-z0-9_-]{24,200}"),
    _key("access-token", r"glsa_", r"[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    _key("access-token", r"xapp-", r"\d-[A-Z0-9]{8,14}-\d{8,16}-[a-f0-9]{32,80}"),
    _key("access-token", r"xox[abeoprs]-", r"[A-Za-z0-9-]{20,260}", accept=_random),
    _key("access-key", r"LTAI", r"[A-Za-z0-9]{12,24}(?![A-Za-z0-9])", accept=_random),
    _key("access-key", r"AKID", r"[A-Za-z0-9]{28,36}(?![A-Za-z0-9])", accept=_random),
    _key("secret-key", r"[rs]k_(?:live|test)_", r"[A-Za-z0-9]{20,120}"),
    _key("secret-key", r"whsec_", r"[A-Za-z0-9+/=]{24,80}"),
    _key("secret-key", r"AGE-SECRET-KEY-1", r"[A-Z0-9]{50,70}"),
)
