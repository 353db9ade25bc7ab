"""What an agent puts to the user at the end of its turn, and what the user makes of it.

An offer decides nothing. What the user takes up is a decision of theirs: a proposal that they
agree to, told in the agent's words since "yes" has none; or one of the options they were given,
told with its text since "B" has none. A step of the work ("Want me to push?") is no decision.
"""

from __future__ import annotations

import re

from langledger.state.planned import Offer
from langledger.state.statements.languages import grammar_of
from langledger.state.statements.likeness import about, features
from langledger.state.statements.patterns import user_statements
from langledger.state.statements.proposal import Noted
from langledger.state.statements.prose import own_words, sentences
from langledger.state.text import one_line

__all__ = ["AGREED", "OPTION", "chosen", "offer_in", "taken_up"]

OPTION, AGREED = "Option ", "Agreed: "
"""How the record of what was taken up begins."""

_TAIL = 3000  # characters of a message in which options stand
_ENDING = 1200  # of it in which a proposal stands
_NEWEST = 4  # sentences
_MAX_OPTION, _MAX_OPTIONS, _MAX_REPLY = 140, 8, 140
_LONGEST_PICK = 160  # characters of a sentence that picks an option in other words
_FITS = 0.6
_TELLING = 2  # words behind it, without which a recommendation is the heading of one
_BEFORE = 4  # sentences before a bare "OK?" in which what it asks about stands
_INDEX = 950  # after what the message itself says

