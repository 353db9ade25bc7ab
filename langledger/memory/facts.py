"""What a user says of themselves and of how they want things done: facts for later sessions. Pure.

Only what the user wrote in their own words is read, and only plain statements: what is asked,
supposed, quoted or pasted is none. A fact with a slot ("favourite editor") takes the place of the
last one in it. A plain denial ("I no longer work at Acme") withdraws the fact that it denies; so do
"forget that" and "forget my name".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain

from langledger.memory.withdrawals import (
    OPENER,
    corrects,
    denied,
    is_idle,
    rest_of_taking_back,
    topic_of,
)
from langledger.state.statements.chinese import CHINESE
from langledger.state.statements.languages import grammar_of
from langledger.state.statements.prose import own_words, sentences

__all__ = ["Fact", "facts_in", "is_plainly_said"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that holds for a user beyond one session.

    Attributes:
        text: The user's sentence, or the part of it that says it.
        kind: ``profile`` (who they are), ``preference`` (what they like), ``rule`` (how they
            want things done).
        slot: What it is about, of which there is one value at a time; empty: nothing such.
        withdrawn: The user denies it; ``text`` is then what they deny.
        takes_back: Of what is withdrawn: ``last``, all that the user's last message said;
            ``topic``, all that is about ``text``; empty, this fact alone.
        corrects: It puts right what the user said last.
        value: What it says of its slot.
        replaces: Key of a known fact that it takes the place of; empty: the one in its slot.
    """

    text: str
    kind: str
    slot: str = ""
    withdrawn: bool = False
    takes_back: str = ""
    corrects: bool = False
    value: str = ""
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: re.Pattern[str]
    slot: str = ""  # groups of the pattern are put in


def _rule(kind: str, pattern: str, slot: str = "") -> _Rule:
    return _Rule(kind, re.compile(pattern, re.IGNORECASE), slot)


_THING = (
    r"(?P<thing>(?!this|that|it\b|these|those|your|what|how|to\s+(?:see|know|ask|have|get)"
    r"|the\b|(?:any|some|all|most|one|both) of)[^,.;!?]{2,80})"
)
_NOW = r"(?:now|actually|really|generally|usually|normally|personally|always|strongly|much)\s+"
_SOME = r"(?P<value>[^,.;!?]{2,80})"
_NAMED = r"(?P<value>(?-i:[A-Z])[\w .'-]{0,60})"
_FROM_NOW = r"(?:from now on|in (?:the )?future|going forward|in general|as a rule)"
_LANGUAGES = (
    r"(?P<value>english|german|french|spanish|italian|portuguese|russian|chinese|japanese|korean"
    r"|mandarin|dutch|polish|turkish|arabic|hindi)"
)
_NO_PLACE = (
    r"(?!(?:\w+ )?(?:fear|hope|dread|terror|denial|peace|doubt|poverty|harmony|agony|shame|pain|sin"
    r"|worry|horror|anticipation|awe)\b|(?:the|a|my) (?:\w+ )?(?:past|present|moment|terminal|world"
    r"|dream|bubble|lie|ide|editor|shell|browser|future)\b)"
)
_SOME_ZH = r"(?P<value>[^，。；！？]{1,60})"


def _english(kind: str, pattern: str, slot: str = "") -> _Rule:
    return _rule(kind, OPENER + pattern, slot)


