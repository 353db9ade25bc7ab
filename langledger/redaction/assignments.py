"""Secrets that only their name gives away: ``DB_PASSWORD=…``, ``"api_key": "…"``, ``密码是…``.

A name is no proof: code is full of ``password = form.password``. So what follows the name
must look like a value, and where the name tells less (a token, a key) like a random one.
"""

from __future__ import annotations

import re

from langledger.redaction.rules import Rule, is_template

__all__ = ["ASSIGNMENTS", "NAMES"]

_STRONG = (
    *("password", "passwd", "passphrase", "passcode", "pass_code", "pwd"),
    *("密码", "密碼", "口令"),
)
_WEAK = (
    *("key", "secret", "token", "credential"),
    *("密钥", "密鑰", "秘钥", "秘鑰", "祕鑰", "金钥", "金鑰", "令牌", "权杖", "權杖"),
    *("私钥", "私鑰", "凭证", "憑證", "凭据", "憑據", "授权码", "授權碼"),
)
NAMES = (*_STRONG, *_WEAK)
"""What the name of a secret has in it, in lower case."""
# Quotes that open and close differently; prose has them, and code has not. Which of them closes
# differs between languages: “English”, „German“, »Danish«.
_OPEN = "“”„‘’‚«»‹›「『【＂＇"
_CLOSE = "”“‘’»«›‹」』】＂＇"
_CHINESE = "一-鿿"
_BECOMES = "改成|改为|改為|设成|设为|設為|设置为|更新为|更新成|重置为|重置成|换成|就是|还是"
_NAMED = re.compile(
    rf"(?:(?P<strong>{'|'.join(_STRONG)})|(?P<weak>{'|'.join(_WEAK)})s?)"
    r"(?:[_-]?(?:base|prod|dev|test|staging|value|old|new|\d{1,3}))?"
    r"(?: (?:for|of|on) (?:the )?[\w.@/-]{1,40}(?: [\w.@/-]{1,40})?(?=\s{0,2}[:=]| is\b))?"
    rf"(?P<named>\\{{0,3}}[\"'`\]){_CLOSE}]{{1,2}})?\s{{0,4}}"
    r"(?P<sign>:=|=>|={1,3}|!==?|[:：＝]|[是为為]|\bis\b|\bwas\b|>"
    rf"|(?:已|被)?(?:{_BECOMES})了?|[(（]|(?<=[{_CHINESE}])(?=[A-Z0-9])|(?<=\s)"
    rf"|(?=[{_OPEN}]))\s{{0,4}}"
    rf"(?:(?:\\{{0,3}}(?P<quote>[\"'`])|(?P<open>[{_OPEN}])[ \u00a0\u202f]?)"
    r"(?P<quoted>(?(quote)[^\"'`\s\\]{4,400}(?=\\{0,3}(?P=quote))"
    rf"|[^\s{_OPEN}{_CLOSE}\u2e80-\uffef]{{4,400}}(?=[ \u00a0\u202f]?[{_CLOSE}])))"
    r"|(?P<bare>[!#%&*+\-./0-9:=?@A-Z^_a-z~$]{4,400}))",
    re.IGNORECASE | re.ASCII,
)
_KEYS = re.compile(
    r"(?:secret|access|private|api|auth|account|service|client|encryption|signing|master|admin)"
    r"[ _-]?\Z",
    re.IGNORECASE,
)
_FLAG = re.compile(r"(?<![A-Za-z0-9-])--?(?:[a-z]{1,16}-)*\Z", re.IGNORECASE)
_BEFORE = re.compile(r"[A-Za-z0-9_.-]{0,40} ?\Z")
_NO_SECRET_NAMES = re.compile(
    r"(?:page|next|prev|cancel\w*|continuation|sync|cursor|public|foreign|primary|sort|cache"
    r"|partition|design|syntax|stop|start|special|lock|idempotency|translation)[_-]?\Z",
    re.IGNORECASE,
)
_IS = frozenset("是为為")
_NAME = re.compile(r"\A[\"'`]?[A-Za-z_$@][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)+\Z", re.ASCII)
_WORDS = re.compile(r"\A[A-Za-z]+(?:[._:/ -][A-Za-z]+)*\Z")
_WORDS_AND_NUMBERS = re.compile(r"\A(?:[A-Za-z]+\d?|\d{1,4})(?:[._:/-](?:[A-Za-z]+\d?|\d{1,4}))*\Z")
_SOUNDS_LIKE_NAME = re.compile(
    r"passw|passwd|secret|token|api.?key|field|input|label", re.IGNORECASE
)
_PATH = re.compile(r"\A(?:[/~]|\.{1,2}/|[A-Za-z]:\\|https?:|file:)")
_ADDRESS = re.compile(r"\w@\w[\w-]*\.\w")
_HASH = re.compile(r"\A(?:sha\d*|md5|\$argon2|\$2[aby]\$)[:$-]?", re.IGNORECASE)


