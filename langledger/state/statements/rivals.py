"""Two choices of one thing, of which only the newer holds: tabs or spaces, one cache or another.

A choice names one value and may say what for. Two of them are rivals where both are for the same
one thing, or where their values are of one family, of which a project has one. In doubt they are
none: two records that both hold harm less than one that is lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from langledger.state.statements.wording import features

__all__ = ["Choice", "choice_in", "kin", "kin_in", "rivals"]

_FAMILIES = tuple(
    frozenset(names.split())
    for names in (
        "postgres postgresql mysql mariadb sqlite duckdb mongodb cockroachdb",
        "redis memcached valkey",
        "rabbitmq kafka nats",
        "npm yarn pnpm bun",
        "pip poetry pipenv conda uv",
        "tab tabs space spaces 空格 制表符",
        "camelcase snake_case kebab-case pascalcase 驼峰 下划线",
        "bcrypt argon2 scrypt pbkdf2",
        "rest graphql grpc",
        "jest vitest mocha",
        "pytest unittest",
        "requests httpx aiohttp",
        "axios fetch ky",
        "react vue svelte angular",
        "flask django fastapi",
        "webpack vite rollup esbuild",
        "json yaml toml xml",
    )
)
_WORDS = re.compile(r"[a-z][\w-]*|空格|制表符|驼峰|下划线")
_VALUE = (
    r"[`\"']?[A-Za-z0-9][\w.+#/@-]*[`\"']?"
    r"(?: (?!(?:for|as|in|on|with|and|or|over|instead|rather)\b)[\w.+#/@-]+){0,2}?"
)
_CHOICE = re.compile(
    r"\A(?:(?:let['’]?s|we(?:['’]ll| will)|just|please|always"
    r"|(?:i|we)(?:['’]ve| have)? (?:decided|chosen|chose|opted) to"
    r"|i(?:['’]ve| have)?(?=\s+(?:chose|went|picked|switched)))\s+)*"
    r"(?:use|chose|went with|picked|switched to|go with|(?:go |revert )?back to"
    r"|(?:switch|move|change) (?:back )?to|adopt|stick with"
    rf"|take|pick|choose)\s+(?:the )?(?P<value>{_VALUE})"
    r"(?:\s+(?:for|as) (?!(?:now|this|that|it|me)\b)(?P<purpose>[^,.;]{2,40}?))?"
    r"(?:\s+(?:instead of|rather than|over) [\w.+#-]+)?"
    r"(?:\s+(?:instead|please|pls|then|now|for now|after all|again))*[\s.!]*\Z"
    r"|\A(?:我们?|那|就|还是|请|直接|统一|一律)*(?:使用|采用|改用|换成|换回|改回|切换到|用)\s*"
    r"(?P<zh>[A-Za-z][\w.+#-]*|空格|制表符|驼峰|下划线)\s*(?:来)?(?:做|作为|当)?"
    r"(?P<for>[\u3400-\u9fff]{2,6}?)?(?:命名)?(?:吧|好了)?[\s。！!]*\Z",
    re.IGNORECASE,
)
_ADDS = re.compile(r"(?:an?|some|more|another|fewer|less)\b", re.IGNORECASE)
_MANY = re.compile(r"\b(?:all|every|each|any)\b|s\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a bare choice says: a value, and what it is for; empty where it does not say."""

    value: str
    purpose: str = ""


def choice_in(text: str) -> Choice | None:
    """Return the choice of one value that a statement is; None where it is none."""
    found = _CHOICE.match(text)
    if found is None:
        return None
    return Choice(found["value"] or found["zh"], (found["purpose"] or found["for"] or "").strip())


def kin(value: str) -> int | None:
    """Return the number of the family that the names in a text are of; None: none, or several."""
    words = {*_WORDS.findall(value.lower())}
    found = [number for number, family in enumerate(_FAMILIES) if words & family]
    return found[0] if len(found) == 1 else None


def kin_in(text: str, value: str) -> str:
    """Return the one name in a text that is of a value's family; empty where there is not one."""
    family = kin(value)
    if family is None:
        return ""
    found = [word for word in _WORDS.findall(text.lower()) if word in _FAMILIES[family]]
    return found[0] if len(found) == 1 else ""


def rivals(new: str, old: str, *, corrects: bool = False) -> bool:
    """Whether a choice takes the place of another: only one of the two can be meant.

    Args:
        new: The newer one.
        old: The older one.
        corrects: The newer one says that something changes.
    """
    a, b = choice_in(new), choice_in(old)
    if a is None or b is None or features(a.value) == features(b.value):
        return False
    same_purpose = features(a.purpose).words == features(b.purpose).words
    families = kin(a.value), kin(b.value)
    if None not in families:
        given = same_purpose or (corrects and not a.purpose)
        return families[0] == families[1] and given and _only_named(a) and _only_named(b)
    vague = _MANY.search(a.purpose) or _ADDS.match(a.value) or _ADDS.match(b.value)
    return bool(a.purpose) and same_purpose and not vague


def _only_named(choice: Choice) -> bool:
    """Whether a value is one name, with a number at most: "fewer requests" is no library."""
    return sum(not word[:1].isdigit() for word in choice.value.split()) == 1
