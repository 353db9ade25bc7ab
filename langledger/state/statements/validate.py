"""Whether what an agent or a model proposes may become part of a state.

A user's order or consent is believed only in the user's own words, found in a message of the
user's. What supposes, offers or asks decides nothing; that nothing failed is no news. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from langledger.state.records import KINDS, Statement, WorkingState
from langledger.state.statements.contrast import contrary, denies, names_act, other_verbs, rejects
from langledger.state.statements.languages import grammar_of
from langledger.state.statements.likeness import about, features, replaces
from langledger.state.statements.patterns import user_statements
from langledger.state.statements.proposal import Proposal
from langledger.state.statements.prose import sentences
from langledger.state.statements.reasons import parted
from langledger.state.statements.revoked import gives_up

__all__ = ["quoted_in", "refusal", "said_by_user"]

_SHORTEST_QUOTE = 4  # characters, in any script
_GROUNDED = 0.5
_CONTEXT = 4  # messages before the one that is quoted
_FEW = 2
_DECIDES = ("decision", "convention")
_TURN = re.compile(r"\.{3,}|…|;|,? but\b|；|，但是?", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|unless|in case|provided that|assuming|whenever|when|once|until)\b"
    r"|如果|假如|要是|除非|万一|的话|的时候|之?[前后时]",
    re.IGNORECASE,
)
_REMINDS = re.compile(
    r"\b(?:do not|don['’]?t|never|not) (?:forget|fail|hesitate|neglect) to\b|不要忘(?:了|记)?"
    r"|[别別]忘了?",
    re.IGNORECASE,
)
# A liking, or none, is no order and no choice.
_LIKES_NOT = re.compile(
    r"\b(?:hates?|dislikes?|can(?:'|no)t stand|not (?:a |the biggest )?fan|sick of|tired of"
    r"|(?:do not|don['’]?t) (?:really |much )?like)\b|不(?:太|大)?喜欢|讨厌",
    re.IGNORECASE,
)
_FOR_THE_USER = re.compile(
    r"(?<![-\w])(?:users?|customer|client|human|owner|boss|manager|operator"
    r"|maintainer)\b(?!-).{0,20}"
    r"\b(?:approv\w+|agree\w*|consent\w*|confirm\w*|allow\w*|accept\w*|order\w*|want\w*|ask\w*"
    r"|said|says|told|decid\w+|request\w*|permit\w*|require\w*|authori[sz]\w*"
    r"|sign(?:ed|s)?[ -]off|instruct\w*|insist\w*|sanction\w*|bless\w*|ok(?:ay)?(?:ed|'d)"
    r"|green[ -]?light\w*|go[ -]ahead|thumbs[ -]up)"
    r"|\b(?:approved|confirmed|allowed|ordered|requested|authori[sz]ed|permitted|instructed"
    r"|signed[ -]off|green[ -]?lit|ok(?:ay)?ed) by (?!(?:default|design)\b)\w"
    r"|\b(?:approval|consent|permission|authori[sz]ation|sign-?off|green[ -]?light|go-ahead)\b"
    r".{0,12}\b(?:received|obtained|given|granted|got|secured|came|from)\b"
    r"|\b(?:got|received|obtained|(?:I|we) have|given|granted)\b.{0,12}"
    r"\b(?:approval|consent|permission|authori[sz]ation|sign-?off|green[ -]?light|go-ahead)\b"
    r"|\b(?:was|were|is|are|been|got) (?:now |already )?(?:signed[ -]off|approved|sanctioned"
    r"|ok(?:ay)?ed"
    r"|green[ -]?lit)\b|\b(?:as|per|on|by|under|following) (?:the |your |his |her "
    r"|their )?(?:instruct\w+"
    r"|requests?\b|requested|ordered|orders\b|agreed|agreement)"
    r"|\byou (?:may|are (?:free|allowed|permitted) to|can (?:now )?(?:force|push|merge|deploy"
    r"|delete"
    r"|drop|remove|skip|ignore|bypass|overwrite|commit|publish|release))\b"
    r"|(?:用户|使用者|用戶|客户|客戶|老板|老闆|业主|领导|主管|经理|负责人|甲方).{0,6}"
    r"(?:同意|批准|确认|確認|要求|允许|允許|决定|決定|说|說|希望|授权|授權|许可|許可|准许|准許|指示"
    r"|吩咐|让|讓|点头|认可|認可)"
    r"|[你您](?:被)?(?:可以|允许)|按照?(?:要求|指示|吩咐)"
    r"|(?:已|已经|經|经|得到|获得|獲得|取得).{0,8}(?:批准|授权|授權|许可|許可|准许|同意)",
    re.IGNORECASE,
)
_NO_NEWS = re.compile(
    r"\A\W*(?:nothing|none|no (?:errors?|failures?|issues?|problems?|changes?|tests?|decisions?"
    r"|open questions?|questions?|conventions?))\b.{0,40}\Z|\A\W*(?:all|every) tests? pass"
    r"|\A\W*没有(?:任何)?(?:错误|失败|问题|变化)"
    r"|\A\W*(?:n/?a|unknown|null|tbd|todo|-|\.+)\W*\Z",
    re.IGNORECASE,
)
_FOLDED = re.compile(r"[\W_]+")
_ORDERS = re.compile(
    r"\b(?:must|should|shall|never|always|please|don'?t|do not|need to|needs to|have to|has to|want"
    r"|let'?s|make sure|ensure|only|prefer|avoid|no|not|stop|from now on)\b"
    r"|必须|务必|一定|请|不要|[别別]|勿|禁止|不得|不许|不准|一律|统一|始终|总是|只|要|用|改|保持"
    r"|保留",
    re.IGNORECASE,
)


def refusal(
    proposal: Proposal,
    state: WorkingState,
    *,
    user: Mapping[int, str],
    agent: Mapping[int, str] | None = None,
) -> str | None:
    """Return why a proposal is not taken in; None where it is.

    Args:
        proposal: What is proposed.
        state: The state it would change.
        user: What the user said, by entry.
        agent: What the agent said, by entry, where a model is to have read it there; None: the
            agent itself proposes, and may decide for itself.
    """
    if proposal.kind == "close":
        return _closes_nothing(proposal, state, user)
    if len(proposal.what.strip()) < _SHORTEST_QUOTE or _NO_NEWS.match(proposal.what):
        return "it says nothing that could be noted"
    unquoted = _misquoted(proposal, {**(agent or {}), **user}, must=agent is not None)
    if unquoted is not None:
        return unquoted
    if agent is None:
        return _speaks_for_the_user(proposal, user)
    spoken = {**agent, **user}
    return _unfounded(proposal, spoken) or _turned_round(proposal, spoken)


def said_by_user(proposal: Proposal, user: Mapping[int, str]) -> bool:
    """Whether the words around the quote say what is proposed: a quote of two words proves nothing.

    What does not speak of the same for the greater part, or turns it round, is the agent's own.
    """
    near = _around(proposal.quote, user)
    if not near or about(proposal.what, " ".join(near)) <= _GROUNDED:
        return False
    if _turned(proposal.what, near):
        return False
    held = _holding(proposal.quote, user) or near
    return proposal.kind not in _DECIDES or any(_says(proposal.what, one) for one in held)


def _says(what: str, sentence: str) -> bool:
    """Whether a sentence orders or chooses, or names the act; to be fond of a thing is neither."""
    ordered = [said.what for said in user_statements(sentence, 0)]
    return names_act(what, sentence) or any(not other_verbs(what, order) for order in ordered)


def _turned(what: str, said: list[str]) -> bool:
    """Whether words forbid what was not forbidden, or turn round what was said."""
    # a no in the reason forbids nothing
    said = [_REMINDS.sub("", parted(one)[0] or one) for one in said]
    forbids = features(what).negative and not features(" ".join(said)).negative
    return forbids or any(
        denies(what, one) or replaces(what, one) or contrary(what, one) or rejects(one, what)
        for one in said
    )


def quoted_in(quote: str, spoken: Mapping[int, str]) -> int | None:
    """Return the newest entry that holds the quoted words; case and punctuation do not count."""
    wanted = _folded(quote)
    if len(wanted) < _SHORTEST_QUOTE:
        return None
    return next(
        (seq for seq in sorted(spoken, reverse=True) if wanted in _folded(spoken[seq])), None
    )


def _misquoted(proposal: Proposal, spoken: Mapping[int, str], *, must: bool) -> str | None:
    if proposal.quote:
        if quoted_in(proposal.quote, spoken) is None:
            return "the quote is in no message of the user's: give their exact words, not only one"
        if proposal.kind == "question":
            return None
        if _supposes(proposal.quote, spoken):
            return "the quoted words suppose, offer or ask; they decide nothing"
        if _on_condition(proposal, spoken):
            return "the quoted words hold on a condition: say it too"
        return None
    return "it quotes nothing" if must else None


def _speaks_for_the_user(proposal: Proposal, user: Mapping[int, str]) -> str | None:
    """Refuse what claims the user's consent and does not quote it."""
    claims = _FOR_THE_USER.search(f"{proposal.what} {proposal.why}") is not None
    if not claims or said_by_user(proposal, user):
        return None
    return "it speaks for the user: quote their words that say it"


