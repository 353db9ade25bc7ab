"""The cheapest extractor: what users and agents say outright, found by patterns.

Only sentences that begin as an order, a choice, a correction or a definition begin count. A
sentence that asks, supposes, quotes or tells what others said is none of these, and tool output
is never read: a tool can neither order nor agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from langledger.state.records import Statement
from langledger.state.statements.clauses import clauses
from langledger.state.statements.languages import grammar_of
from langledger.state.statements.likeness import about, features, lifts
from langledger.state.statements.lists import listed
from langledger.state.statements.proposal import Closing, Noted, Said
from langledger.state.statements.prose import own_words, sentences
from langledger.state.statements.reasons import MAX_WHAT, parted
from langledger.state.statements.temporary import lifted_by, only_once, until_told
from langledger.state.text import one_line

__all__ = [
    "MOST_OF_MESSAGE",
    "agent_decisions",
    "left_open",
    "said_apart",
    "taken_back",
    "user_statements",
]

MOST_OF_MESSAGE = 24
"""Statements taken of one user message; one that says more is a document."""

_MOST_AGENT = 3
_DECIDES = re.compile(
    r"\A(?:so |therefore,? |decision: |for this,? )?(?:i|we)(?:'ve| have|'m| am|'ll"
    r"| will)? ?(?:decided|chose|opted"
    r"|settled on|went with|going with|go with|picked)\b(?=.*\b(?:because|since"
    r"|so that|due to|rather"
    r" than|instead of|to avoid|as (?:it|this|that|they)\b)\b)|\A(?:final )?decision\s*:\s*\S.{6,}"
    r"|\A(?:因此|所以)?(?:我|我们)?(?:决定|选择|选用|决定采用)(?:了)?(?=.*(?:因为"
    r"|由于|以避免|而不是|而非)).{4,}"
    r"|\A(?:最终)?决定[：:]\s*\S.{4,}"
    # what it did or leaves, and why: "I left X alone because ...", "Kept X rather than ..."
    r"|\A(?:so,? |therefore,? |instead,? )?(?:i(?:['’]ll| will) (?:use|keep|leave|skip|drop"
    r"|reuse)\b(?=.*\b(?:rather than|instead of)\b)"
    r"|(?:(?:i(?:['’]ve| have)? )?(?:used|kept|left|skipped|dropped|reused|switched to|chose"
    r"|went with|tightened|deferred|pinned|declined)"
    r"|i (?:did not|didn['’]t|won['’]t|will not) (?:change|touch|modify|fix|add|remove|delete|use"
    r"|rename|refactor|implement|migrate|bump|move|merge|rewrite|include|update|upgrade))\b"
    r"(?! (?:\w+ing|off|out of|behind|to \w+ing|it|them|both"
    r"|th(?:is|at|ese|ose)(?= (?:alone|un\w+|as|because|since|per|in)\b|,))\b)"
    r"(?=.*(?:\b(?:because|since|so that|due to|rather than|instead of|to avoid|per your)\b"
    r"|out of scope))).{12,}",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(
    r"\?|\b(?:could|might|would|if you|unless|should we|let me know|maybe|perhaps"
    r"|haven't|not yet)\b"
    r"|如果|可能|或许|是否|吗",
    re.IGNORECASE,
)
_MAY_DECIDE = re.compile(
    r"decided|decision|chose|opted|settled on|went with|go(?:ing)? with|picked|决定|选择|选用"
    r"|because|since|so that|due to|rather than|instead of|to avoid|per your|out of scope",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\A(?:so,? |ok,? |and |or |but )*(?:would you like|do you want(?! (?!me\b|us\b"
    r"|to\b)\S.*\bor\b)"
    r"|want me|shall (?:i|we)(?! (?:go with|use|take|pick|choose)\b.*\bor\b)|should (?:i"
    r"|we) (?:also|go"
    r"|proceed|continue|start|commit|push|do|create|implement|fix|make|move|apply"
    r"|run|add)|can i|may i|could i|is"
    r" there anything|anything else|does (?:that|this) (?:sound|look|work|make|help"
    r"|match|seem)|do you (?:have any|need"
    r" anything|agree)|sounds? good|ready|ok(?:ay)?\?|how can i|how (?:does"
    r"|do) (?:that|this) (?:sound|look)"
    r"|what (?:would|do) you (?:like|want|think|say)|what'?s next"
    r"|what should i do next|did you mean|any (?:other|more|questions"
    r"|thoughts)|is (?:that|this) (?:ok|okay|what|fine|correct)|right\?|why\b"
    r"|you know|guess|can you believe)"
    r"|(?:需要我|要我|要不要我|是否需要我|还有(?:什么|其他)|可以吗|好吗|行吗|怎么样)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\A(?:also,? |and |or |so,? |first,? |second,? |q\d*[:.)] ?"
    r"|question:? )*(?:which|what|where|who|when|how|should|shall|is|are|does|do|did"
    r"|has|have|can|could you (?:confirm|clarify|tell|share|provide|specify)|will)\b.{8,240}\?\Z"
    r"|.{0,100}(?:要不要|能不能|可不可以|需不需要|该不该).{2,60}[？?]\Z"
    r"|.{4,100}(?:哪|什么|怎么|如何|是否|还是|多少|谁|吗|呢).{0,60}[？?]\Z",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"(?:instead|rather)\b,? (?!of|than)|而是", re.IGNORECASE)
_TAIL = 1500
_TELLING_WORDS = 2
_BRIEF_REPLY = 40


def user_statements(text: str, source: int) -> list[Said]:
    """Return what a user message says that is to be noted.

    Args:
        text: What the user typed.
        source: Seq of the message's entry.
    """
    found: list[Said] = []
    own = own_words(text)
    for index, sentence in enumerate(said_apart(own)):
        last = found[-1] if found else None
        if isinstance(last, Noted) and last.index == index - 1 and _GOES_ON.match(sentence):
            whole = one_line(f"{last.what} {sentence}", MAX_WHAT)
            found[-1] = last.model_copy(update={"what": whole})
            continue
        said = grammar_of(sentence).read(sentence, source=source, index=index)
        if said is not None:
            found.append(said)
    return _with_lists(found, own, source)[:MOST_OF_MESSAGE]


def said_apart(own: str) -> list[str]:
    """Return a user's sentences; orders within a Chinese one are sentences of their own."""
    return [part for sentence in sentences(own) for part in clauses(sentence)]