def _accepts(match: re.Match[str]) -> bool:
    value = match["quoted"] or match["bare"].rstrip(".:;?")
    if is_template(value) or _PATH.search(value) or _HASH.search(value):
        return False
    before = _before(match)
    if _is_apart(match):
        stands = _FLAG.search(before) or _stands_quoted(match, value) or _follows(match, value)
        if not stands:
            return False
    if match["quoted"] is None and _is_code(match, value):
        return False
    if match["strong"]:
        return _is_password(match, value)
    if match["weak"].lower() == "key" and not (_KEYS.search(before) or _FLAG.search(before)):
        return False
    return not _NO_SECRET_NAMES.search(before) and _is_random(value)


def _stands_quoted(match: re.Match[str], value: str) -> bool:
    """Whether it stands in quotes of prose right behind its name, and is no word or version.

    Behind a name in quotes of its own it may be no more than the next of a list.
    """
    if match["open"] is None or match["named"]:
        return False
    return len(value) >= 6 and (value.isalnum() or not _WORDS_AND_NUMBERS.match(value))


def _is_apart(match: re.Match[str]) -> bool:
    """Whether no sign says that what follows the name is its value."""
    sign = match["sign"]
    return (
        not sign or sign in "(（" or re.fullmatch(rf"(?:已|被)?(?:{_BECOMES})了?", sign) is not None
    )


def _follows(match: re.Match[str], value: str) -> bool:
    """Whether it follows a name that tells enough and is no word: password x, 密码改成了x."""
    tells = match["strong"] or not match["weak"].isascii()
    return bool(tells) and match["quoted"] is None and _looks_made(value)


def _looks_made(value: str) -> bool:
    """Whether a value is a made one: letters and digits, mixed as no name of a thing is."""
    digits = any(c.isdigit() for c in value)
    if len(value) < 8 or not digits or _WORDS_AND_NUMBERS.match(value):
        return False
    if any(c in "/=()" for c in value) or not any(c.isalpha() for c in value):
        return False
    if _ADDRESS.search(value):
        return False
    changes = len(re.findall(r"\d(?=[A-Za-z])", value))
    return changes >= 2 or any(c in "!#%&*+?@^~" for c in value)


def _before(match: re.Match[str]) -> str:
    """Return what stands directly before the name, and may be a part of it."""
    found = _BEFORE.search(match.string[max(match.start() - 41, 0) : match.start()])
    return found[0] if found else ""


def _is_code(match: re.Match[str], value: str) -> bool:
    """Whether what stands without quotes is an expression and not a value."""
    following = match.string[match.end() : match.end() + 4].lstrip()[:1]
    if (
        following == "="
        or following in {"(", "[", "{"}
        or _NAME.match(value)
        or value[0] in "@:?&*=!"
    ):
        return True
    # In code a name and a value are apart; in a shell or a settings file a value has no quotes.
    return match["sign"] in {"==", "===", "!=", "!==", "=>", ":="}


def _is_password(match: re.Match[str], value: str) -> bool:
    if match["sign"].lower() in {"is", "was", *_IS} and len(value) < 8 and value.isascii():
        return match["sign"] in _IS and len(value) >= 6 and _mixed(value)
    if _is_environment(match):
        return value.lower() not in {"none", "null", "true", "false"} and not value.startswith("/")
    if _SOUNDS_LIKE_NAME.search(value) and not any(c.isdigit() for c in value):
        return False
    return len(value) >= 5 and not _WORDS.match(value) and not value.isdigit() and _mixed(value)


def _is_environment(match: re.Match[str]) -> bool:
    """Whether it is written as an environment's variable is: ``DB_PASSWORD=secret``."""
    name = f"{_before(match)}{match['strong']}"
    return name.isupper() and match["sign"] == "=" and name not in {"PWD", "OLDPWD"}


def _mixed(value: str) -> bool:
    """Whether a value has something besides letters, as names hardly have."""
    return any(not c.isalpha() and c not in "_-./:" for c in value)


def _is_random(value: str) -> bool:
    if len(value) < 12 or _WORDS_AND_NUMBERS.match(value):
        return False
    digits, letters = sum(c.isdigit() for c in value), sum(c.isalpha() for c in value)
    return digits >= (1 if len(value) >= 30 else 2) and letters >= 2 and len(set(value)) >= 8


ASSIGNMENTS = (Rule(kind="secret", pattern=_NAMED, hints=NAMES, accept=_accepts, begins=True),)