_OPTION = re.compile(
    r"\s*(?:[-*+]\s+|#{1,6}\s+|\|\s*)?\*{0,2}(?:option|approach|variant|plan|方案|选项)?\s*"
    r"[(（]?(?P<label>[A-Ha-h]|[1-8]|[一二三四五六七八])\*{0,2}\s*(?:[.)、:：|—–]|-(?=\s)|\*\*)+\s*"
    r"(?P<text>\S.*)",
    re.IGNORECASE,
)
_TO_CHOOSE = re.compile(
    r"\b(?:which|prefer\w*|choose|pick|options?|approach(?:es)?|reply with|go with"
    r"|what do you (?:think|say)|your (?:call|choice|pick))\b|哪|选|方案",
    re.IGNORECASE,
)
_PROPOSES = re.compile(
    r"(?:so,? |ok,? |and |then )*(?P<bare>(?:(?:is|would) (?:that|this|it) (?:be )?(?:ok(?:ay)?"
    r"|fine|good"
    r"|alright)(?: (?:with|for|by) you)?|does (?:that|this|it) work(?: for you)?|ok(?:ay)?|agreed"
    r"|deal"
    r"|any objections|how does (?:that|this|it) sound"
    r"|(?:do you )?want me to(?: do (?:it|that|this|so)| go ahead)?"
    r"|(?:shall|should) (?:i|we)(?: (?:go ahead|proceed|do (?:it|that|this|so)))?)\?"
    r"|(?:你觉得(?:呢|怎么样|如何)|(?:这样)?(?:可以|好|行|同意)(?:吗|不)?|怎么样|如何"
    r"|要我(?:来)?(?:[\u3400-\u9fff]|这[么样]做)吗)[？?])\Z"
    r"|(?:so,? |ok,? |and |then )*(?:(?:do you )?want me to|would you like me to|shall (?:i|we)"
    r"|should (?:i|we)|may i|can i)\s+(?P<en>[^?]{4,280})\?\Z"
    r"|(?P<thinks>(?:what do you think|thoughts|do(?:es)? (?:that|this|it) (?:sound|look|seem)"
    r" \w+|sounds? (?:good|right|ok(?:ay)?)|seem (?:good|right)|agree)\?)\Z"
    r"|.{0,40}?(?:需要|要不要|是否需要|是否要|要)(?:我|我来|我帮你"
    r"|帮你)(?P<zh>[^？?]{3,100}?)吗?[？?]\Z",
    re.IGNORECASE,
)
_EITHER = re.compile(r"\bor\b|还是|或者", re.IGNORECASE)
_STEP = re.compile(
    r"(?:also |now |just |go ahead and |继续|现在)*(?:commit|push|merge|run|re-?run|test|deploy"
    r"|continue|proceed|start|begin|go|show|open|check|look|dig|investigate|verify|review|explain"
    r"|try|send|fire|scope|draft|read|list|walk|help|give|file|close|tag|release|publish|retry|wait"
    r"|tackle|move on|search|find|analy[sz]e|clean up|create (?:an?|the) (?:\w+ )?(?:pr"
    r"|pull request|issue|branch|commit)"
    r"|继续|提交|推送|运行|看|检查|测试|部署|开始|解释|说明|合并)\b",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\w+(?: up| out)? (?:this|that|it|these|those|them|both|all|so|one)\b|(?:这样|这么|继续)",
    re.IGNORECASE,
)
_RECOMMENDS = re.compile(
    r"(?:so,? )?(?:(?P<head>(?:i(?:'d| would)? (?:recommend|suggest|propose)"
    r"|(?:my )?(?:recommendation"
    r"|suggestion|proposal)\b(?: (?:is|would be))?:?)(?: (?:that (?:we|i)|we|that|to)\b)?)"
    r"|proposed \w+\b"
    r"|the (?:simplest|cleanest|best|right|correct) (?:fix|approach|solution|way|option)\b)"
    r"|(?P<zh>我?(?:建议|推荐)(?:我们)?)",
    re.IGNORECASE,
)
# The option that the agent itself is for.
_PREFERS = re.compile(
    r"(?:i(?:'d| would|'ll)? (?:go with|go for|pick|choose|recommend|suggest|prefer)"
    r"|my (?:recommendation|suggestion|pick|choice)(?: is|:)|(?:我)?(?:建议|推荐)(?:选|用)?)"
    r" ?(?:option |number |方案)?(?P<label>[a-h1-8])\b",
    re.IGNORECASE,
)
# Options that share a line: each gets its own, as does the question behind them.
_SHARED = re.compile(
    r"[；;。]\s*(?=(?:方案|选项)[A-Ha-h1-8一二三四]\s*[:：])|(?<=。)(?=[你您选哪])"
)
_ECHOES = re.compile(r"([\u3400-\u9fff]{1,2})吧[。！!]*\Z")
_CLAUSE = re.compile(r"[,;，；]")
_REPORTS = re.compile(
    r"(?:i|we|you|it|they|this|that|there)(?:'ve|'m| have| had| did| was| am| are| is|'s| \w+ed)\b"
    r"|我已经|我刚",
    re.IGNORECASE,
)
_FIRST = "1a一"
_NEXT = {
    label: row[at + 1]
    for row in ("12345678", "abcdefgh", "一二三四五六七八")
    for at, label in enumerate(row[:-1])
}
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "former": 0, "latter": 1, "last": -1}
_OPENS = (
    r"(?:(?:ok(?:ay)?|yes|yeah|yep|well|so|then|hmm|great|good|please|好的?|那|嗯)[,，.:!\s]*)*"
)
_LABEL = r"(?:option |number |#)?(?:[a-h]|[1-8])"
_PICKS = re.compile(
    rf"{_OPENS}(?:(?:let'?s|let us|i(?:'d|'ll| would)?|we(?:'d|'ll)?|just|please|go|going|do|take"
    r"|use|pick|choose|prefer|like|want|try|with|for)\s+)*(?:the )?(?:(?:option|approach|variant"
    r"|number|plan|#)\s*)?(?P<label>[a-h]|[1-8])\b"
    rf"(?P<more>(?:\s*(?:,|and|&|\+)\s*{_LABEL}\b)*)(?P<rest>.*)\Z"
    rf"|{_OPENS}(?:(?:let'?s|i(?:'d|'ll)?|we(?:'ll)?|just|go|do|take|use|pick|choose|prefer|like"
    rf"|want"
    rf"|try|with|for)\s+)*the (?P<place>{'|'.join(_PLACES)})(?: (?:one|option|approach|way))?\b"
    r"(?P<rest2>.*)\Z"
    rf"|{_OPENS}(?:我们?|就|还是)*(?:选择?|用|按|要|走|采用)?(?:第|方案|选项)?\s*"
    r"(?P<zh>[一二三四五六七八1-8A-Ha-h])\s*(?:个|种|项|方案|条)*(?:吧|做|来|就行)*(?P<rest3>.*)\Z",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"\A\(?([a-h1-8])\)\s*", re.IGNORECASE)
