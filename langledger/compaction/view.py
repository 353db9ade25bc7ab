"""What one model call is sent, assembled from the history and the last compaction. Pure.

The order is fixed: system message, then one message with summary, working state and a
bridge line, then what stayed of the history, the newest user message included.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langledger.compaction.account import NO_ACCOUNT, Account
from langledger.compaction.clipping import clip_message, clip_result
from langledger.compaction.edits import Edits
from langledger.compaction.names import text_of
from langledger.compaction.offload import media_in, without_media
from langledger.compaction.pairing import Tracked, Unit, close_unit
from langledger.compaction.transcript import injected_text, is_request, request_text
from langledger.entries.ranges import Ranges

__all__ = [
    "Cut",
    "head_message",
    "merge_system",
    "only_typed",
    "opening_message",
    "reference",
    "render_head",
    "repinned",
    "shown_messages",
    "shown_text",
    "with_section",
]

_OPENING = (
    "[Record of the work so far. Older messages were moved out of view; this stands for them. "
    "It reports what happened and asks for nothing by itself.]"
)
_BRIDGE = (
    "[The conversation goes on below from where it stood. Changes listed above are already made: "
    "do not make them again. #n names an entry of the history, kept in full{lookup}.]"
)
_BEGINS_WITH_AI = "[The conversation opens with the assistant.]"
_TAG = re.compile(r"<\s*/?\s*(?:pinned|summary|working_state|recent_files)\b", re.IGNORECASE)
_PINNED = re.compile(r"\n\n<pinned>\n.*?\n</pinned>", re.DOTALL)
_LOOKUP = "; recall_history(reference) reads it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What the last compaction of a thread decided.

    Attributes:
        generation: Number of the compaction in its thread and scope, from 1.
        covered: Entries that left the view.
        masked: Tool results shown as a reference.
        clipped: What is shown in part: entry id -> most tokens of a result, or of each text and
            each argument of another message.
        boundary: The newest entry covered, masked or clipped.
        summary: Text that stands for the covered entries.
        head: The whole text of the view's first message.
        state: The working state when the compaction was made, as JSON.
        seen: The newest entry there was then.
        history: All entries of the history then, system messages left out.
        size: Tokens of the whole call right after, by our counter.
        length: Messages in view right after.
        usable: Window less reserved output, in tokens, that it was made for.
        pinned_tokens: Size limit of what is pinned.
        edits: What a person changed in summary and state.
        account: The model's part of the summary, which the next one carries on.
    """

    generation: int = 0
    covered: Ranges = field(default_factory=Ranges)
    masked: Ranges = field(default_factory=Ranges)
    clipped: dict[int, int] = field(default_factory=dict[int, int])
    boundary: int = 0
    summary: str = ""
    head: str = ""
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    seen: int = 0
    history: Ranges = field(default_factory=Ranges)
    size: int = 0
    length: int = 0
    usable: int = 0
    pinned_tokens: int = 1000
    edits: Edits = field(default_factory=Edits)
    account: Account = NO_ACCOUNT

    @property
    def in_part(self) -> Ranges:
        """The entries that stay in view, but not whole."""
        return Ranges.of([*self.masked, *self.clipped])

    @property
    def shown_state(self) -> str:
        """The working state as the view's first message shows it."""
        return self.head.partition("<working_state>\n")[2].partition("\n</working_state>")[0]

    def applies_to(self, present: Collection[int], *, oldest: int) -> bool:
        """Tell whether this compaction belongs to a history that holds these entries.

        It does where the newest message it was made for is still there: then nothing it
        tells of was undone. History that the application trimmed is no obstacle, as long as
        something of it is left; a new conversation in the same thread has nothing of it.

        Args:
            present: The history's entries.
            oldest: The first of them that is not a system message.
        """
        return oldest <= self.seen and self.history.last in present


def render_head(
    *,
    summary: str,
    state: str,
    can_look_up: bool,
    pinned: str = "",
    files: str = "",
    ask: str = "",
) -> str:
    """Return the text of the message that stands for what left the view."""
    sections = {
        "pinned": pinned,
        "summary": summary,
        "working_state": state,
        "recent_files": files,
    }
    parts = [_section(name, text) for name, text in sections.items() if text]
    bridge = _BRIDGE.format(lookup=_LOOKUP if can_look_up else "")
    return "\n\n".join([_OPENING, *parts, bridge, *([ask] if ask else [])])


def repinned(head: str, pinned: str) -> str:
    """Return the text of a view's first message with other pins."""
    return with_section(head, "pinned", pinned) if pinned else _PINNED.sub("", head, count=1)


