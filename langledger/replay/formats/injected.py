"""What a host writes into the user's place: its surroundings, instruction files, reminders.

Hosts send it as, or at the head of, a user message; what the user typed may follow it.
"""

from __future__ import annotations

import re

__all__ = ["typed_part"]

_BLOCKS = (
    "environment_context|user_instructions|user_shell_command|turn_aborted|skill|INSTRUCTIONS"
    "|permissions instructions|subagent_notification|recommended_plugins|app-context"
    "|collaboration_mode|multi_agent_mode|(?:apps|plugins|skills)_instructions|system-reminder"
)
_OPENING = re.compile(rf"<({_BLOCKS})(?:\s[^>\n]*)?>")
# The instructions themselves follow in a block; older versions let them run to the end.
_TITLE = re.compile(r"# (?:AGENTS|CLAUDE)\.md instructions\b[^\n]*\n?\s*(?=(<INSTRUCTIONS>)?)")
# An editor's open files and selection; the request comes after a heading of its own.
_EDITOR = re.compile(r"# Context from my IDE setup:")
_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)


def typed_part(text: str) -> str:
    """Return what is left of a user message after what its host put before it.

    Returns:
        The text itself where a host put nothing there; empty where the user typed nothing. A
        block that is not closed reaches to the end: a file's words must not pass for the user's.
    """
    at = _skip_space(text, 0)
    while (after := _after_injection(text, at)) is not None:
        at = _skip_space(text, after)
        if at == len(text):
            return ""
    return text if at == _skip_space(text, 0) else text[at:]


def _after_injection(text: str, at: int) -> int | None:
    """Return where what a host has written at ``at`` ends; None where it wrote nothing."""
    if opened := _OPENING.match(text, at):
        return _closed(text, opened)
    if title := _TITLE.match(text, at):
        return title.end() if title[1] else len(text)
    if _EDITOR.match(text, at):
        request = _REQUEST.search(text, at)
        return request.end() if request else len(text)
    return None


def _closed(text: str, opened: re.Match[str]) -> int | None:
    """Return the end of a block: its closing tag that ends a line, else the first one.

    One that is not closed ends the text, but where words follow its tag on the line: those
    speak of the tag.
    """
    tag = re.escape(f"</{opened[1]}>")
    for pattern in (rf"{tag}[ \t]*(?:\n|\Z)", tag):
        if closing := re.compile(pattern).search(text, opened.end()):
            return closing.end()
    return None if text[opened.end() :].partition("\n")[0].strip() else len(text)


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