_PICKED = re.compile(
    r"\W*\Z|\s*[,;:，；—–-]\s*\S|\.?\s*[(（]|\s*(?:用于|用在|给)"
    r"|\.?\s+and (?=(?:keep|add|also|then|use|make|drop|put|please|with|for)\b)"
    r"|\s+(?:please|then|it is|because|since|but|from|for|with|as|thanks)\b"
    r"|\s+(?:seems|sounds|looks|is|works)(?: \w+)?"
    r" (?:good|best|better|fine|ok(?:ay)?|great|right)\b",
    re.IGNORECASE,
)
_YES = re.compile(
    r"(?:(?P<yes>(?:(?:that )?works|fine|good|ok(?:ay)?) (?:for|by|with) me"
    r"|i(?:['’]m| am) (?:fine|ok(?:ay)?|good|happy) with (?:that|it|this)|👍|yes|yep|yeah|yea|yup"
    r"|sure|ok(?:ay)?|sounds (?:good|great|fine)|agreed?|approved?"
    r"|lgtm|absolutely|definitely|go ahead|go for it|do (?:it|that|this|so)|make it so|please do"
    r"|makes sense|of course|let'?s do (?:it|that|this)|好的?|可以|行|同意|没问题|批准|是的?|嗯|对"
    r"|就这么(?:做|办|定)|就这样)|great|perfect|good|nice|cool|alright|fine|exactly|please|thanks"
    r"|thank you)(?![A-Za-z])[\s,.!;:，。！；—–-]*",
    re.IGNORECASE,
)
_AMENDS = re.compile(
    r"(?:but|also|(?:and|then)(?! (?:i|you|we|they|he|she|it|see|try)\b)|except|only|with|in|on|as"
    r"|via|by|using|without|separately"
    r"|don['’]?t forget)\b|别忘|但|不过|另外|同时|还有|顺便",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:no(?!-)|not|nope|nah|never|none|nobody|nothing|neither|nor|cannot|cant|wont"
    r"|(?:do|does|did|should|would|could|is|are|was)nt|\w+n['’]t|nevermind|wait|hold o(?:n|ff)"
    r"|fired)\b|[不别別勿没沒甭]|无[须需]|算了|才怪|个[鬼屁]",
    re.IGNORECASE,
)
# Words of a refusal that refuse nothing.
_NO_REFUSAL = re.compile(
    r"\b(?:(?:no|not an?) (?:problem|issue|objections?|worries|concerns?|doubt)|why not|not bad"
    r"|can['’]?t wait|(?:don['’]?t|do not|never) forget)\b"
    r"|别忘|没(?:有)?(?:问题|意见|关系|事)|不错|为什么不|何不|不[过仅但管]",
    re.IGNORECASE,
)
_POINTS_AT_IT = re.compile(r"\b(?:it|that|this|them|those|these|so|anything)\b", re.IGNORECASE)
_TAKES_BACK = re.compile(
    r"(?:(?:wait|actually|hold on|scratch that|sorry|on second thought)\b"
    r"|(?:no|nope)(?=\s*(?:[,.!:;—–-]|wait\b|\Z))|不对|不[,，]|等等|等一下|算了)",
    re.IGNORECASE,
)
_WAVERS = re.compile(
    r"\b(?:wait|actually|sorry|scratch)\b|\bno\b(?=\s*[,.!;]|\s+[a-h1-8]\b)|等等|不对|算了",
    re.IGNORECASE,
)
_ADDS_NOTHING = re.compile(
    r"\b(?:pl(?:ease|s|z)|than(?:ks|k you)|thx|ok(?:ay)?|then|it is|now|the|one|option|approach"
    r"|(?:is|seems|sounds|looks|works)(?: \w+)? (?:good|best|better|fine|ok(?:ay)?|great|right))\b"
    r"|谢谢|吧|就行|好了?|[个种项条]",
    re.IGNORECASE,
)
_ANOTHER = re.compile(
    rf"(?:[,;，；]|\b(?:and|but)\b)\s*(?P<label>{_LABEL})"
    r"(?=\s+(?:for|as|in|on|with|when|if)\b|\s*[用给做在]|\s*[.!。]?\Z)",
    re.IGNORECASE,
)
_SAYS_YES = re.compile(
    r"(?:\W|\b(?:it|that|this|so|do|please|now|then|go|ahead|both|all|them|just|i|we|you|should|can"
    r"|may|let['’]?s|want|too)\b)*\Z",
    re.IGNORECASE,
)
_HOLDS_OFF = re.compile(r"\b(?:wait|first|before|later|not yet)\b|先|等|再说|稍后", re.IGNORECASE)


