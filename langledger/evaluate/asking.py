"""A model is asked about what its view shows, and kept from answering without end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from langledger.compaction.overflow import is_overflow
from langledger.compaction.summary_model import for_summaries
from langledger.evaluate.calls import unanswered
from langledger.evaluate.scoring import message_text

__all__ = ["MAX_ANSWER", "ask", "limited", "reply", "transcript"]

MAX_ANSWER = 300
"""Most tokens of an answer: small models go on until a window is full."""

_LIMITS = ("max_tokens", "max_output_tokens", "num_predict")  # as the providers' classes name it


def transcript(view: Sequence[BaseMessage]) -> str:
    """Return a view as one text.

    No tools need be declared for it, and some providers refuse tool calls without.
    """
    return "\n\n".join(f"[{_role(m)}]\n{message_text(m)}" for m in view)


def ask(model: BaseChatModel, record: str, question: str, *, most: int = MAX_ANSWER) -> str:
    """Return what a model answers; empty where the record is too long for it.

    The question comes last, so that a server which keeps the prompt it read reads the record
    once for all questions.

    Args:
        model: The model.
        record: What it knows.
        question: What it is asked.
        most: The most tokens of the answer.

    Raises:
        ModelError: It gave no answer for another reason.
    """
    prompt = [
        SystemMessage("You answer questions about your own work, from its record alone."),
        HumanMessage(f"{record}\n\n[question]\n{question}"),
    ]
    answer = reply(for_summaries(model, max_output=most), prompt)
    return "" if answer is None else answer.text


def reply(model: Runnable[Any, AIMessage], prompt: Sequence[BaseMessage]) -> AIMessage | None:
    """Return a model's answer, None where the prompt is too long for it.

    Raises:
        ModelError: It gave none for another reason.
    """
    try:
        return model.invoke(list(prompt))
    except Exception as error:
        if is_overflow(error):
            return None
        raise unanswered(error) from error


def limited(model: BaseChatModel, most: int) -> BaseChatModel:
    """Return the model with answers of so many tokens at most, or of fewer if it was so already.

    One whose class names no limit is returned as it is.
    """
    names = [name for name in _LIMITS if name in type(model).model_fields]
    changes = {name: min(getattr(model, name) or most, most) for name in names}
    return model.model_copy(update=changes) if changes else model


def _role(message: BaseMessage) -> str:
    return {"human": "user", "ai": "assistant"}.get(message.type, message.type)
