"""The demo's outcome as text for people, 80 columns wide, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from langledger.demo.agents import TRIGGER
from langledger.demo.chart import BLOCKS, Charset, usage_chart
from langledger.demo.measure import Kept, is_stand_in
from langledger.demo.outcome import WINDOW, Outcome
from langledger.state.render import render_state
from langledger.tokens import count_message, count_text

__all__ = ["outcome_json", "render_outcome"]

_WIDTH = 80
_STATE_TOKENS = 2000
_RECALL_LINES = 12

Line = tuple[str, Callable[[Kept], str]]


def render_outcome(
    outcome: Outcome, *, program: str = "langledger", options: str = "", charset: Charset = BLOCKS
) -> str:
    """Return what the demo shows, section by section.

    Args:
        outcome: What the demo gave.
        program: What is typed to run the command line.
        options: Those that lead the other commands to the same database.
        charset: What the chart is drawn with.
    """
    sections = [
        ("Use of the window, one column a model call", _chart(outcome, charset)),
        ("Compactions", "\n".join(_compactions(outcome))),
        ("Working state at the end, no model asked", _state(outcome)),
        ("The last view, as the model got it", "\n".join(_view(outcome.run.calls[-1].messages))),
        ("What was kept of the same session", _comparison(outcome)),
        ("What recall_history read back for the agent", "\n".join(_recalled(outcome))),
        ("Checks", "\n".join(_checks(outcome))),
        ("What to try next", _next(outcome, program, options)),
    ]
    return "\n\n".join([_opening(outcome), *(f"{_title(name)}\n{text}" for name, text in sections)])


def _title(name: str) -> str:
    return f"== {name} {'=' * (_WIDTH - len(name) - 4)}"


def _opening(outcome: Outcome) -> str:
    run, kept = outcome.run, outcome.ours
    return _paragraph(
        f"A LangGraph agent worked on a small repository: a scripted model, real tools, a window "
        f"of {WINDOW:,} tokens, compaction at {TRIGGER:.0%}. {kept.messages} messages, "
        f"{kept.model_calls} model calls, {len(kept.compactions)} compactions, "
        f"{run.seconds:.1f} s. No summary model: summaries are extractive."
    )


def _chart(outcome: Outcome, charset: Charset) -> str:
    kept = outcome.ours
    before = {
        number: report.tokens_before / WINDOW
        for number, report in zip(kept.compactions, outcome.reports, strict=False)
    }
    chart = usage_chart(
        [call.tokens / WINDOW for call in outcome.run.calls],
        before=before,
        trigger=TRIGGER,
        marks=kept.compactions,
        charset=charset,
    )
    return f"{chart}\n        {charset.mark} compaction, {charset.saved} what it freed"


def _compactions(outcome: Outcome) -> Iterator[str]:
    calls = (str(number) for number in outcome.ours.compactions)
    for report in outcome.reports:
        yield (
            f"before call {next(calls, '?'):>2}: {report.tokens_before:>6,} -> "
            f"{report.tokens_after:>5,} tokens; {report.covered:>3} messages summarised, "
            f"{report.kept:>2} kept; {report.seconds * 1000:.0f} ms"
        )


def _state(outcome: Outcome) -> str:
    text = render_state(outcome.state, max_tokens=_STATE_TOKENS, count=count_text)
    lines = (wrap(line, _WIDTH, subsequent_indent="    ") or [""] for line in text.splitlines())
    return "\n".join(part for parts in lines for part in parts)


def _view(messages: Sequence[BaseMessage]) -> Iterator[str]:
    total = sum(count_message(message) for message in messages)
    yield f"{len(messages)} messages, {total:,} tokens; each shortened here to a line"
    for message in messages:
        text = _clip(_said(message), _WIDTH - 14)
        yield f"{message.type:>6} {count_message(message):>5,}  {text}"
        if is_stand_in(message):
            yield from (f"{'':14}{_clip(line, _WIDTH - 14)}" for line in _summary(message.text))


def _said(message: BaseMessage) -> str:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    called = [f"{call['name']}({_clip(_arguments(call['args']), 60)})" for call in calls]
    return f"{message.text} {' '.join(called)}".strip() or "(empty)"


def _summary(text: str) -> list[str]:
    summary = text.partition("<summary>\n")[2].partition("\n</summary>")[0]
    return [*summary.splitlines(), "... and the working state as it was then"]


def _arguments(args: dict[str, Any]) -> str:
    return ", ".join(str(value) for value in args.values())


def _clip(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 3]}..."


def _comparison(outcome: Outcome) -> str:
    sides = (outcome.ours, outcome.theirs, outcome.theirs_by_default)
    lines = [f"{'':<40}{'langledger':>12}{'LangChain':>14}{'defaults':>12}"]
    for name, value in _LINES:
        cells = [value(side) for side in sides]
        lines.append(f"{name:<40}{cells[0]:>12}{cells[1]:>14}{cells[2]:>12}")
    return "\n".join([*lines, "", _FAIRNESS])


def _yes(found: bool) -> str:  # noqa: FBT001 - a cell of a table
    return "yes" if found else "no"


_LINES: tuple[Line, ...] = (
    ("files changed, named in the last view", lambda k: f"{k.files_named} of {k.files_changed}"),
    ("  the least share after a compaction", lambda k: f"{k.least_named:.0%}"),
    (
        "last action named after a compaction",
        lambda k: f"{k.last_action_named} of {len(k.compactions)}",
    ),
    ("first request in the last view", lambda k: _yes(k.first_request)),
    ("the user's rule in the last view", lambda k: _yes(k.rule)),
    ("a decision's reason in the last view", lambda k: _yes(k.reason)),
    ("tokens that stand for the past there", lambda k: f"{k.stand_in_tokens:,}"),
    ("messages still in the thread's state", lambda k: f"{k.messages_in_state} of {k.messages}"),
    ("largest model call, share of the window", lambda k: f"{k.largest_call:.0%}"),
)

_FAIRNESS = "\n".join(
    wrap(
        "Counted by string search in what the model was sent; request, rule and reason word for "
        "word. LangChain: the real SummarizationMiddleware on the same session, with the same "
        "window, trigger and share of tokens to keep. Its summariser answers with what "
        "langledger's extractive summary makes of the messages it is handed, within the tokens "
        "that langledger has for summary and state together. A model would write another text. "
        "It is handed everything (trim_tokens_to_summarize=None), or, in the last column, the "
        "4,000 tokens that are the default. Messages it took out of the state are in older "
        "checkpoints, as long as those are kept.",
        _WIDTH,
    )
)


def _recalled(outcome: Outcome) -> Iterator[str]:
    lines = [line for text in outcome.run.recalled for line in text.splitlines()]
    shown = [part for line in lines for part in (wrap(line, _WIDTH - 2) or [""])]
    yield from (f"  {line}".rstrip() for line in shown[:_RECALL_LINES])
    if len(shown) > _RECALL_LINES:
        yield f"  ... and {len(shown) - _RECALL_LINES} lines more"
    yield "Whatever a summary leaves out is an entry and can be read."


def _checks(outcome: Outcome) -> Iterator[str]:
    for check in outcome.checks:
        yield f"{'ok' if check.passed else 'FAILED':>6}  {check.name} ({check.detail})"


def _next(outcome: Outcome, program: str, options: str) -> str:
    thread = outcome.run.thread_id
    commands = {
        f"show {thread}": "every message, as it was",
        f"state {thread}": "the working state",
        f"compactions {thread}": "what each compaction did",
        "replay SESSION_FILE --window 128000": "a session of yours: Claude Code, Codex, LangChain",
    }
    return "\n".join(
        f"{program} {command}{options}\n    {what}" for command, what in commands.items()
    )


def _paragraph(text: str) -> str:
    return "\n".join(wrap(text, _WIDTH))


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """Return the figures as what ``--json`` prints."""
    return {
        "thread_id": outcome.run.thread_id,
        "window": WINDOW,
        "trigger": TRIGGER,
        "passed": outcome.passed,
        "checks": [asdict(check) for check in outcome.checks],
        "usage": [call.tokens for call in outcome.run.calls],
        "langledger": asdict(outcome.ours),
        "langchain": asdict(outcome.theirs),
        "langchain_defaults": asdict(outcome.theirs_by_default),
        "compactions": [report.model_dump(mode="json") for report in outcome.reports],
        "state": outcome.state.model_dump(mode="json"),
        "recalled": outcome.run.recalled,
    }
