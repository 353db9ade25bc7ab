"""A model is asked about what its view shows, and kept from answering without end."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langledger.compaction.summary_model import for_summaries
from langledger.evaluate.scoring import message_text

__all__ = ["ask", "limited"]

_ANSWER = 300  # tokens; small models go on until a window is full
_LIMITS = ("max_tokens", "max_output_tokens", "num_predict")  # as the providers' classes name it


def ask(model: BaseChatModel, view: Sequence[BaseMessage], question: str) -> str:
    """Return what a model answers; a call that fails is an answer too, an empty one.

    The view is handed over as one transcript: no tools are declared, and some providers refuse
    tool calls without. The question comes last, so that a server which keeps the prompt it read
    reads the view once for all questions.
    """
    transcript = "\n\n".join(f"[{_role(m)}]\n{message_text(m)}" for m in view)
    prompt = [
        SystemMessage("You answer questions about your own work, from its record alone."),
        HumanMessage(f"{transcript}\n\n[question]\n{question}"),
    ]
    try:
        return for_summaries(model, max_output=_ANSWER).invoke(prompt).text
    except Exception:  # noqa: BLE001 - too long for a small model's window, refused, cut off
        return ""


def limited(model: BaseChatModel, most: int) -> BaseChatModel:
    """Return the model with answers of so many tokens at most, or of fewer if it was so already.

    One whose class names no limit is returned as it is.
    """
    names = [name for name in _LIMITS if name in type(model).model_fields]
    changes = {name: min(getattr(model, name) or most, most) for name in names}
    return model.model_copy(update=changes) if changes else model


def _role(message: BaseMessage) -> str:
    return {"human": "user", "ai": "assistant"}.get(message.type, message.type)
