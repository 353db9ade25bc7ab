"""Whatever the history and wherever it is cut, a view is valid for every provider."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger.compaction.pairing import Tracked, close_unit, units_of
from langledger.compaction.policy import Choice, candidates, pinned
from langledger.compaction.session import Session
from langledger.compaction.validity import provider_problems
from langledger.compaction.view import Cut, render_head
from langledger.entries.ranges import Ranges
from langledger.tokens import count_message
from tests.property.compaction.histories import agent_histories, histories


def track(messages: list[BaseMessage], first: int = 1) -> list[Tracked]:
    return [Tracked(n, m, count_message(m)) for n, m in enumerate(messages, first)]


def session_of(messages: list[BaseMessage]) -> Session:
    session = Session()
    session.extend(messages, track(messages))
    return session


@given(histories())
def test_units_keep_every_message_but_repeated_results(messages: list[BaseMessage]) -> None:
    kept = [t.message for unit in units_of(track(messages)) for t in unit.members]
    lost = [m for m in messages if not any(m is k for k in kept)]
    assert all(isinstance(m, ToolMessage) for m in lost)
    assert len(kept) == len({id(k) for k in kept})


@given(histories())
def test_any_run_of_units_is_valid(messages: list[BaseMessage]) -> None:
    units = units_of(track(messages))
    for start in range(len(units)):
        view = [HumanMessage("head")]
        for unit in units[start:]:
            view += close_unit([t.message for t in unit.members])
        assert provider_problems(view) == []


@given(histories())
def test_a_view_is_valid_before_any_compaction(messages: list[BaseMessage]) -> None:
    view = session_of(messages).view(None)
    body = [*([view.system] if view.system else []), *view.messages]
    if view.messages:
        assert provider_problems(body) == []


@given(st.one_of(histories(), agent_histories()), st.integers(0, 2000))
def test_a_view_is_valid_after_every_choice(messages: list[BaseMessage], keep: int) -> None:
    session = session_of(messages)
    newest = [m for m in [m for m in messages if isinstance(m, HumanMessage)][-1:] if m.content]
    for choice in _choices(session, keep):
        compacted = session_of(messages)
        compacted.adopt(_cut(choice, session))
        view = compacted.view(None)
        body = [*([view.system] if view.system else []), *view.messages]
        assert provider_problems(body) == []
        assert all(any(m is user for m in view.messages) for user in newest)
        assert view.tokens == sum(count_message(m) for m in view.messages)


@given(agent_histories(), st.integers(0, 500))
def test_signed_thinking_in_the_open_turn_stays(messages: list[BaseMessage], keep: int) -> None:
    session = session_of(messages)
    last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    for choice in _choices(session, keep):
        compacted = session_of(messages)
        compacted.adopt(_cut(choice, session))
        shown = [m for m in compacted.view(None).messages if last is not None and m.id == last.id]
        for message in shown:
            thinking = [b for b in _blocks(message) if b["type"] == "thinking"]
            assert thinking == [b for b in _blocks(last) if b["type"] == "thinking"]


@given(histories(max_size=40))
def test_growing_a_session_gives_the_view_of_the_whole(messages: list[BaseMessage]) -> None:
    grown = Session()
    for end in range(1, len(messages) + 1):
        grown.extend(
            messages[:end], [Tracked(end, messages[end - 1], count_message(messages[end - 1]))]
        )
    whole = session_of(messages)
    assert grown.view(None) == whole.view(None)
    assert grown.state == whole.state


@given(agent_histories(turns=20))
def test_a_view_only_grows_at_its_end(messages: list[BaseMessage]) -> None:
    """Between compactions each view is the last one plus what came since."""
    session = Session()
    previous: list[BaseMessage] = []
    for end, message in enumerate(messages, 1):
        session.extend(messages[:end], [Tracked(end, message, count_message(message))])
        waiting = session.units[-1].is_open
        if waiting:  # no model call is made while results are missing
            continue
        view = session.view(None).messages
        assert view[: len(previous)] == previous
        previous = view


@given(agent_histories())
def test_the_newest_typed_message_is_pinned(messages: list[BaseMessage]) -> None:
    pins = pinned(units_of(track(messages)))
    typed = [n for n, m in enumerate(messages, 1) if isinstance(m, HumanMessage)]
    assert typed[-1] in pins


def _choices(session: Session, keep: int) -> Iterator[Choice]:
    return candidates(
        session.units,
        keep=keep,
        shown=session.shown_tokens,
        clipped=session.clipped_tokens,
        typed=session.typed_tokens,
    )


def _cut(choice: Choice, session: Session) -> Cut:
    return Cut(
        generation=1,
        covered=choice.covered,
        masked=choice.masked,
        clipped=choice.clipped,
        boundary=max([choice.covered.last, choice.masked.last, *choice.clipped]),
        summary="s",
        head=render_head(summary="s", state="", can_look_up=False),
        state={},
        seen=session.last_seq,
        history=Ranges.of(session.present),
    )


def _blocks(message: BaseMessage | None) -> list:
    content = message.content if message is not None else []
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def test_ranges_are_sets() -> None:
    ranges = Ranges.of([5, 1, 2, 3, 9])
    assert ranges.spans == ((1, 4), (5, 6), (9, 10))
    assert list(ranges) == [1, 2, 3, 5, 9]
    assert 3 in ranges
    assert 4 not in ranges
    assert (ranges | Ranges.of([4])).spans == ((1, 6), (9, 10))
    assert Ranges().last == 0
