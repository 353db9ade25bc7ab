"""What stood between a call and its tool, read from the message that answers the call.

A reviewer may have another call run in its place, a user, a rule or a limit may keep it from
running, a host may find no tool or no arguments for it, or only note that its result is lost.
None of these is a result of the call that the model made. LangChain marks a reviewer's answer
in the message's metadata; the others are told by the words the text begins with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import ToolMessage

from langledger.state.records import Outcome

__all__ = ["Executed", "executed_instead", "kept_from_running", "reviewed"]

MAX_NOTICE = 2000
"""Characters of a result within which a reviewer's notice must name the call that ran."""

_BY_REVIEWER = "hitl_interrupt_decision"
_NOT_RUN = frozenset(("reject", "respond"))

# HumanInTheLoopMiddleware puts this after a notice that the host may word as it likes
_EXECUTED = re.compile(
    rf"\A.{{0,{MAX_NOTICE}}}?\bExecuted instead: (.{{1,200}}?) with arguments (?=\{{)", re.DOTALL
)
_AFTER_NOTICE = re.compile(r"\.(?:\n\nTool response:\n?|\s*\Z)")

_NO = r"(?:rejected|denied|declined|cancell?ed|refused)"
_REFUSED = re.compile(
    r"(?:user )?doesn't want to proceed|tool use was rejected"
    rf"|(?:user|human) (?:has )?{_NO}|(?:user|human) (?:did not|didn't) (?:allow|approve|permit)"
    rf"|(?:[\w`'\"-]+ ){{0,6}}{_NO} by (?:the )?user|request interrupted by user"
    r"|permission (?:to use|for this) .{0,80} (?:(?:has been|was) )?denied|blocked by\b"
    rf"|tool (?:call|execution) (?:`[^`]{{0,120}}` )?(?:(?:was|is|has been) )?(?:blocked|{_NO})\b"
    r"|tool (?:call |execution )?(?:was |has )?not (?:been )?(?:executed|approved)"
    r"|(?:was )?not (?:been )?approved|requires approval"
    r"|tool call limit (?:exceeded|reached)"
    r"|execution stopped before this tool call could run",
    re.IGNORECASE,
)
_LOST = re.compile(
    r"Tool call .{1,300}? (?:did not complete - no result was recorded"
    r"|was cancelled - another message came in)",
    re.DOTALL,
)
_IMPOSSIBLE = re.compile(
    r"Tool call .{1,300}? could not be executed - |Error: \S+ is not a valid tool, try one of \["
    r"|Error: \S+ is not available\.\s*\Z|Error invoking tool '",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Executed:
    """The call that ran in place of the one the model made.

    Attributes:
        tool: Name of the tool that ran.
        args: Its arguments; none where the notice was cut before their end.
        text: The result without the notice.
    """

    tool: str
    args: Mapping[str, Any]
    text: str


def executed_instead(text: str) -> Executed | None:
    """Return the call that a reviewer had run instead, if the result says that one did.

    Args:
        text: The result of the call, with the notice that LangChain's
            ``HumanInTheLoopMiddleware`` puts before it. A host that turned the notice off
            leaves no trace of the edit in the messages.
    """
    notice = _EXECUTED.match(text)
    if notice is None:
        return None
    try:
        args, end = json.JSONDecoder().raw_decode(text, notice.end())
    except (ValueError, RecursionError):  # cut, or no notice at all: what ran is not known
        return Executed(notice[1], {}, "")
    after = _AFTER_NOTICE.match(text, end)
    return Executed(notice[1], args, text[after.end() :]) if after else None


def reviewed(message: ToolMessage) -> bool:
    """Whether a reviewer rejected the call, or answered it in the tool's place."""
    marks = cast("dict[str, Any]", message.additional_kwargs)
    data = marks.get("lc_data")
    if marks.get("lc_source") != _BY_REVIEWER or not isinstance(data, dict):
        return False
    return cast("dict[str, Any]", data).get("decision") in _NOT_RUN


def kept_from_running(start: str, *, failed: bool, shell: bool) -> Outcome | None:
    """Return how a call ended that did not run; None for one that did.

    ``refused`` if somebody or a rule decided so, ``failed`` if it was no call that could be
    made, ``pending`` if the text only stands in for a result that never came.

    Args:
        start: The start of the result.
        failed: The message says that it is an error.
        shell: It was a shell command, whose output may speak of approvals too.
    """
    opening = _unframed(start)
    if _LOST.match(opening):
        return "pending"
    if _IMPOSSIBLE.match(start):
        return "failed"
    anywhere = failed and not shell
    refused = _REFUSED.search(start[:400]) if anywhere else _REFUSED.match(opening)
    return "refused" if refused else None


def _unframed(start: str) -> str:
    """Return the start of a result without a code fence or a tag around it."""
    return re.sub(r"\A(?:\s|```\w*|<\w+>|error:|the\b|\[)+", "", start, flags=re.IGNORECASE)
