"""Fold what was said into a state: user messages, the agent's words, answers to its tools."""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage, HumanMessage

from langledger.state.records import PendingCall, Statement, WorkingState
from langledger.state.statements.book import OPEN_FOR, StatementBook
from langledger.state.statements.likeness import about
from langledger.state.statements.mending import mended
from langledger.state.statements.offers import OPTION, offer_in, taken_up
from langledger.state.statements.patterns import (
    agent_decisions,
    answers,
    left_open,
    taken_back,
    user_statements,
)
from langledger.state.statements.proposal import Noted, Said
from langledger.state.statements.prose import user_text
from langledger.state.statements.questions import answered
from langledger.state.statements.second_thoughts import chosen_anew, reverted
from langledger.state.statements.update import accepted
from langledger.state.tasks import belongs_to, switched, with_topic
from langledger.state.text import message_text, one_line

__all__ = ["after_message", "hear_agent", "hear_result", "hear_user"]

_TITLE = 80
_BRIEF = 80
_ABOUT = 0.25
_CHANGES_WITHIN = 3
"""User messages after an offer in which another of its options may be taken instead."""
_CHOOSES = re.compile(
    r"(?:(?:(?:yes|ok(?:ay)?|sure|fine)(?: please)?|yep|yeah|no|nope|both|neither|all|none|either"
    r"|the (?:first|second|third|last|former"
    r"|latter)(?: (?:one|option))?|(?:option|number|#)? ?(?:\d|[a-e])|是的?|不是|对"
    r"|不(?:要|用|需要|包含)?|要|需要|好的?|都要?|第[一二三四]"
    r"个?|选[\dA-Ea-e一二三四])(?:[\s,.!)。，！]+(?:please|thanks|one|that one|吧|的)?){0,2}\Z"
    r"|(?:yes|yep|yeah|no|nope|是的?|好的?|不)[,，.。]? ?(?:(?:but|and|except|only)\b|不过|但是?)"
    r"(?!.*(?:\b(?:wait|hold|let me|don['’]?t|not)\b|等|[别別]|不要|\?|？)).{4,}"
    r"|(?:only|just|all but|everything except|只) ?\S.{2,40}\Z)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?:the |use |go with |just |only )?[\w./-]+(?: [\w./-]+){0,3}[.!]?\Z", re.IGNORECASE
)
# A question that only yes, no or a choice answers; one that names both sides asks which.
_YES_OR_NO = re.compile(
    r"(?:(?:and|or|so|but|also|then),? )*(?:should|shall|do|does|did|is|are|was|were|has|have|can"
    r"|could"
    r"|may|will|would|want)\b(?!.*\bor\b)|(?!.*还是).*(?:要不要|是否|能不能|可不可以|需不需要"
    r"|吗[？?]\Z)",
    re.IGNORECASE,
)
# Short, and answers nothing: thanks, praise, what somebody else said.
_REMARK = re.compile(
    r"(?:(?:good|great|nice|fair|excellent|interesting) (?:question|point|catch|idea|thought)"
    r"|(?:ok(?:ay)?,? )?(?:i see|got it|hm+|interesting|thanks?(?: you)?|wow|cool|lol|haha)"
    r"|.*\b(?:says?|said|thinks?|asked|wants?)\b|好问题|谢谢|明白了?|哈哈)[.!。！]*(?: .*)?\Z",
    re.IGNORECASE,
)
# A reply that leaves a question open, and the words beside it that say no more.
_PUT_OFF = re.compile(
    r"\b(?:(?:do not|don['’]?t) (?:know|care yet)|dunno|idk|not (?:yet|sure|decided|certain|now)"
    r"|no (?:idea|clue)|wait|hold on|unsure|undecided|haven['’]?t decided|can['’]?t (?:say|tell)"
    r"|later"
    r"|(?:let (?:me|us)|let['’]?s|i['’]?ll|we['’]?ll|(?:have|need) to)"
    r" (?:think|see|check|decide))\b"
    r"|不(?:太)?(?:知道|清楚|确定)|没(?:有)?(?:想好|想过|决定)|(?:以后|回头|晚点|稍后"
    r"|待会儿?)(?:再?说)?"
    r"|再说|再?(?:想想|看看|想一想|考虑一?下)",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"\b(?:hmm+|sorry|well|ok(?:ay)?|yes|yeah|no|honestly|really|i|we|['’]?(?:m|re)|am|are|still"
    r"|yet|but|and|ask"
    r"|me|about|on|to|get|back|you|it|that|this|for|right|now|at the moment|tomorrow|please|decide"
    r"|what|go on|carry on|continue|proceed|move on|keep going|skip|leave|do|start|with|the rest"
    r"|everything else|meanwhile|first|then|so|for now)\b|先?(?:继续|做|跳过)|(?:其他|剩下)的?"
    r"|[我们还也现在暂时让先吧呢哦嗯了]",
    re.IGNORECASE,
)
# What could be asked of nobody: "What more could one want?", "How hard can it be?".
_OPEN = re.compile(
    r"(?:(?:and|or|so|but|also)\b,? )*(?:what|who|where|when|how)\b"
    r"(?=.*(?:\b(?:more|can|could|would|might|not)\b|n['’]t\b))",
    re.IGNORECASE,
)
# Asked of somebody's life, not of the work: the answer decides nothing.
_PERSONAL = re.compile(
    r"\b(?:how (?:was|is|are|were) (?:your|you)|do you (?:like|enjoy|know)|you (?:like|enjoy|feel)"
    r"|(?:have|did|were|do) you (?:\w+ )?(?:travel\w*|visit\w*|been|seen|watch\w*|eat|eaten"
    r"|attend\w*|hear|feel\w*|cook\w*|listen\w*)|your (?:day|friends?|mood|hobb\w+|weekend"
    r"|favou?rite)|(?:did|do) you (?:have|do) (?:for|today|yesterday|on))\b"
    r"|[你您](?:们)?(?:今天|最近|平时|平常|通常|一般)?(?!.*(?:方案|数据库|接口|端口|版本|选|改"
    r"|用哪))(?:觉得"
    r"|感觉|最|平时|通常|最近|去|看|知道|喜欢|有什么|有一些|穿|想过|打算|计划|还|今天|叫|可以叫"
    r"|可以告诉|都"
    r"|的老师|是想)|知道.*吗|为什么要学|喜欢.*(?:吗|呢)[？?]",
    re.IGNORECASE,
)
_ADDRESSES = re.compile(
    r"\b(?:you\w*|we|us|our|i|me|my|which|should|shall|must|or)\b", re.IGNORECASE
)


