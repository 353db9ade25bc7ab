"""What a view still tells of what happened before it; no model is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from langledger.evaluate.facts import Action, Facts, Step, flat, values_in

__all__ = ["PARTS", "WEIGHTS", "Part", "Reach", "Scores", "View", "message_text", "score"]

Reach = Callable[[str], str]
"""A search: from a question to the text of what is found; empty where a side has none."""

WEIGHTS = {"edited": 3, "next": 3, "last": 2, "requests": 2, "steps": 1, "read": 1, "commands": 1}
"""What each part counts in the continuity score."""
PARTS = tuple(WEIGHTS)

_CHANGED = re.compile(
    r"(?i)\b(?:edit|creat|writ|wrot|chang|modif|delet|renam|updat|add|patch|remov|new\b|replac|"
    r"insert|touch|fix|appl)"
)
_GONE = re.compile(r"(?i)\b(?:delet|remov|gone|renam|no longer|rm\b|moved)")
_OPEN = re.compile(r"(?i)\[ \]|\b(?:pending|in[_ ]progress|open|to do|not started)\b")
_MARKED_DONE = re.compile(r"(?i)\[x\]|✓|✔|\b(?:completed?|done|finished)\b")
_NAME = re.compile(r"[\w.@~-]*(?:/[\w.@~-]+)+|\w*[a-z0-9]_\w+|[a-z]+[A-Z]\w+")
# References to entries, and the tags around the parts of a head.
_REFERENCE = re.compile(r"#\d+(?: … #\d+)?|</?[a-z][\w-]*[^<>\n]*>")
# Names that belong to a side itself, not to the session.
_OWN = ("recall_history", "get_entry", "update_state", "working_state", "conversation_history")
_SHOWN = 80  # characters of a text that must stand in a view to count


@dataclass(frozen=True, slots=True)
class Part:
    """How many of what was due are in the view, and how many in the view or one search away."""

    due: int
    named: int
    reached: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of one view.

    Attributes:
        parts: By name: ``edited`` files marked as changed, ``next``: values of the next ten
            actions that had occurred, ``last`` action, ``requests`` of the user, ``steps``,
            ``read`` files, ``commands``.
        edited_named: Edited files that the view names, marked as changed or not.
        rework: Files already changed that the view does not mark so, and finished steps that it
            does not mark finished.
        stale: Deleted files and finished steps that the summary or state shows as live.
        invented: Names in summary or state that never occurred.
        continuity: 1 to 5.
    """

    parts: dict[str, Part]
    edited_named: int
    rework: int
    stale: list[str]
    invented: list[str]
    continuity: float


class View:
    """The messages of one call, as a reader sees them.

    Args:
        messages: As sent.
        known: Ids of the session's own messages; the others stand for what is out of view.
    """

    def __init__(self, messages: Sequence[BaseMessage], known: AbstractSet[str]) -> None:
        self.messages = messages
        self.head = "\n".join(m.text for m in messages if m.id not in known)

    @cached_property
    def text(self) -> str:
        """All that is said, calls and their arguments included."""
        return "\n".join(map(message_text, self.messages))

    @cached_property
    def flat(self) -> str:
        """The text with each run of blanks as one space."""
        return flat(self.text)

    @cached_property
    def lines(self) -> list[tuple[str, str]]:
        """Each line of the head with the heading it stands under."""
        heading, found = "", list[tuple[str, str]]()
        for line in self.head.splitlines():
            if line.startswith(("#", "<")) or line.rstrip().endswith(":"):
                heading = line
            found.append((line, heading))
        return found

    def edits(self) -> Iterator[str]:
        """Yield the text of each tool call in view."""
        for message in self.messages:
            if isinstance(message, AIMessage):
                yield from (_call_text(call) for call in message.tool_calls)


