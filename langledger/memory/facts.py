"""What a user says of themselves and of how they want things done: facts for later sessions. Pure.

Only what the user wrote in their own words is read, and only plain statements: what is asked,
supposed, quoted or pasted is none. A fact with a slot ("favourite editor") takes the place of the
last one in it. A plain denial ("I no longer work at Acme") withdraws the fact that it denies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

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
        value: What it says of its slot.
        replaces: Key of a known fact that it takes the place of; empty: the one in its slot.
    """

    text: str
    kind: str
    slot: str = ""
    withdrawn: bool = False
    value: str = ""
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: re.Pattern[str]
    slot: str = ""  # groups of the pattern are put in


def _rule(kind: str, pattern: str, slot: str = "") -> _Rule:
    return _Rule(kind, re.compile(pattern, re.IGNORECASE), slot)


_OPENER = (
    r"^(?:(?:by the way|btw|fyi|note that|please note|remember(?: that)?|also|and|but|so|well"
    r"|actually|just so you know|for the record|hi|hello|hey|ok(?:ay)?)[,:!.]?\s+)*"
)
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
    return _rule(kind, _OPENER + pattern, slot)


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
# A denial without its denying words: what is left, if it is a fact, is the one withdrawn.
_DENIALS = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (_OPENER + r"i(?:'m| am) (?:not|no longer) ", "I'm "),
        (_OPENER + r"i (?:no longer|don'?t|do not) (?=(?:live|work|prefer)\b)", "I "),
        (_OPENER + r"(my [\w -]{2,40}?) (is|are) (?:not|no longer) ", r"\1 \2 "),
        (_OPENER + r"(?:please )?(?:don'?t|do not|stop|never) call(?:ing)? me ", "call me "),
        (_OPENER + r"(?:please )?(?:forget|ignore|disregard) (?:that )?(?=i\b|i'|my\b)", ""),
        (r"^我(?:现在|已经|其实)*(?:不再|不)(?=对|是|住|在|叫|吃素)", "我"),
        (r"^(?:请)?(?:别|不要)(?:再)?叫我", "叫我"),
        (r"^(?:请)?(?:忘掉|忘记|忘了|忽略)(?:我说的?)?(?=我)", ""),
    )
)
_AFTER_DENIAL = re.compile(r"(?:[,;，；].*| any ?more| any longer|了)$", re.IGNORECASE)
_STILL = re.compile(r" (?:any ?more|any longer)$", re.IGNORECASE)
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
    for sentence in sentences(own_words(text)):
        for fact in _facts(sentence):
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
    denied = _denied(bare)
    if denied and (fact := _read(denied, chinese=chinese)) is not None:
        return replace(fact, withdrawn=True)
    return _read(bare, chinese=chinese)


def _denied(sentence: str) -> str:
    """Return what a sentence denies, as if it were said; empty where it denies nothing."""
    for pattern, instead in _DENIALS:
        if match := pattern.match(sentence):
            told = match.expand(instead) + sentence[match.end() :]
            return _AFTER_DENIAL.sub("", _AFTER_DENIAL.sub("", told))
    return ""


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