def after_message(
    state: WorkingState, message: HumanMessage, source: int, *, task_id: str | None
) -> WorkingState:
    """Return the state of the task that a user message belongs to.

    Args:
        state: Of the task so far.
        message: The message.
        source: Seq of its entry.
        task_id: The task as given; None: it is told from the message.
    """
    text = user_text(message).strip()
    if task_id is None and not text:
        return state
    wanted = task_id if task_id is not None else belongs_to(state, text, source)
    return switched(state, wanted, title=one_line(text, _TITLE), given=task_id is not None)


def hear_user(state: WorkingState, message: HumanMessage, source: int) -> None:
    """Take in what the user typed."""
    text = user_text(message).strip()
    if not text:
        return
    if not state.task_title:
        state.task_title = one_line(text, _TITLE)
    book = StatementBook(state)
    decided = _take_up(state, book, text, source)
    asked = _put_before(state)
    for question in asked:
        decided = _answer(book, question, text, source, decided=decided) or decided
    last = state.heard[-1] if state.heard else -1
    mends = None if decided or asked else mended(text, _chosen_at(state, last), source)
    book.take([mends.noted] if mends else [])
    state.heard = (*state.heard, source)[-OPEN_FOR:]
    said = [s for s in user_statements(text, source) if not (decided and _is_the_reply(s))]
    said = [s for s in said if mends is None or not mends.says(s)]
    book.take([*taken_back(text, source, state.conventions, last=last), *said])
    book.expire()
    with_topic(state, text)


def hear_agent(state: WorkingState, message: AIMessage, source: int) -> None:
    """Take in what the agent says it decided, and what it asks at the end of its turn."""
    text = message_text(message)
    state.offer = None if message.tool_calls else offer_in(text, source)
    if not text:
        return
    book = StatementBook(state)
    book.take(agent_decisions(text, source))
    if not message.tool_calls:
        book.take(noted for noted in left_open(text, source) if not _is_rhetoric(noted.what))
    with_topic(state, text)


