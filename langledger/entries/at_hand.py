"""What the user does at the prompt of a host without a word to the agent.

Claude Code runs what follows a ``!`` as a shell command and writes command and output into the
user's place, each in a message of tags; a slash command alone is for the host.
"""

from __future__ import annotations

import html
import re

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

__all__ = ["USER_SHELL", "is_host_command", "is_user_run", "user_run"]

USER_SHELL = "shell of the user"
"""The tool's name of a command that the user ran."""

_ID = "langledger-user-shell"
_RUN = re.compile(
    r"\s*(?:<bash-input>(?P<input>.*?)</bash-input>\s*)?"
    r"(?P<printed><bash-stdout>(?P<out>.*?)</bash-stdout>\s*"
    r"(?:<bash-stderr>(?P<err>.*)</bash-stderr>)?\s*)?\Z",
    re.DOTALL,
)
_TAG = re.compile(r"\s*<bash-(?:input|stdout)>")
# No exit code is told, and what went well writes to this stream too.
_FAILED = re.compile(
    r"^(?:remote: )?(?:error|fatal|panic)\b|\[(?:remote )?rejected\]|command not found"
    r"|No such file or directory|[Pp]ermission denied",
    re.MULTILINE,
)
_HOST_COMMAND = re.compile(r"\s*/[a-z][\w:-]*\s*")


def user_run(message: BaseMessage) -> list[BaseMessage]:
    """Return a command that the user ran, its output, or both, as a call and its result.

    Returns:
        Empty for any other message.
    """
    found = _run(message)
    if found is None:
        return []
    made: list[BaseMessage] = []
    if (command := found["input"]) is not None:
        args = {"command": html.unescape(command).strip()}
        made.append(AIMessage("", tool_calls=[ToolCall(name=USER_SHELL, args=args, id=_ID)]))
    if found["printed"] is not None:
        errors = html.unescape(found["err"] or "")
        printed = "\n".join(filter(None, (html.unescape(found["out"]), errors)))
        status = "error" if _FAILED.search(errors) else "success"
        made.append(ToolMessage(printed, tool_call_id=_ID, name=USER_SHELL, status=status))
    return made


def is_user_run(message: BaseMessage) -> bool:
    """Whether a message in the user's place is a command that the user ran, or its output."""
    return _run(message) is not None


def is_host_command(text: str) -> bool:
    """Whether a text is a slash command alone, such as ``/compact``."""
    return _HOST_COMMAND.fullmatch(text) is not None


def _run(message: BaseMessage) -> re.Match[str] | None:
    if not isinstance(message, HumanMessage):
        return None
    text = str(message.text)
    return _RUN.match(text) if _TAG.match(text) else None
