"""A summary written by the agent's own model on the agent's own messages.

A provider that caches prefixes bills little for what it has just read. So the call is the one
the agent would make, byte for byte, with one instruction at its end: system message, tools and
messages are those of the call before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langledger.compaction.consent import Heard
from langledger.compaction.grounds import Grounds
from langledger.compaction.sentences import clip, one_line
from langledger.compaction.summary_model import TOO_LATE, is_timeout
from langledger.compaction.transcript import readable_text, serialise_for_summary
from langledger.compaction.validate import check_summary
from langledger.compaction.writer import Asked, clipped
from langledger.entries.codec import storable
from langledger.operations import Operation, complete, own_run
from langledger.redaction import Redactor
from langledger.tokens import count_text, count_texts

__all__ = ["Prefix", "account_on_prefix"]

_OPENING = (
    "[Not from the user. The record of this conversation is due; its older part will be moved out "
    "of view. Answer this in plain text, and call no tool.]"
)
_MOST_INDEX = 3_000  # tokens
_LINE = 100  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The call the agent is about to make.

    Attributes:
        model: Gives the agent's model as it is called, its tools bound.
        system: The view's system message.
        messages: The view before it is compacted.
    """

    model: Callable[[], Any]
    system: SystemMessage | None
    messages: Sequence[BaseMessage]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for at the end of the prefix, and what an answer may hold.

    Attributes:
        prompt: The instruction.
        covered: What the account is to stand for.
        max_tokens: Its size.
        refs: The entries it may cite.
        said: What the user said, by entry.
        heard: The same, each with what it answered.
        thread_id: The thread.
    """

    prompt: str
    covered: Sequence[tuple[int, BaseMessage]]
    max_tokens: int
    refs: set[int]
    said: dict[int, str]
    heard: Sequence[Heard]
    thread_id: str


def account_on_prefix(
    prefix: Prefix, wanted: Wanted, redactor: Redactor, asked: Asked
) -> Operation[str | None]:
    """Return the account, or None where two answers could not be used."""
    shown = serialise_for_summary(enumerate(prefix.messages))
    instruction = "\n\n".join(
        [_OPENING, wanted.prompt.replace("{messages}", "(above)"), _index(wanted.covered)]
    )
    system = [prefix.system] if prefix.system is not None else []
    source = f"{shown}\n{instruction}\n{system}"
    grounds = Grounds(source=source, said=wanted.said, heard=wanted.heard)
    about = own_run("compaction", thread_id=wanted.thread_id)
    reason = None
    for _ in range(2):
        if asked.deadline.is_over:
            asked.rejected.append(asked.deadline.missed)
            break
        again = f"\n\n(Your last answer could not be used: {reason})" if reason else ""
        messages = [*system, *prefix.messages, HumanMessage(instruction + again)]
        asked.calls += 1
        try:
            left = asked.deadline.left
            answer = yield from complete(prefix.model(), messages, about, timeout=left)
        except Exception as error:  # noqa: BLE001 - whatever the provider raises, the agent goes on
            kind = TOO_LATE if is_timeout(error) else ""
            reason = storable(f"{kind}{type(error).__name__}: {redactor.text(str(error))[:200]}")
            if asked.deadline.is_over:
                reason = asked.deadline.missed
        else:
            reason = check_summary(
                answer,
                source_tokens=count_text(shown),
                max_tokens=wanted.max_tokens,
                known_refs=wanted.refs,
                grounds=grounds,
            )
            if reason is None:
                text = redactor.text(storable(answer.text.strip()))
                return clipped(text, wanted.max_tokens)
        asked.rejected.append(reason)
        if reason.startswith(TOO_LATE):
            break
    return None


def _index(covered: Sequence[tuple[int, BaseMessage]]) -> str:
    """Return the numbers of messages, which the agent's own messages do not show."""
    lines = [f"#{seq} {m.type}: {clip(one_line(_beginning(m)), _LINE)}" for seq, m in covered]
    sizes = count_texts(lines)
    every = max(-(-sum(sizes) // _MOST_INDEX), 1)
    return "\n".join(
        ["Numbers of the messages that are to be moved out of view, by their beginnings:"]
        + [line for place, line in enumerate(lines) if place % every == 0]
    )


def _beginning(message: BaseMessage) -> str:
    calls = " ".join(str(call["name"]) for call in getattr(message, "tool_calls", ()))
    return readable_text(message)[:400] or calls
