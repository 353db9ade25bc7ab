"""How a user takes back what they said of themselves: "I'm not vegan", "forget my name". Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["OPENER", "corrects", "denied", "is_idle", "rest_of_taking_back", "topic_of"]

OPENER = (
    r"^(?:(?:by the way|btw|fyi|note that|please note|remember(?: that)?|also|and|but|so|well"
    r"|actually|just so you know|for the record|hi|hello|hey|ok(?:ay)?|oh|no|sorry|wait|rather"
    r"|correction|i mean(?: that)?|on second thoughts?)[,:.!]?\s+)*"
)
"""What a sentence may begin with before it says something of the user."""

_CORRECTS = re.compile(
    r"^(?:(?:oh|well|ok(?:ay)?|hm+)[,.!]?\s+)*(?:actually|no|sorry|wait|rather|correction|i mean"
    r"|on second thoughts?)\b|\binstead$",
    re.IGNORECASE,
)
_VERBS = (
    "answer|reply|respond|write|speak|talk|use|address|call|start|end|include|add|give|show|explain"
    "|ask|commit|push|deploy|run|format|keep|send|sign|put|mention|quote|summarize|summarise"
    "|translate"
)
_DOUBLED = frozenset(("commit", "format", "put", "run"))


def _gerund(verb: str) -> str:
    return f"{verb.removesuffix('e')}{verb[-1] if verb in _DOUBLED else ''}ing"


_BASE = {_gerund(verb): verb for verb in _VERBS.split("|")}
_DOING = rf"(?P<doing>{'|'.join(_BASE)})\b"
_DO = rf"(?=(?:{_VERBS})\b)"


def _does(found: re.Match[str]) -> str:
    return f"always {_BASE[found['doing'].lower()]}"


# A denial without its denying words: what is left, if it is a fact, is the one withdrawn.
_Instead = str | Callable[[re.Match[str]], str]
_DENIALS: tuple[tuple[re.Pattern[str], _Instead], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (OPENER + r"i(?:'m| am) (?:not|no longer) ", "I'm "),
        (OPENER + r"i (?:no longer|don'?t|do not) (?=(?:live|work|prefer)\b)", "I "),
        (OPENER + r"(my [\w -]{2,40}?) (is|are) (?:not|no longer) ", r"\1 \2 "),
        (OPENER + r"(?:please )?(?:don'?t|do not|stop|never) call(?:ing)? me ", "call me "),
        (OPENER + r"(?:please )?(?:forget|ignore|disregard) (?:that )?(?=i\b|i'|my\b)", ""),
        (OPENER + r"(?:please )?stop (?:always )?" + _DOING, _does),
        (
            OPENER + r"(?:please )?(?:don['’]?t|do not|no need to|you (?:don['’]?t|do not) (?:have"
            r"|need) to|you need not) (?:always )?" + _DO + r"(?=.* any ?(?:more|longer)\b)",
            "always ",
        ),
        (OPENER + r"you (?:can|may) (?:now )?" + _DO + r"(?=.* (?:now|again)$)", "never "),
        (OPENER + r"you (?:can|may) now " + _DO, "never "),
        (r"^我(?:现在|已经|其实)*(?:不再|不)(?=对|是|住|在|叫|吃素)", "我"),
        (r"^我对(.{1,15}?)(?:现在|已经)*不再?过敏", r"我对\1过敏"),
        (r"^(?:请)?(?:别|不要)(?:再)?叫我", "叫我"),
        (r"^(?:请)?(?:忘掉|忘记|忘了|忽略)(?:我说的?)?(?=我)", ""),
        (r"^(?:请|以后|今后|现在)*(?:不用|不必|不需要)再", "以后"),
        (r"^(?:以后|今后|现在)?可以(?:再|继续)?(?=.+了$)", "以后不要"),
    )
)
_AFTER_DENIAL = re.compile(
    r"(?:[,;，；].*| any ?more| any longer| (?:now|again)|了)$", re.IGNORECASE
)
_LAST = re.compile(
    r"^(?:(?:oh|no|wait|actually|sorry|ok(?:ay)?|hm+|please|just|算了|不|请)[,.!，。！]?\s*)*"
    r"(?:(?:forget|scratch|ignore|disregard|strike|never ?mind|(?:don['’]?t|do not) remember)"
    r"(?: about)? (?:all )?(?:that|this|it|what i (?:just )?said|my last message)"
    r"|i take (?:that|it|this) back"
    r"|(?:忘掉|忘记|忘了|忽略|别记住?|不要记住?|收回)(?:这个|这件事|这条|它|那个|刚才的话|刚才说的"
    r"|(?:我)?刚才说的话?|我刚才那句|上一条)|当我没说)"
    r"(?:,? please|吧|了)?\s*(?:[.,;!，；。！–—-]+\s*|\Z)",
    re.IGNORECASE,
)
_IDLE = re.compile(
    r"^(?:thanks?(?: you)?|please|sorry|ok(?:ay)?|my mistake|i (?:was wrong|changed my mind)"
    r"|谢谢|算了|抱歉|我说错了)?[\s.!。！]*$",
    re.IGNORECASE,
)
_FORGET = (
    OPENER + r"(?:please )?(?:forget|disregard|stop remembering"
    r"|(?:don['’]?t|do not) (?:remember|store|keep|save))(?: about)? "
)
_TOPICS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        _FORGET + r"(?:what|everything|anything|all) (?:that )?(?:i(?:['’]ve| have)? (?:just )?"
        r"(?:said|told you|mentioned)|you know) about (?:my )?(?P<topic>[^,.;!?]{2,60}?)"
        r"(?:,? please)?$",
        _FORGET + r"(?:my|where i) (?P<topic>[\w' -]{2,40}?)(?:,? please| any ?more)*$",
        r"^请?(?:忘掉|忘记|忘了|别记住?|不要记住?)(?:我说的|关于)?我的?(?P<topic>[^，。]{1,9}?)[吧了]?$",
    )
)
# What a fact in a slot is called by others names.
_CALLED = {
    "live": "home", "address": "home", "home address": "home", "住在哪": "home",
    "住在哪里": "home", "住址": "home", "家": "home",
    "work": "work", "job": "work", "employer": "work", "工作": "work",
    "名字": "name", "姓名": "name", "email address": "email", "e-mail address": "e-mail",
    "phone number": "phone", "job title": "job title",
}  # fmt: skip


def corrects(sentence: str) -> bool:
    """Tell a sentence that puts what was just said right: "Actually, I prefer spaces"."""
    return _CORRECTS.search(sentence) is not None


def denied(sentence: str) -> str:
    """Return what a sentence denies, as if it were said; empty where it denies nothing."""
    for pattern, instead in _DENIALS:
        if match := pattern.match(sentence):
            said = match.expand(instead) if isinstance(instead, str) else instead(match)
            told = said + sentence[match.end() :]
            return _AFTER_DENIAL.sub("", _AFTER_DENIAL.sub("", told))
    return ""


def topic_of(sentence: str) -> str:
    """Return what is to be forgotten: the slot of a fact, or words of it; empty for nothing."""
    for pattern in _TOPICS:
        if match := pattern.match(sentence):
            topic = match["topic"].strip().casefold()
            return _CALLED.get(topic, topic)
    return ""


def rest_of_taking_back(sentence: str) -> str | None:
    """Return what follows "forget that"; None: nothing is taken back."""
    rest = sentence
    while match := _LAST.match(rest):
        rest = rest[match.end() :]
    return None if rest == sentence else rest


def is_idle(sentence: str) -> bool:
    """Tell what says nothing beside what it stands by: "thanks", "my mistake"."""
    return _IDLE.match(sentence) is not None