def offer_in(text: str, source: int) -> Offer | None:
    """Return what an agent's message puts to the user; None for most.

    Args:
        text: The message that ends its turn.
        source: Seq of its entry.
    """
    options = _options(text[-_TAIL:])
    proposal = _preferred(dict(options), text) or _proposal(text[-_ENDING:])
    if not options and not proposal:
        return None
    return Offer(source=source, proposal=proposal, options=options)


def taken_up(offer: Offer, text: str, source: int) -> Noted | None:
    """Return the decision that a reply makes of an offer; None where it makes none.

    Args:
        offer: What was put to the user.
        text: What the user typed.
        source: Seq of its entry.
    """
    said = sentences(own_words(text)) or [one_line(text, _LONGEST_PICK)]
    if any(_TAKES_BACK.match(sentence) for sentence in said[1:]):
        return None
    start = _BRACKETED.sub(r"\1 ", said[0])
    first = f"{_labelled(offer, text)} {start}".strip(" :：")
    clause = _CLAUSE.split(first)[0]
    what = "" if grammar_of(clause).doubtful(clause) else chosen(offer, first)
    plain = _NO_REFUSAL.sub("", first)
    if not (what or grammar_of(plain).doubtful(plain) or _refuses(said, offer.proposal)):
        what = _agreed(offer.proposal, first)
    if not what:
        return None
    at = (offer.source, source)
    return Noted(kind="decision", what=what, sources=at, index=_INDEX, confidence=0.8)


def _labelled(offer: Offer, text: str) -> str:
    """Return the label of an option that a reply of one line begins with like a point of a list."""
    found = re.match(r"\s*([a-h1-8])[.)]\s+\S.*\Z", text.rstrip(), re.IGNORECASE)
    return found[1] if found and found[1].lower() in dict(offer.options) else ""


def _options(said: str) -> tuple[tuple[str, str], ...]:
    """Return the last list of options, each with its label, if the user is to choose from it."""
    listed: dict[str, str] = {}
    found: dict[str, str] = {}
    after: list[str] = []
    for line in _SHARED.sub("\n", said).splitlines():
        option = _OPTION.match(line)
        label = option["label"].lower() if option else ""
        if option is None or (label not in _FIRST and label != _follows(found)):
            after.append(line)
            continue
        found = {} if label in _FIRST else found
        text = option["text"].replace("**", "").strip(" |")
        found[label] = one_line(text.removeprefix("Or "), _MAX_OPTION)
        if len(found) > 1:
            listed, after = found, []
    if any(text.endswith(("?", "？")) for text in listed.values()):
        return ()  # questions, to be answered one by one
    asked = _TO_CHOOSE.search("\n".join(after)) is not None
    return tuple(listed.items())[:_MAX_OPTIONS] if asked else ()


def _follows(found: dict[str, str]) -> str:
    """Return the label that comes after those found; empty where none can."""
    return _NEXT.get([*found][-1], "") if found else ""


def _proposal(text: str) -> str:
    """Return what an agent proposes to do, if that is more than a step of the work."""
    said = sentences(text)
    for at in range(len(said) - 1, max(len(said) - 1 - _NEWEST, -1), -1):
        found = _PROPOSES.match(said[at])
        if found is None:
            continue
        what = (found["en"] or found["zh"] or "").strip()
        if _EITHER.search(what) or _STEP.match(what):
            return ""
        if found["bare"] or found["thinks"] or _POINTS.match(what):
            near = said[max(at - _BEFORE, 0) : at] if found["bare"] else said[:at]
            return next((named for s in reversed(near) if (named := _recommended(s))), "")
        return what if len(features(what).words) > 1 else ""
    return ""


def _preferred(options: dict[str, str], text: str) -> str:
    """Return the option that an agent says it is for at the end of its message."""
    for sentence in sentences(text[-_ENDING:])[-_NEWEST:]:
        found = _PREFERS.match(sentence)
        if found and (label := found["label"].lower()) in options:
            return f"{OPTION}{label.upper()}: {options[label]}"
    return ""


def _recommended(sentence: str) -> str:
    """Return what a sentence recommends, without the words that do; empty where it is a step."""
    found = _RECOMMENDS.match(sentence)
    if found is None or len(features(sentence[found.end() :]).words) < _TELLING:
        return ""
    head = found["head"] or found["zh"]
    what = (sentence[found.end() :] if head else sentence).strip(" :：。.")
    return "" if _is_step(what) else what