def _closes_nothing(proposal: Proposal, state: WorkingState, user: Mapping[int, str]) -> str | None:
    known = _active(state, proposal)
    if known is None:
        return f"there is no active record {proposal.id or proposal.what!r}"
    if known.origin not in ("user", "person") or known.id.startswith("q"):
        return None
    at = quoted_in(proposal.quote, user) if proposal.quote else None
    if at is None:
        return f"{known.id} is the user's: quote the words with which they gave it up"
    around = _around(proposal.quote, user)
    if not about(known.what, " ".join(around)):
        return f"the quoted words are not about {known.id}"
    if not any(gives_up(said, known) for said in around):
        return f"the quoted words do not give up {known.id}"
    return None if at > known.position[0] else f"the quoted words are older than {known.id}"


def _active(state: WorkingState, proposal: Proposal) -> Statement | None:
    for kind in KINDS:
        for statement in state.statements(kind):
            named = statement.id == proposal.id or (
                not proposal.id and statement.what == proposal.what
            )
            if named and statement.status == "active":
                return statement
    return None


def _supposes(quote: str, spoken: Mapping[int, str]) -> bool:
    """Whether the clause the quote stands in asks, supposes or tells of others."""
    return any(grammar_of(quote).doubtful(clause) for clause in _clauses(quote, spoken))