def message_text(message: BaseMessage) -> str:
    """Return what a message says: its reasoning and the arguments of its calls too."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return "\n".join([_plain(message.content), *map(_call_text, calls)])


def score(
    facts: Facts, upcoming: Sequence[Action], view: View, *, history: str, reach: Reach
) -> Scores:
    """Score a view.

    Args:
        facts: What had happened.
        upcoming: The session's next real actions.
        view: What the model is sent.
        history: Text of all that had happened.
        reach: The side's search.
    """
    parts = {
        "edited": _counted(facts.edited, lambda f: _marked(f, facts, view), _by_name(reach)),
        "next": _next(upcoming, view, history, reach),
        "last": _last(facts.last, view),
        "requests": _texts(facts.requests, view, reach),
        "steps": _texts([step.text for step in facts.steps.values()], view, reach),
        "read": _counted(facts.read, lambda f: _names(f, view.text), _by_name(reach)),
        "commands": _texts(facts.commands, view, reach),
    }
    stale = [*_stale_files(facts, view), *_stale_steps(facts, view)]
    invented = _invented(view, history)
    unmarked = parts["edited"].due - parts["edited"].named
    return Scores(
        parts=parts,
        edited_named=sum(_names(f, view.text) for f in facts.edited),
        rework=unmarked + len(_unmarked_steps(facts, view)),
        stale=stale,
        invented=invented,
        continuity=_continuity(parts, stale=bool(stale), invented=bool(invented)),
    )


def _continuity(parts: dict[str, Part], *, stale: bool, invented: bool) -> float:
    """Apply the published rule: see ``docs/bench.md``."""
    due = {name: part for name, part in parts.items() if part.due}
    weight = sum(WEIGHTS[name] for name in due)
    share = (
        sum(WEIGHTS[name] * part.reached / part.due for name, part in due.items()) / weight
        if weight
        else 1.0
    )
    return round(max(1.0, 1 + 4 * share - 0.5 * stale - 0.5 * invented), 2)


def _counted(
    items: Sequence[str], named: Callable[[str], bool], found: Callable[[str], bool]
) -> Part:
    there = [item for item in items if named(item)]
    missing = [item for item in items if item not in set(there)]
    return Part(len(items), len(there), len(there) + sum(map(found, missing)))


def _texts(items: Sequence[str], view: View, reach: Reach) -> Part:
    """Count texts; the question for one that is missing is every other word of it."""
    texts = [text for item in items if (text := flat(item)[:_SHOWN])]

    def found(text: str) -> bool:
        words = text.split()
        question = " ".join(words[::2] if len(words) > 3 else words)
        return text in flat(reach(question))

    return _counted(texts, lambda text: text in view.flat, found)


def _by_name(reach: Reach) -> Callable[[str], bool]:
    """Look a file up by its name alone; the whole path must come back."""
    return lambda path: path in reach(path.rpartition("/")[2])


def _next(upcoming: Sequence[Action], view: View, history: str, reach: Reach) -> Part:
    """Count the values of the next actions; the question is what the agent said with them."""
    due = named = reached = 0
    seen = set[str]()
    for action in upcoming:
        values = [v for v in values_in(action) if v not in seen and v in history]
        seen.update(values)
        missing = [value for value in values if value not in view.text]
        hits = reach(action.said[:400]) if missing and action.said.strip() else ""
        due += len(values)
        named += len(values) - len(missing)
        reached += len(values) - sum(value not in hits for value in missing)
    return Part(due, named, reached)


def _last(last: Action | None, view: View) -> Part:
    if last is None:
        return Part(0, 0, 0)
    values = [value for value in list(last.args.values())[:2] if isinstance(value, str)]
    lines = [flat(text.strip().splitlines()[0])[:40] for text in values if text.strip()]
    plain = view.flat.replace("\\'", "'").replace('\\"', '"').replace("\\\\", "\\")
    named = int(all(part in plain or part in view.flat for part in [last.tool, *lines]))
    return Part(1, named, named)


def _names(path: str, text: str) -> bool:
    """Whether a text names a file: by its path, or by its last two parts."""
    return path in text or "/".join(path.split("/")[-2:]) in text


def _marked(path: str, facts: Facts, view: View) -> bool:
    """Whether a view tells that a file was changed: by a line of its head, or by the edit."""
    if any(path in call for call in view.edits()):
        return True
    bare = path.rpartition("/")[2]
    unique = sum(other.rpartition("/")[2] == bare for other in facts.edited) == 1
    return any(
        (_names(path, line) or (unique and bare in line)) and _CHANGED.search(line + heading)
        for line, heading in view.lines
    )


def _stale_files(facts: Facts, view: View) -> Iterator[str]:
    for path in facts.deleted:
        told = [line + heading for line, heading in view.lines if path in line]
        if told and not any(map(_GONE.search, told)):
            yield path


def _stale_steps(facts: Facts, view: View) -> Iterator[str]:
    for step in facts.steps.values():
        told = _lines_of(step, view)
        if step.done and told and all(_OPEN.search(t) and not _MARKED_DONE.search(t) for t in told):
            yield step.text


def _unmarked_steps(facts: Facts, view: View) -> list[Step]:
    """Return finished steps that no line marks so; the agent's own list in view marks them."""
    in_tail = any('"todos"' in call or "completed" in call for call in view.edits())
    return [
        step
        for step in facts.steps.values()
        if step.done and not in_tail and not any(map(_MARKED_DONE.search, _lines_of(step, view)))
    ]


def _lines_of(step: Step, view: View) -> list[str]:
    text = flat(step.text)[:_SHOWN]
    return [line + heading for line, heading in view.lines if text in flat(line)]


def _invented(view: View, history: str) -> list[str]:
    found = list[str]()
    head = _REFERENCE.sub(" ", view.head)
    for match in _NAME.finditer(head):
        name = match[0].strip(".:-~")
        cut = head[match.end() : match.end() + 1] == "…" or head[match.start() - 1 :][:1] == "…"
        known = name in history or name.rpartition("/")[2] in history
        if len(name) > 4 and not cut and not known and not any(own in name for own in _OWN):
            found.append(name)
    return list(dict.fromkeys(found))


def _call_text(call: ToolCall) -> str:
    return f"{call['name']}\n{_plain(call['args'])}"


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return "\n".join(f"{key}: {_plain(item)}" for key, item in items)
    if isinstance(value, list):
        return "\n".join(map(_plain, cast("list[object]", value)))
    return str(value)