def _with_lists(found: list[Said], own: str, source: int) -> list[Said]:
    """Return what was found with the points of the lists that the message names."""
    known = {said.what for said in found}
    return [*found, *(noted for noted in listed(own, source) if noted.what not in known)]


def taken_back(
    text: str, source: int, held: Iterable[Statement], *, last: int
) -> Iterator[Closing]:
    """Yield that bans hold no longer, where a user message allows or orders just what they forbid.

    Args:
        text: What the user typed.
        source: Seq of the message's entry.
        held: What holds so far.
        last: Seq of the user's message before.
    """
    bans = [
        (known, grammar_of(known.what).forbidden(until_told(known.what) or known.what))
        for known in held
        if known.status == "active" and features(known.what).negative
    ]
    for index, sentence in enumerate(said_apart(own_words(text)) if bans else ()):
        if grammar_of(sentence).doubtful(sentence):
            continue
        for ban, forbidden in bans:
            if _takes_back(sentence, ban, forbidden, last=last):
                yield Closing(id=ban.id, kinds=("convention",), source=source, index=index)


def _takes_back(sentence: str, ban: Statement, forbidden: str, *, last: int) -> bool:
    grammar = grammar_of(sentence)
    ordered, anew = grammar.ordered(sentence)
    if forbidden and until_told(ban.what):
        return lifted_by(forbidden, ordered, next_message=ban.sources[-1:] == (last,))
    again = anew and ordered.startswith(f"{forbidden} ")  # it may say more of how
    given = bool(forbidden) and (ordered == forbidden or again)
    allowed = grammar.allowed(sentence)
    return not only_once(sentence) and (given or bool(allowed and lifts(allowed, ban.what)))


def agent_decisions(text: str, source: int) -> Iterator[Noted]:
    """Yield what an agent says it decided, where it says why."""
    if not _MAY_DECIDE.search(text):
        return
    found = 0
    for index, sentence in enumerate(sentences(text)):
        if not _DECIDES.match(sentence) or _UNDECIDED.search(sentence):
            continue
        what, why = parted(sentence)
        yield Noted(
            kind="decision",
            what=what,
            why=why,
            sources=(source,),
            index=index,
            origin="agent",
            confidence=0.6,
        )
        found += 1
        if found == _MOST_AGENT:
            return


def left_open(text: str, source: int) -> Iterator[Noted]:
    """Yield the questions with which an agent ends its turn; offers of more work are none."""
    if "?" not in text and "？" not in text:
        return
    asked = [s for s in sentences(text[-_TAIL:]) if _ASKS.match(s) and not _OFFER.search(s)]
    asked = [s for s in asked if len(features(s).words) >= _TELLING_WORDS]
    for index, sentence in enumerate(asked[-_MOST_AGENT:]):
        yield Noted(
            kind="question",
            what=sentence,
            sources=(source,),
            index=100 + index,
            origin="agent",
            confidence=0.7,
        )


def answers(question: str, reply: str, source: int) -> Closing | None:
    """Return that a reply answers a question; None where it is about something else."""
    brief = len(reply) <= _BRIEF_REPLY
    if not reply.strip() or not (brief or about(question, reply) >= 0.25):
        return None
    return Closing(what=question, kinds=("question",), answer=reply[:200], source=source)
