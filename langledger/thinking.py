"""A model's thinking that stands in its answer, as servers without a reasoning parser leave it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:  # importing LangChain takes longer than most commands
    from langchain_core.messages import AIMessage

__all__ = ["split_thinking", "without_thinking"]

_NAME = r"(?:think(?:ing)?|thought|reasoning)"
_OPENS = re.compile(rf"\s*<(?P<name>{_NAME})>", re.IGNORECASE)
# Some chat templates open the block in the prompt, so that only its end is answered.
_ENDS = re.compile(rf"\s*(?:[^`<]|<(?!/?{_NAME}>))*</{_NAME}>[ \t]*(?:\n|\Z)", re.IGNORECASE)


def split_thinking(text: str) -> tuple[str, str]:
    """Return the thinking that a text begins with, and the text after it.

    A block that is not closed is thinking to the end. A text that only tells of such tags is as
    it was.
    """
    rest = text
    while opened := _OPENS.match(rest):
        closed = re.compile(rf"</{opened['name']}>", re.IGNORECASE).search(rest, opened.end())
        rest = rest[closed.end() :] if closed else ""
    if rest == text and (ended := _ENDS.match(text)):
        rest = text[ended.end() :]
    return text[: len(text) - len(rest)], rest.lstrip() if rest != text else rest


def without_thinking(answer: Any) -> Any:
    """Return an answer whose leading thinking is kept apart, as ``reasoning_content``.

    Args:
        answer: A message, or what structured output returned: parsed, or with its message
            under ``raw``.
    """
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    if "raw" in fields:
        return {**fields, "raw": without_thinking(fields["raw"])}
    message = cast("AIMessage", answer)
    return _apart(message) if hasattr(message, "additional_kwargs") else message


def _apart(answer: AIMessage) -> AIMessage:
    content: Any = answer.content
    blocks = cast("list[Any]", content) if isinstance(content, list) else [content]
    at = next((i for i, block in enumerate(blocks) if _text_of(block).strip()), None)
    if at is None:
        return answer
    thought, rest = split_thinking(_text_of(blocks[at]))
    if not thought:
        return answer
    block = rest if isinstance(blocks[at], str) else {**blocks[at], "text": rest}
    kept = [*blocks[:at], block, *blocks[at + 1 :]] if isinstance(content, list) else rest
    before = answer.additional_kwargs.get("reasoning_content")
    aside = f"{before}\n{thought}" if isinstance(before, str) else thought
    marks = {**answer.additional_kwargs, "reasoning_content": aside}
    return answer.model_copy(update={"content": kept, "additional_kwargs": marks})


def _text_of(block: Any) -> str:
    if isinstance(block, dict):
        fields = cast("dict[str, Any]", block)
        block = fields.get("text") if fields.get("type") in {"text", None} else None
    return block if isinstance(block, str) else ""