_ENGLISH_RULES = (
    _english(
        "profile",
        r"my (?P<of>name|nickname) is (?!(?:the|an?|in|on|not|also|variable)\b|[^,.;!?]*[`<>{}=])"
        r"(?P<value>[^,.;!?]{1,60})",
        "name",
    ),
    _english("profile", r"(?:please )?(?:just )?call me " + _NAMED + "$", "name"),
    _english(
        "profile",
        r"my (?P<of>e-?mail(?: address)?|time ?zone|phone(?: number)?|birthday|pronouns"
        r"|(?:native |first |mother )?(?:language|tongue)|job(?: title)?|role|profession|employer"
        r"|company|team|(?:home ?)?town|city|country|address|username|github(?: handle)?)"
        r" (?:is|are) (?:now )?(?P<value>.{2,100})",
        "{of}",
    ),
    _english("profile", rf"i (?:now )?live in {_NO_PLACE}{_SOME}", "home"),
    _english("profile", r"i(?:'ve| have)? (?:just )?moved to " + _NAMED, "home"),
    _english("profile", r"i(?:'m| am) from " + _NAMED, "origin"),
    _english(
        "profile",
        r"i (?:now )?work (?:as|at|for) (?!it\b|this|that|now|the moment)" + _SOME,
        "work",
    ),
    _english(
        "profile",
        r"i(?:'m| am) (?:an? )?(?P<value>vegan|vegetarian|pescatarian|left-handed|colou?r-?blind"
        r"|deaf|blind|dyslexic)\b",
        "{value}",
    ),
    _english("profile", r"i(?:'m| am) allergic to " + _SOME, "allergy {value}"),
    _english(
        "preference",
        r"my (?:new )?(?:favou?rite|preferred) (?P<of>[\w -]{2,40}?) (?:is|are)(?: now)? "
        r"(?P<value>[^.;!?]{1,80})",
        "favourite {of}",
    ),
    _english(
        "preference",
        rf"i (?:{_NOW})?(?:no longer|don'?t|do not)(?: (?:really|much))? "
        rf"(?:like|enjoy|want|use|eat|drink) {_THING}",
        "opinion {thing}",
    ),
    _english(
        "preference",
        rf"i (?:{_NOW})*(?:like|love|adore|enjoy|hate|dislike|detest|can'?t stand|avoid) {_THING}",
        "opinion {thing}",
    ),
    _english("preference", rf"i(?:'d| would)? (?:{_NOW})*prefer {_THING}"),
    _english(
        "rule",
        rf"(?:(?:please|always|only|just|{_FROM_NOW}),? )*(?:answer|reply|respond|write|speak|talk)"
        rf"(?: to)?(?: me)?(?: back)? (?:only )?in {_LANGUAGES}\b(?! (?:to|the|for)\b)",
        "answer language",
    ),
    _english(
        "rule",
        rf"{_FROM_NOW},? .{{4,}}",
    ),
    _english(
        "rule",
        r"(?:please )?(?:always|never) (?:answer|reply|respond|write|speak|use|address|call|start"
        r"|end|include|add|give|show|explain|ask|commit|push|deploy|run|format|keep|send|sign|put"
        r"|mention|quote|summari[sz]e|translate)\b.{3,}",
    ),
)
_CHINESE_RULES = (
    _rule(
        "profile",
        r"^(?:你好[，,！!]?)?(?:我叫|我的名字(?:是|叫)|请叫我|叫我)"
        r"(?P<value>(?![你他她它您])[^，。；！？,.;!?\s]{1,12})$",
        "name",
    ),
    _rule("profile", r"^我(?:现在)?(?:住在|搬到了?|家在)" + _SOME_ZH, "home"),
    _rule("profile", r"^我(?:现在)?在" + _SOME_ZH + r"(?:工作|上班|上学)", "work"),
    _rule("profile", r"^我(?:是(?P<value>素食者|左撇子|色盲)|吃素)", "diet"),
    _rule("profile", r"^我对(?P<value>[^，。；！？]{1,15})过敏", "allergy {value}"),
    _rule(
        "profile",
        r"^我的(?P<of>邮箱|电话|手机号?|生日|职业|工作|母语|时区|地址|公司|团队)(?:现在)?是"
        + _SOME_ZH,
        "{of}",
    ),
    _rule(
        "preference",
        r"^我(?:现在)?最(?:喜欢|爱)的(?P<of>[^是，。]{1,12})(?:现在)?是" + _SOME_ZH,
        "favourite {of}",
    ),
    _rule(
        "preference",
        r"^我(?:现在|还是|比较|更|很|非常|真的|其实|一直|已经)*(?:不再?)?"
        r"(?:喜欢|爱吃|爱喝|讨厌|偏好|偏爱|习惯|受不了)"
        r"(?P<thing>(?!这|那|你)[^，。；！？吗]{1,30}?)了?$",
        "opinion {thing}",
    ),
    _rule(
        "rule",
        r"^(?:请|以后|今后|从现在起|从今以后|往后|始终|总是|一律|都|一直|只|要|改)+用(?P<value>中文"
        r"|英文|英语|汉语|日语|法语|德语|俄语|韩语)(?:来)?(?:回答|回复|交流)",
        "answer language",
    ),
    _rule(
        "rule",
        r"^(?:请)?(?:以后|今后|从现在起|从今以后|往后|始终|总是|永远(?:不要|别)?|一律"
        r"|千万(?:不要|别))(?:请)?[^。；！？吗]{3,60}",
    ),
)
_STILL = re.compile(r" (?:any ?more|any longer|now|again|instead)$", re.IGNORECASE)
# Not of the user for good, though it is worded so.
_PASSING = re.compile(
    r"\?|？|\b(?:today|tonight|this time|for now|right now|at the moment|in this (?:file|test|case"
    r"|example|function|story|game)|the character|pretend|imagine|suppose|role-?play|as if"
    r"|for example|e\.g\.)\b|今天|今晚|这次|暂时|假设|假如|如果|比如|例如|扮演|吗[。！]?$",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"[，,；;]\s*(?:(?:and|but|also|而且|并且|同时|但是?|还有)\s*)?"
    r"|\s+(?:and|but) (?=(?:i|i'm|i've|my)\b)",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_SHORTEST = 3  # characters of a quotation


def facts_in(text: str) -> list[Fact]:
    """Return what a user's message says of the user, in order; mostly nothing.

    Args:
        text: What the user typed.
    """
    found: dict[str, Fact] = {}
    said = sentences(own_words(text))
    left = [rest_of_taking_back(sentence) for sentence in said]
    rest = [one if after is None else after for one, after in zip(said, left, strict=True)]
    told = [_facts(sentence) for sentence in rest]
    # With other talk in the message, "that" may be anything.
    alone = all(facts or is_idle(one) for facts, one in zip(told, rest, strict=True))
    if alone and any(after is not None for after in left):
        found[""] = Fact(text="", kind="", withdrawn=True, takes_back="last")
    for fact in chain.from_iterable(told):
        found.setdefault(fact.text, fact)
    return list(found.values())


def is_plainly_said(quote: str, text: str) -> bool:
    """Tell whether a user's message states some words: not in a question, nor in what is pasted.

    Args:
        quote: The words.
        text: What the user typed.
    """
    words = _folded(quote)
    holding = [sentence for sentence in sentences(own_words(text)) if words in _folded(sentence)]
    return len(words) >= _SHORTEST and any(map(_is_plain, holding))


def _is_plain(sentence: str) -> bool:
    return not _PASSING.search(sentence) and not grammar_of(sentence).doubtful(sentence)


def _folded(text: str) -> str:
    return _SPACE.sub(" ", text).strip().rstrip(".!。！ ").casefold()


def _facts(sentence: str) -> list[Fact]:
    """Return what a sentence says of the user: of its clauses, where more than one does."""
    if not _is_plain(sentence):
        return []
    chinese = grammar_of(sentence) is CHINESE
    clauses = _CLAUSES.split(sentence)
    each = [fact for clause in clauses if (fact := _fact(clause, chinese=chinese)) is not None]
    if len(each) > 1:
        return each
    whole = _fact(sentence, chinese=chinese)
    return [] if whole is None else [whole]


def _fact(sentence: str, *, chinese: bool) -> Fact | None:
    bare = sentence.strip().rstrip(".!。！ ")
    unsaid = denied(bare)
    if unsaid and (fact := _read(unsaid, chinese=chinese)) is not None:
        return replace(fact, withdrawn=True)
    if topic := topic_of(bare):
        return Fact(text=topic, kind="", withdrawn=True, takes_back="topic")
    fact = _read(bare, chinese=chinese)
    return replace(fact, corrects=True) if fact is not None and corrects(bare) else fact


def _read(sentence: str, *, chinese: bool) -> Fact | None:
    for rule in _CHINESE_RULES if chinese else _ENGLISH_RULES:
        match = rule.pattern.match(sentence)
        if match is not None:
            slot, value = _filled(rule.slot, match), _filled("{value}{thing}", match)
            return Fact(text=sentence, kind=rule.kind, slot=slot, value=value)
    return None


def _filled(form: str, match: re.Match[str]) -> str:
    parts = dict.fromkeys(("of", "value", "thing"), "") | {
        name: _STILL.sub("", value) for name, value in match.groupdict().items() if value
    }
    return _SPACE.sub(" ", form.format(**parts)).strip().casefold()
