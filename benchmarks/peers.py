"""The sides of ``langledger bench`` with a summary model whose words are given."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from langledger import Ledger
from langledger.evaluate.peers import DeepAgents, LangChain, LangMem, installed
from langledger.evaluate.sides import Ours, Setting

PROVIDER = "bench"
SUMMARY = (
    "The assistant worked on the task the user had asked for. It read the files, changed some of "
    "them, ran the tests, mended what failed and decided to keep the interface as it was. "
) * 6
PEERS = {"langchain": LangChain, "deepagents": DeepAgents, "langmem": LangMem}


class Writer(BaseChatModel):
    """A model that gives the same answer each time, else a summary, numbered; it keeps what it is
    sent."""

    model_name: str = "writer"
    answer: Any = None
    sent: Any = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "writer"

    def _get_ls_params(self, *args: Any, **kwargs: Any) -> Any:
        # Peers use a report only where it names this provider.
        return {**super()._get_ls_params(*args, **kwargs), "ls_provider": PROVIDER}

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.sent.append(messages)
        said = self.answer if self.answer is not None else f"{SUMMARY} [{len(self.sent)}]"
        if isinstance(said, Exception):
            raise said
        message = said if isinstance(said, AIMessage) else AIMessage(said)
        return ChatResult(generations=[ChatGeneration(message=message.model_copy())])


def sides(ledger: Ledger, window: int) -> dict[str, Callable[..., Any]]:
    """Return by name what makes each side: ours, and the peers that are installed.

    Each takes a summary model as ``writer`` and options of its own; ours has a model only then.
    """

    def ours(writer: Writer | None = None, **options: Any) -> Ours:
        setting = Setting(window=window, model=writer or Writer())
        without = {"model": None} if writer is None else {}
        return Ours(ledger, setting, searched=False, **without, **options)

    def peer(kind: Any, writer: Writer | None = None, **options: Any) -> Any:
        return kind(Setting(window=window, model=writer or Writer()), **options)

    found: dict[str, Callable[..., Any]] = {"langledger": ours}
    for package, kind in PEERS.items():
        if version := installed(package):
            found[f"{package} {version}"] = partial(peer, kind)
    return found