def _is_step(what: str) -> bool:
    """Whether an act is a step of the work: run, running, merging."""
    verb = re.match(r"(\w+?)(?:([a-z])\2)?ing\b", what)
    bases = (what, f"{verb[1]}{verb[2] or ''}", f"{verb[1]}e") if verb else (what,)
    return any(map(_STEP.match, bases))


def chosen(offer: Offer, reply: str) -> str:
    """Return the options that a reply picks, with their texts; empty where it picks none."""
    options = dict(offer.options)
    if not options:
        return ""
    picked, rest = _picked(options, reply)
    if not picked:
        picked = _in_other_words(options, reply)
        named = features(" ".join(options[label] for label in picked)).words
        rest = " ".join(features(reply).words - named)
    if not picked:
        return ""
    told = " + ".join(f"{OPTION}{label.upper()}: {options[label]}" for label in picked)
    adds = re.search(r"\w", _ADDS_NOTHING.sub("", rest)) is not None
    return f"{told} — {_said(reply)}" if adds else told


def _picked(options: dict[str, str], reply: str) -> tuple[list[str], str]:
    """Return the labels that a reply begins with, and what else it says; none where it wavers."""
    found = _PICKS.match(reply)
    rest = (found["rest"] or found["rest2"] or found["rest3"] or "") if found else ""
    if found is None or not _PICKED.match(rest) or _WAVERS.search(rest):
        return [], ""
    if (place := found["place"]) is not None:
        at = _PLACES[place.lower()]
        labels = [*options][at : at + 1 or None]
    else:
        more = re.findall(r"\b[a-h1-8]\b", (found["more"] or "").lower())
        labels = [_same_label(options, (found["label"] or found["zh"]).lower()), *more]
        others = (match["label"].lower()[-1] for match in _ANOTHER.finditer(rest))
        labels += [label for label in others if label in options and label not in labels]
    return (labels, rest) if all(label in options for label in labels) else ([], "")


def _same_label(options: dict[str, str], label: str) -> str:
    """Return how a label is written in the list: what is second there may be "2", "b" or "二"."""
    for row in ("12345678", "abcdefgh", "一二三四五六七八"):
        if label in row and label not in options and row.index(label) < len(options):
            return label if label in "abcdefgh" else [*options][row.index(label)]
    return label


def _in_other_words(options: dict[str, str], reply: str) -> list[str]:
    words = features(reply)
    long = len(reply) > _LONGEST_PICK
    if long or words.negative or not words.words or _REPORTS.match(reply):
        return []
    fits = [label for label, text in options.items() if about(reply, text) >= _FITS]
    return fits if len(fits) == 1 else []


def _agreed(proposal: str, reply: str) -> str:
    """Return what was agreed to; with the user's words where they change it."""
    at, agrees = 0, False
    while (found := _YES.match(reply, at)) and found.end() > at:
        at, agrees = found.end(), agrees or found["yes"] is not None
    rest = reply[at:]
    if proposal and not at and (echo := _ECHOES.match(reply)) and echo[1] in proposal:
        return f"{AGREED}{proposal}"
    if not (proposal and agrees) or _HOLDS_OFF.search(rest):
        return ""
    if rest and not _AMENDS.match(rest):
        return f"{AGREED}{proposal}" if _repeats(rest, proposal) else ""
    return f"{AGREED}{proposal} — {_said(rest)}" if rest else f"{AGREED}{proposal}"


def _repeats(rest: str, proposal: str) -> bool:
    """Whether a reply says only what was proposed, as in "yes pls bump"."""
    if not rest.isascii():
        return set(rest) <= {*proposal, *"吧了。！! "}
    said = re.sub(r"\bpl\w{1,4}s?\b", " ", _NO_REFUSAL.sub(" ", rest))
    words = features(said).words
    if not words:
        return _SAYS_YES.match(said) is not None
    return words <= features(proposal).words


def _refuses(said: list[str], proposal: str) -> bool:
    """Whether a reply has a no in it; an order about something else refuses nothing."""
    for at, sentence in enumerate(said):
        if not _REFUSES.search(_NO_REFUSAL.sub("", sentence)):
            continue
        orders = at > 0 and bool(user_statements(sentence, 0))
        if not orders or _POINTS_AT_IT.search(sentence) or about(sentence, proposal) > 0:
            return True
    return False


def _said(reply: str) -> str:
    return one_line(reply, _MAX_REPLY)
