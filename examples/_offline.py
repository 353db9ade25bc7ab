"""The model of the examples: scripted, or OpenAI's API where a key or base URL of it is set.

``OPENAI_API_KEY`` or ``OPENAI_BASE_URL`` choose the API, ``OPENAI_MODEL`` the model there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic import SecretStr

_SET = os.environ  # noqa: TID251 - an example is an application, which may read its environment


class ScriptedModel(GenericFakeChatModel):
    """Says its messages one after the other."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ARG002 - it has a script
        """Return the model itself."""
        return self


def chat_model(script: Iterable[AIMessage | str]) -> BaseChatModel:
    """Return a model that says a script, or a real one where one is set up."""
    key = _SET.get("OPENAI_API_KEY")
    if key or _SET.get("OPENAI_BASE_URL"):
        from langchain_openai import ChatOpenAI

        # a server of one's own often asks for no key, the client always does
        model = _SET.get("OPENAI_MODEL") or "gpt-5-mini"
        return ChatOpenAI(model=model, api_key=SecretStr(key or "none"))
    return ScriptedModel(messages=iter(script))


def call(name: str, call_id: str, **args: Any) -> AIMessage:
    """Return an answer that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": call_id}])
