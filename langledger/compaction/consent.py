"""Whether the user agreed to what a summary says was agreed to.

An approval that nobody gave has let agents delete and push. So what was approved must be in the
user's own words: its action (delete, push, 删除) in a request, or in the assistant's question that
a short "yes" answers. Where the user's words forbid the action after that, they hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from langledger.compaction.actions import Subject, subject_of
from langledger.compaction.choices import choices_agree, chosen_in
from langledger.compaction.sentences import split_sentences

__all__ = ["Heard", "Said", "claims_in", "was_given"]

_NOUN = (
    r"(?:approval|consent|permission|ok|okay|go-ahead|blessing|authori[sz]ation|confirmation"
    r"|agreement|sign-?off|green light)"
)
# The words between the user and the verb may not name another who does it.
_GAP = (
    r"(?:(?!\b(?:agents?|assistants?|tools?|tests?|it|which|ci|managers?|reviewers?)\b)"
    r"[^.\n;]){0,60}?"
)
_CLAIMS = re.compile(
    rf"\busers?\b{_GAP}(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )(?<!\bbeen )"
    r"\b(?:(?:pre-?)?approved|consented|authori[sz]ed|confirmed|agreed|permitted|allowed|accepted"
    r"|signed off|green-?lit|green-?lighted|okayed|ok'?e?d|okay'd"
    r"|said (?:yes|ok|okay|sure|go ahead)|says (?:yes|ok|okay)"
    rf"|(?:gave|given|granted|gives|grants) (?:\w+(?:'s)? ){{0,4}}?(?:{_NOUN}|nod|thumbs[- ]up)"
    r"|(?:is|was|are|were) (?:ok|okay|fine|happy|on board) with)(?!\w)"
    r"|\b(?:approved|authori[sz]ed|confirmed|permitted|allowed|okayed|ok'?d|accepted|agreed"
    r"|signed off|green-?lit)(?: \w+ly)?(?: to| on)? (?:by|with) (?:the )?users?\b"
    r"|\b(?:with|per|by|on|upon|after|following|under|given|obtain\w*|receiv\w*|secur\w*|gain\w*"
    rf"|got|has|have|had) (?:the |an? )?(?:\w+ )?users?(?:'s?)? (?:\w+ )?{_NOUN}\b"
    rf"|\b(?:{_NOUN}) (?:of|from|by) (?:the )?user\b(?= (?:was|were|has|had|is)\b)"
    rf"|\busers?(?:'s?)? (?:\w+ )?{_NOUN}\b(?=[^.\n;]{{0,60}}?\b(?:was|were|is|are|been)"
    r" (?:\w+ly )?(?:obtained|given|received|granted|secured|confirmed|recorded|on record"
    r"|in place))"
    rf"|\b{_NOUN}\b(?: (?:for|to) [^.\n;]{{1,80}}?)? (?:was|were|has been|had been) (?:\w+ly )?"
    r"(?:obtained|given|granted|received|secured)\b(?! (?:by|from) (?!the user))"
    rf"|\bwith (?:\w+ )?{_NOUN} (?:granted|given|obtained|received|secured)\b"
    r"|用户[^。\n；]{0,12}?(?:同意|批准|确认|授权|允许|许可|认可|准许|答应|首肯|放行|点头|说可以|表示可以"
    r"|说没问题|表示没问题|说行|说好|没有?异议)"
    r"|(?:经|获|得到|获得|征得|取得|根据|按照?|凭|由|被|在|得|有)用户的?[^。，\n]{0,4}?"
    r"(?:同意|批准|确认|授权|允许|许可|认可|准许)",
    re.IGNORECASE,
)
_NOT_YET = re.compile(
    r"\b(?:not|never|without|until|unless|whether|if|pending|awaiting|await|should|must|may|will"
    r"|would|needs?|requires?|required|asked for|asked to|once|refused|denied|rejected|withheld)\b"
    r"|n't\b|不(?!久)|未|没(?!有?异议|问题)|是否|等待|需要?|须|待|请用户|如果|若|除非|能否|有无",
    re.IGNORECASE,
)
_NOT_AFTER = re.compile(
    r"\W*(?:is|was|are|were) (?:not|never|pending|needed|required|refused|denied|withheld|still)\b"
    r"|[^。，\n]{0,8}?(?:后再|后才|后方可|之后再|之后才|之前|尚未|与否)",
    re.IGNORECASE,
)
_STARTS_CLAUSE = re.compile(r"[;:，；：—]|, (?:and|but|so)\b|\b(?:and|but) (?=the user\b)")
# Of a fact, and of nothing that may be done.
_FACT = re.compile(
    r"(?:that\b[^.\n]*?|[^.\n,]*?)\b(?:is|was|are|were|has|have|had|does|did|works?|fails?)\b"
    r"(?! (?:to be|ok|okay|fine|allowed|approved|good|safe))"
    r"|[^。，\n]*?(?:已|是|为|没有|存在|仍)",
    re.IGNORECASE,
)
_ENDS_OBJECT = re.compile(
    r"[,;.!?，。；！？](?!\s*(?:and |or )?(?:\w+ing\b|to [a-z]))(?=\s|$|[一-鿿])|\[#"
    r"|\b(?:after|before|when|while|which|because|since|so|but|then|who|once|where|as)\b"
    r"|\band (?:the |then )?(?:agent|assistant|it|they|then)\b|(?:随后|然后|之后|因此|所以|但)",
    re.IGNORECASE,
)
_REF = re.compile(r"#(\d{1,18})")

_AFFIRMS = re.compile(
    r"(?<![\"'`=/_.-])\b(?:yes|yeah|yep|yup|ok|okay|sure|go ahead|approved?|i (?:approve|agree"
    r"|confirm|consent)|confirmed|agreed|do (?:it|that|so)|please do|proceed|lgtm|fine|go for it"
    r"|sounds good|looks good|by all means|of course|absolutely|definitely|you (?:may|can)|y"
    r"|oui|d'accord|vas-y|ja|klar|gerne|einverstanden|sí|vale|claro|sim|certo|va bene)\b"
    r"(?!['\"`=])|\bда\b|はい|どうぞ|네\b|同意|可以|批准|确认|授权|允许|没问题|是的|好的|好吧|行$|行[，。,]|^嗯|就这样|就这么",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\bno (?:problem|worries|objections?|need to ask|doubt)\b|\bwhy not\b|\bnot only\b"
    r"|没问题|没有?异议|不错|不用问|不必问|不客气|不反对",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?:not|never|no|nope|nothing|without|cannot|avoid|refrain|forbid\w*|prohibit\w*|instead of"
    r"|rather than|hold off|wait|stay away|hands off)\b|n't\b|不|别|禁止|勿|没|停止|避免|等等",
    re.IGNORECASE,
)
# Neither allows nor forbids.
_CONDITION = re.compile(
    r"\b(?:before|until|unless|if|ask (?:me|us|first))\b|之前|除非|如果|问我", re.IGNORECASE
)
_ASKS = re.compile(r"[?？]\s*[\"'”」)]*$|[吗呢么]\s*[。.]?$")
_POLITE = re.compile(
    r"^\W*(?:(?:yes|ok|okay|now|and|then|so)\b\W*)*(?:please|(?:can|could|would|will) (?:you|we)\b"
    r"|请|麻烦|帮|能不能|能否|可否|可以帮|你能)",
    re.IGNORECASE,
)
_FOR_LEAVE = re.compile(
    r"[?？]|[吗呢么]\W*$|\b(?:please confirm|let me know|may i|shall i|should i|do you want"
    r"|awaiting your|need your)\b|请确认|请批准|是否",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"[.!?;,:]\s+|[。！？；，：]|\s(?:but|just|only|instead|and then|then)\s|但是?|而是|\n",
    re.IGNORECASE,
)
_LISTED = re.compile(r",[^.;!?,]{0,80}\b(?:or|nor)\b|[，、][^。；，]{0,40}或", re.IGNORECASE)
_POINTS = re.compile(
    r"\b(?:it|them|that|this|those|these|both|everything|all|anything)\b"
    r"|它|这些|那些|这个|那个|全部|任何|一切|所有|都",
    re.IGNORECASE,
)
# Takes one of several things, by whatever name.
_DECIDES = re.compile(
    r"^\W*(?:(?:please|let's|let us|we(?:'ll| will| should)?|i(?:'d| would|'ll| will)?|then|ok"
    r"|just)\W+)*(?:use|go with|take|pick|choose|prefer|want|switch to|stick (?:to|with)|keep)\b"
    r"|(?:使用|采用|选择?|就用|改用|换成|用)",
    re.IGNORECASE,
)
_SHORT = 120  # characters of an answer that takes its meaning from the question


@dataclass(frozen=True, slots=True)
class Heard:
    """What the user said at one time.

    Attributes:
        seq: Its entry.
        text: The user's words.
        before: The end of what the assistant, or its tool, had put to the user; may be empty.
    """

    seq: int
    text: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class _Clause:
    text: str
    about: Subject
    forbids: bool
    asks: bool  # or supposes; it asks for nothing to be done


@dataclass(frozen=True, slots=True)
class Said:
    """What the user said at one time, read.

    Attributes:
        seq: Its entry.
        clauses: Its clauses, in order.
        context: What all of it is about, with what it answers.
        asked: What the question is about that it is a short yes to; None where it is none.
        chosen: Which of the options that were offered it chose; None where it chose none.
    """

    seq: int
    clauses: Sequence[_Clause]
    context: Subject
    asked: Subject | None
    chosen: Subject | None = None

    @classmethod
    def of(cls, heard: Heard) -> Said:
        """Read what was heard."""
        clauses = list(_clauses(heard.text))
        context = subject_of(f"{heard.before}\n{heard.text}")
        chosen = chosen_in(heard.text, heard.before) if len(heard.text) <= _SHORT else None
        return cls(heard.seq, clauses, context, _agreed_to(heard, clauses), chosen)

    @property
    def affirms(self) -> bool:
        """Whether there is a yes in it, to whatever."""
        return any(_AFFIRMS.search(of.text) for of in self.clauses if not of.forbids)


def claims_in(sentence: str) -> Iterator[Subject]:
    """Yield what a sentence says the user agreed to, for each time it says so."""
    for claim in _CLAIMS.finditer(sentence):
        start = max(
            (m.end() for m in _STARTS_CLAUSE.finditer(sentence, 0, claim.start())), default=0
        )
        if _NOT_YET.search(_HARMLESS.sub("", sentence[start : claim.end()])):
            continue
        after = sentence[claim.end() :]
        if _NOT_AFTER.match(after) or _is_fact(claim[0], after):
            continue
        yield _object(sentence, claim, after)


def _is_fact(said: str, after: str) -> bool:
    return said.lower().endswith(("confirmed", "确认")) and _FACT.match(after) is not None


def _object(sentence: str, claim: re.Match[str], after: str) -> Subject:
    """Return what was agreed to: the words after the claim, else within it, else before it."""
    after = after.lstrip(" ,:，：-—了")
    end = _ENDS_OBJECT.search(after)
    parts = [after[: end.start()] if end else after, _within(claim[0])]
    parts += reversed(re.split(r"[,;，；。]", sentence[: claim.start()]))
    parts += [_ENDS_OBJECT.split(part)[0] for part in re.split(r"[,;，；]", after)[1:]]
    found = (subject_of(_REF.sub(" ", part)) for part in parts)
    return next((subject for subject in found if subject), Subject())


def _within(claim: str) -> str:
    """Return what stands between 用户 and the verb, as in 用户对删除表示同意."""
    found = re.search(r"用户(?:对|就|关于)(.+)", claim)
    return found[1] if found else ""


def was_given(claim: Subject, said: Sequence[Said], cited: Collection[int]) -> bool:
    """Whether the user's words bear out an agreement.

    Args:
        claim: What was agreed to.
        said: All that the user said, in order.
        cited: The entries that the claim names; empty: it may come from any.
    """
    if not claim.words and all(map(claim.mild, claim.actions)):
        claim = Subject()  # "the changes" are whatever was asked for
    return all(_holds(claim, action, said, cited) for action in claim.actions or ("",))


def _holds(claim: Subject, action: str, said: Sequence[Said], cited: Collection[int]) -> bool:
    """Whether the last word of the user on an action allows it."""
    allowed = False
    for message in said:
        for event in _events(claim, action, message):
            allowed = event and (allowed or not cited or message.seq in cited)
    return allowed


def _events(claim: Subject, action: str, said: Said) -> Iterator[bool]:
    """Yield True where a message allows the action, False where it forbids it, in order."""
    if said.asked is not None and (not claim or _is_about(claim, action, said.asked)):
        yield True
    chosen = said.chosen if said.chosen and choices_agree(claim, said.chosen) else None
    if chosen is not None and claim and _is_about(claim, action, chosen):
        yield True
    for clause in said.clauses:
        if clause.forbids:
            if _is_against(claim, action, clause):
                yield False
        elif not clause.asks and _requests(claim, action, clause, said):
            yield True


def _clauses(text: str) -> Iterator[_Clause]:
    for sentence in (s for line in text.splitlines() for s in split_sentences(line)):
        asks = _ASKS.search(sentence[-40:]) is not None and not _POLITE.match(sentence)
        listed = _LISTED.search(sentence) is not None
        carried = False  # from the first of "don't move, rename or delete it" to the others
        for clause in _CLAUSES.split(sentence):
            forbids = _FORBIDS.search(_HARMLESS.sub("", clause)) is not None
            carried = listed and (carried or forbids)
            supposes = asks or _CONDITION.search(clause) is not None
            yield _Clause(clause, subject_of(clause), forbids or carried, supposes)


def _agreed_to(heard: Heard, clauses: Sequence[_Clause]) -> Subject | None:
    """Return what the question is about that a message is a short yes to."""
    if len(heard.text) > _SHORT or any(of.forbids and not of.about for of in clauses):
        return None  # the latter is "yes, but not now"
    if not any(_AFFIRMS.search(of.text) for of in clauses if not of.forbids and not of.asks):
        return None
    asked = _question(heard.before)
    return None if asked is None or any(of.about.differs(asked) for of in clauses) else asked


def _question(before: str) -> Subject | None:
    """Return what the last question is about; what it only points at, the sentences before say."""
    parts = [s for line in before.splitlines() for s in split_sentences(line)]
    last = max((i for i, part in enumerate(parts) if _FOR_LEAVE.search(part)), default=-1)
    if last < 0 or last < len(parts) - 3:
        return None
    own = subject_of(parts[last])
    if own.size >= 2 or (own and not _POINTS.search(parts[last])):
        return own
    wide = subject_of(" ".join(parts[max(last - 2, 0) : last + 1]))
    return replace(wide, actions=own.actions) if own.actions else wide


def _requests(claim: Subject, action: str, clause: _Clause, said: Said) -> bool:
    """Whether a clause asks for, or allows, what was agreed to."""
    about = clause.about
    if not claim:
        return _AFFIRMS.search(clause.text) is not None
    if not action:
        enough = about.shared(claim) >= min(2, claim.size)
        decides = (
            said.affirms or _DECIDES.search(clause.text) is not None or about.words == claim.words
        )
        return enough and (claim.size > 1 or decides)
    if action not in about.asked:
        return about.mild(action) and about.shared(claim) >= 2
    if _POINTS.search(clause.text) or not about.words:
        about = said.context
    return _is_about(claim, action, about)


def _is_about(claim: Subject, action: str, about: Subject) -> bool:
    """Whether a text has the action and what it is done to."""
    if not claim.grave <= about.grave:
        return False
    if not action:
        return about.shared(claim) >= min(2, claim.size)
    same = not claim.words or about.shared(claim) > 0 or about.in_other_words(claim)
    return action in about.actions and same


def _is_against(claim: Subject, action: str, clause: _Clause) -> bool:
    about = clause.about
    if action and action not in about.actions:
        return False
    if not action:
        return about.shared(claim) >= min(2, claim.size) > 0
    wide = not about.words or not claim.words or _POINTS.search(clause.text) is not None
    return wide or about.shared(claim) > 0 or about.in_other_words(claim)