def _is_rhetoric(question: str) -> bool:
    """Whether nobody in particular is asked and nothing is to be chosen."""
    return _OPEN.match(question) is not None and _ADDRESSES.search(question) is None


def hear_result(state: WorkingState, call: PendingCall, text: str, source: int) -> None:
    """Take in what a call brought that was put to the user, or noted something."""
    if call.questions or call.plan:
        StatementBook(state).take(answered(call, text, source))
    elif call.proposals:
        StatementBook(state).take(accepted(call, text, state))


def _chosen_at(state: WorkingState, source: int) -> list[Statement]:
    """Return what the user decided or ordered in one message, and what still holds of it."""
    held = [*state.decisions, *state.conventions]
    return [
        s
        for s in held
        if s.status == "active" and s.origin == "user" and s.sources[-1:] == (source,)
    ]


def _put_before(state: WorkingState) -> list[Statement]:
    """Return the questions the agent asked since the last user message."""
    since = state.heard[-1] if state.heard else -1
    return [
        question
        for question in state.open_questions
        if question.status == "active"
        and question.origin == "agent"
        and question.sources[-1] > since
    ]


def _take_up(state: WorkingState, book: StatementBook, text: str, source: int) -> bool:
    """Note what a reply makes of what was put to the user; return whether that is a decision."""
    offer, state.offer = state.offer, None
    taken = taken_up(offer, text, source) if offer is not None else None
    if offer is not None and taken is not None and taken.what.startswith(OPTION):
        state.chosen = offer
    elif taken is None and not (offer and offer.options):
        taken = _think_again(state, text, source)
    book.take([taken] if taken is not None else [])
    return isinstance(taken, Noted)


def _think_again(state: WorkingState, text: str, source: int) -> Said | None:
    """Return what a message changes of what the user took up before; None for most."""
    offer = state.chosen
    if offer is not None and sum(seq > offer.source for seq in state.heard) <= _CHANGES_WITHIN:
        before = [
            s
            for s in state.decisions
            if s.status == "active"
            and s.sources[:1] == (offer.source,)
            and s.what.startswith(OPTION)
        ]
        anew = chosen_anew(offer, text, before[-1], source) if before else None
        if anew is not None:
            return anew
    last = _chosen_at(state, state.heard[-1] if state.heard else -1)
    found = (reverted(text, taken, source) for taken in last)
    return next((said for said in found if said is not None), None)


def _is_the_reply(said: Said) -> bool:
    """Whether a statement is the sentence that answers, and stands with what it answers already."""
    if not isinstance(said, Noted) or said.index != 0:
        return False
    return said.kind == "decision" or said.corrects


def _answer(
    book: StatementBook, question: Statement, text: str, source: int, *, decided: bool
) -> bool:
    """Close a question that a message answers; a brief answer is a decision of the user's.

    Returns:
        Whether it was noted as one: not where the message was noted as a decision before.
    """
    reply = one_line(text, 200)
    closing = answers(question.what, reply, source)
    if closing is None or _leaves_open(question.what, text, source):
        return False
    book.take([closing])
    if _PERSONAL.search(question.what) or text.rstrip().endswith(("?", "？")):
        return False
    brief = len(text) <= _BRIEF and about(question.what, text) >= _ABOUT
    if decided or not (_chooses(question.what, text) or brief):
        return False
    said = Noted(
        kind="decision",
        what=f"{question.what} — {reply}",
        sources=(question.sources[0], source),
        index=900 + question.index,
        confidence=0.75,
    )
    book.take([said])
    return True


def _chooses(question: str, text: str) -> bool:
    """Whether a reply says yes or no, or names what it chooses."""
    named = _NAMED.match(text) is not None and not _YES_OR_NO.match(question)
    return _CHOOSES.match(text) is not None or (named and not _REMARK.match(text))


def _leaves_open(question: str, text: str, source: int) -> bool:
    """Whether a reply is no answer: a remark, a delay, or an order of something else."""
    if _REMARK.match(text) and len(text) <= _BRIEF and not _CHOOSES.match(text):
        return True
    beside = _BESIDE.sub("", _PUT_OFF.sub("", text[:_BRIEF]))
    if len(text) <= _BRIEF and _PUT_OFF.search(text) and not re.search(r"\w", beside):
        return True
    orders = (s for s in user_statements(text, source) if isinstance(s, Noted) and s.index == 0)
    return any(s.kind == "convention" for s in orders) and about(question, text) < _ABOUT