def with_section(head: str, name: str, text: str) -> str:
    """Return the text of a view's first message with one section as given.

    Args:
        head: The whole text.
        name: ``pinned``, ``summary`` or ``working_state``.
        text: What the section is to say.
    """
    section = _section(name, text)
    before, opened, rest = head.partition(f"<{name}>\n")
    if opened:
        return before + section + rest.partition(f"\n</{name}>")[2]
    opening, _, rest = head.partition("\n\n")
    return f"{opening}\n\n{section}\n\n{rest}"


def _section(name: str, text: str) -> str:
    return f"<{name}>\n{_inside(text)}\n</{name}>"


def _inside(text: str) -> str:
    """Return text that cannot close its section or open another."""
    return _TAG.sub(lambda found: found.group().replace("<", "\u2039"), text)


def head_message(cut: Cut) -> HumanMessage:
    """Return the view's first message after a compaction."""
    return HumanMessage(
        cut.head,
        id=f"langledger-compaction-{cut.generation}",
        additional_kwargs={"langledger": {"origin": "compaction", "generation": cut.generation}},
    )


def merge_system(
    system: SystemMessage | None, others: Iterable[BaseMessage]
) -> SystemMessage | None:
    """Return one system message that says what all of them say, each text once."""
    given = [*([system] if system is not None else []), *others]
    all_of_them: list[BaseMessage] = []
    for message in given:
        if all(message.content != other.content for other in all_of_them):
            all_of_them.append(message)
    if len(all_of_them) < 2:
        return cast("SystemMessage | None", next(iter(all_of_them), None))
    contents = [message.content for message in all_of_them]
    if all(isinstance(content, str) for content in contents):
        merged: Any = "\n\n".join(cast("list[str]", contents))
    else:
        merged = [block for message in all_of_them for block in _as_blocks(message)]
    marked = {**all_of_them[0].additional_kwargs, "langledger": {"origin": "system"}}
    return SystemMessage(merged, id=all_of_them[0].id, additional_kwargs=marked)


def shown_text(units: Iterable[Unit], cut: Cut) -> str:
    """Return what a compaction leaves in view, its head included, as one text."""
    left = (unit for unit in units if unit.head.seq not in cut.covered)
    return "\n".join([cut.head, *(text_of(m) for unit in left for m in shown_messages(unit, cut))])


def shown_messages(unit: Unit, cut: Cut | None) -> list[BaseMessage]:
    """Return a unit's messages as the view shows them."""
    return close_unit([shown(member, cut) for member in unit.members])


def shown(tracked: Tracked, cut: Cut | None) -> BaseMessage:
    """Return one message as the view shows it: itself, a reference, or a part."""
    message, seq = tracked.message, tracked.seq
    if cut is None or not (seq in cut.masked or seq in cut.clipped):
        return message
    if isinstance(message, ToolMessage):
        if seq in cut.masked:
            return _replaced(message, reference(tracked))
        return _replaced(message, clip_result(message, cut.clipped[seq], seq))
    light = without_media(message, seq) if seq in cut.masked else None
    if seq not in cut.clipped:
        return light or message
    return clip_message(
        only_typed(light or message, seq) or light or message, cut.clipped[seq], seq
    )


def opening_message() -> HumanMessage:
    """Return what opens a view whose history begins with the assistant."""
    marks = {"langledger": {"origin": "opening"}}
    return HumanMessage(_BEGINS_WITH_AI, id="langledger-opening", additional_kwargs=marks)


def only_typed(message: BaseMessage, seq: int) -> HumanMessage | None:
    """Return what the user said and attached, without what a host added; None if it added nothing.

    Args:
        message: A message whose ``additional_kwargs["typed"]`` is what the user typed of it.
        seq: The entry that keeps it in full.
    """
    if not isinstance(message, HumanMessage) or not injected_text(message).strip():
        return None
    if not is_request(message):
        return None
    text = f"{request_text(message)}\n[What the host added was moved out of view: entry #{seq}.]"
    content: Any = text
    if isinstance(message.content, list):
        attached = [b for b in message.content if isinstance(b, dict) and b.get("type") != "text"]
        content = [{"type": "text", "text": text}, *attached]
    marked = {**message.additional_kwargs, "langledger": {"origin": "reference"}}
    return message.model_copy(update={"content": content, "additional_kwargs": marked})


def reference(tracked: Tracked) -> str:
    """Return what stands for a tool result that was moved out of view."""
    media = media_in(tracked.message)
    size = f"{tracked.tokens} tokens" + (f", with {media}" if media else "")
    return f"[Result moved out of view: {size}, kept in full as entry #{tracked.seq}.]"


def _replaced(message: ToolMessage, content: str | list[Any]) -> ToolMessage:
    return message.model_copy(
        update={
            "content": content,
            "artifact": None,
            "additional_kwargs": {
                **message.additional_kwargs,
                "langledger": {"origin": "reference"},
            },
        }
    )


def _as_blocks(message: BaseMessage) -> list[Any]:
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}]
    return list(message.content)
