"""A model is asked about what its view shows."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langledger.evaluate.scoring import message_text

__all__ = ["ask"]


def ask(model: BaseChatModel, view: Sequence[BaseMessage], question: str) -> str:
    """Return what a model answers; a call that fails is an answer too, an empty one.

    The view is handed over as one transcript: no tools are declared, and some providers refuse
    tool calls without.
    """
    transcript = "\n\n".join(f"[{_role(m)}]\n{message_text(m)}" for m in view)
    prompt = [
        SystemMessage("You answer questions about your own work, from its record alone."),
        HumanMessage(f"{transcript}\n\n[question]\n{question}"),
    ]
    try:
        return model.invoke(prompt).text
    except Exception:  # noqa: BLE001 - too long for a small model's window, refused, cut off
        return ""


def _role(message: BaseMessage) -> str:
    return {"human": "user", "ai": "assistant"}.get(message.type, message.type)