def _on_condition(proposal: Proposal, spoken: Mapping[int, str]) -> bool:
    """Whether the user said it on a condition, of which what is proposed says nothing."""
    clauses = _clauses(proposal.quote, spoken)
    return all(map(_CONDITION.search, clauses)) and _CONDITION.search(proposal.what) is None


def _holding(quote: str, spoken: Mapping[int, str]) -> list[str]:
    """Return the sentences that hold the whole quote."""
    at = quoted_in(quote, spoken)
    wanted = _folded(quote)
    return [s for s in sentences(spoken[at]) if wanted in _folded(s)] if at is not None else []


def _clauses(quote: str, spoken: Mapping[int, str]) -> list[str]:
    """Return the clauses that a quote stands in; itself where it is in none."""
    around, wanted = _holding(quote, spoken), _folded(quote)
    clauses = [c for s in around for c in _TURN.split(s) if wanted in _folded(c)]
    return clauses or around or [quote]


def _around(quote: str, spoken: Mapping[int, str]) -> list[str]:
    """Return the sentences a quote stands in and those next to them; none where it is not said."""
    at = quoted_in(quote, spoken) if quote else None
    if at is None:
        return []
    wanted, said = _folded(quote), sentences(spoken[at])
    folded = [_folded(sentence) for sentence in said]
    held = [n for n, text in enumerate(folded) if text and (wanted in text or text in wanted)]
    # what is quoted out of a paste or a list stands in no sentence, and speaks for itself
    return said[max(held[0] - 1, 0) : held[-1] + 2] if held else [quote]


def _unfounded(proposal: Proposal, spoken: Mapping[int, str]) -> str | None:
    """Refuse what shares too few words with the entries it names and those just before them.

    "Let's do it in 91" says nothing without what was said before it; what a model makes of it may
    use those words too.
    """
    order = sorted(spoken)
    named = [at for at, seq in enumerate(order) if seq in proposal.sources]
    near = {seq for at in named for seq in order[max(at - _CONTEXT, 0) : at + 1]}
    texts = [spoken[seq] for seq in sorted(near)] or [*spoken.values()]
    if len(features(proposal.what).words) <= _FEW:  # somebody says so little somewhere
        texts = []
    if about(proposal.what, " ".join([*texts, proposal.quote])) >= _GROUNDED:
        return None
    return "its words are not those of the messages"


def _turned_round(proposal: Proposal, spoken: Mapping[int, str]) -> str | None:
    """Refuse what a model makes of a clause that says the contrary, or orders nothing."""
    if proposal.kind not in _DECIDES:
        return None
    clauses = _clauses(proposal.quote, spoken)
    if any(_LIKES_NOT.search(clause) for clause in clauses):
        return "the quoted words order nothing"
    if _turned(proposal.what, clauses):
        return "it turns the quoted words round"
    if proposal.kind == "decision" or any(_orders(proposal.what, clause) for clause in clauses):
        return None
    return "the quoted words order nothing"


def _orders(what: str, clause: str) -> bool:
    begins = clause.strip().lower().startswith
    return (
        _ORDERS.search(clause) is not None
        or bool(user_statements(clause, 0))
        or any(begins(word) for word in what.lower().split()[:2])
    )


def _folded(text: str) -> str:
    return _FOLDED.sub(" ", text).strip().casefold()
