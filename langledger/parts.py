"""What a ledger hands out, sync and async alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.serde.base import SerializerProtocol

from langledger.arguments import (
    check_optional_seconds,
    check_seconds,
    check_tenant,
    check_text,
    check_whole,
)
from langledger.compaction.history import state_reader
from langledger.compaction.host import USUAL_KEY, Window, locate
from langledger.compaction.middleware import LedgerMiddleware
from langledger.compaction.node import CompactionNode
from langledger.compaction.options import CompactionOptions, chat_model, compactor_of
from langledger.compaction.requests import compact_tool
from langledger.compaction.statekeeping import keeper_of
from langledger.config import Settings, load_settings
from langledger.database import AsyncDatabase, Database
from langledger.database.replica import Replica
from langledger.entries import Location, Recorded
from langledger.entries.lookup import Locate, lookup_tool
from langledger.entries.raw import entry_tool
from langledger.errors import ConfigurationError
from langledger.memory.fact_model import FactReader, read_by
from langledger.memory.parts import MemoryParts
from langledger.operations import Executor, Operation
from langledger.outage import Outage, answering, append, outage_of, with_outage_buffer
from langledger.recall import CrossEncoder, Embedder, Recall, resolve
from langledger.recall.tagging import Tagger
from langledger.redaction import Redactor, redactor_of
from langledger.repository.parts import RepositoryParts
from langledger.state.extract.keeper import Keeper
from langledger.state.tool import team_tool, update_tool

if TYPE_CHECKING:
    from langledger.checkpoint import LedgerSaver

__all__ = ["Parts", "Redact", "embedder_of", "recall_of"]

Redact: TypeAlias = bool | Sequence[str | re.Pattern[str]] | Redactor
"""Whether secrets are taken out; patterns: of more secrets than those known."""


def recall_of(
    executor: Database | AsyncDatabase,
    tenant: str,
    embeddings: object,
    redact: Redact,
    reranker: CrossEncoder | None = None,
) -> Recall:
    """Return what a ledger searches with, made of the ledger's own arguments.

    Raises:
        ConfigurationError: An argument is not usable.
        MissingDependencyError: The embedding model asked for is not installed.
    """
    return Recall(
        executor,
        tenant=check_tenant(tenant),
        embedder=embedder_of(embeddings, encrypted=executor.encrypts),
        clean=redactor_of(redact).text,
        encoder=reranker,
        replica=executor.replica,
    )


def embedder_of(embeddings: object, *, encrypted: bool = False) -> Embedder | None:
    """Return the model that an argument asks for; None asks for what the settings say.

    Args:
        embeddings: The argument.
        encrypted: Content is encrypted, and vectors, which tell of it, cannot be: ``auto`` is off.

    Raises:
        ConfigurationError: It is no such thing, or one is asked for where content is encrypted.
        MissingDependencyError: The model asked for is not installed.
    """
    asked = load_settings().embeddings if embeddings is None else embeddings
    if not encrypted:
        return resolve(asked)
    if asked not in ("auto", "off"):
        raise ConfigurationError(
            "vectors cannot be encrypted, and tell of the content: use embeddings='off' with "
            "encryption"
        )
    return None


class Parts(MemoryParts, RepositoryParts):
    """What a ledger hands out; the parts work sync and async alike."""

    def __init__(
        self,
        executor: Database | AsyncDatabase,
        *,
        tenant: str,
        redact: Redact = True,
        recalling: Recall | None = None,
    ) -> None:
        self._executor = executor
        self._tenant = check_tenant(tenant)
        self._redactor = redactor_of(redact)
        self._compaction_defaults: Mapping[str, Any] = {}
        self._recalling = recalling or Recall(executor, tenant=tenant, clean=self._redactor.text)

    @property
    def executor(self) -> Executor:
        """Runs the database effects."""
        return self._executor

    @property
    def tenant(self) -> str:
        """Whose rows are read and written."""
        return self._tenant

    @property
    def replica(self) -> Replica | None:
        """Answers searches and histories where it may; None: there is none."""
        return self._executor.replica

    @property
    def encrypts(self) -> bool:
        """Whether content is encrypted before it is stored."""
        return self._executor.encrypts

    @property
    def recalling(self) -> Recall:
        """Searches what was recorded."""
        return self._recalling

    @property
    def compaction_defaults(self) -> Mapping[str, Any]:
        """The options of compaction where the middleware or node itself says nothing."""
        return self._compaction_defaults

    def with_defaults(self, **options: Unpack[CompactionOptions]) -> Self:
        """Have what is handed out from now on compact by these options where it says nothing.

        Returns:
            The ledger itself.

        Raises:
            ConfigurationError: An option is unknown or out of range.
        """
        compactor_of(can_look_up=False, **options)
        self._compaction_defaults = dict(options)
        return self

    def with_memory(
        self,
        *,
        tag_model: BaseChatModel | str | None = None,
        fact_model: BaseChatModel | str | None = None,
        memory_timeout: float | None = 60.0,
        embedding_batch: int = 20,
        embedding_delay: float = 10.0,
    ) -> Self:
        """Set what works on memory in the background, and how; what is left out is as it was made.

        Holds for all ledgers on the same connections.

        Args:
            tag_model: A small model that tags what the rules leave open, an object or a name for
                ``init_chat_model``; None: rules alone.
            fact_model: A small model that reads facts of users that rules miss.
            memory_timeout: Seconds that one of their answers may take; None: as long as it takes.
            embedding_batch: Texts of one request to the embedding model, where that takes so many,
                and new entries that set it off.
            embedding_delay: Seconds after which fewer do.

        Returns:
            The ledger itself.

        Raises:
            ConfigurationError: An argument is not usable.
        """
        seconds = check_optional_seconds("memory_timeout", memory_timeout)
        tagging, reading = chat_model(tag_model, "tag_model"), chat_model(fact_model, "fact_model")
        worker = self._recalling.worker
        worker.items = check_whole("embedding_batch", embedding_batch, least=1, most=1000)
        worker.seconds = check_seconds("embedding_delay", embedding_delay)
        worker.tagger = None if tagging is None else Tagger(model=tagging, timeout=seconds)
        reader = None
        if reading is not None:
            reader = FactReader(model=reading, keeper=self.keeper, timeout=seconds)
        read_by(self._executor, reader)
        return self

    def with_outage_buffer(self, messages: int = 1000, *, after: float = 5.0) -> Self:
        """Have agents go on while the database is away; what they say waits, and is recorded then.

        Holds for all ledgers on the same connections. A process that ends meanwhile takes what
        waits with it. Checkpoints never wait, and what must be read is an error.

        Args:
            messages: Most that wait in memory.
            after: Seconds without an answer until the database counts as away.

        Returns:
            The ledger itself.

        Raises:
            ConfigurationError: A number is out of range.
        """
        with_outage_buffer(self._executor, messages=messages, after=after)
        return self

    @property
    def outage(self) -> Outage | None:
        """What holds messages while the database is away; None: that is an error."""
        return outage_of(self._executor)

    @property
    def keeper(self) -> Keeper:
        """Works on the state in the background."""
        return keeper_of(self._executor)

    @property
    def redactor(self) -> Redactor:
        """Takes secrets out of what is derived from entries."""
        return self._redactor

    def checkpointer(self, *, serde: SerializerProtocol | None = None) -> LedgerSaver:
        """Return a checkpointer on the same connections; see :class:`LedgerSaver`.

        Args:
            serde: Serialiser of values; one that encrypts makes them opaque to the ledger.
        """
        from langledger.checkpoint import LedgerSaver  # noqa: PLC0415 - for those who use it

        return LedgerSaver(self._executor, tenant=self._tenant, serde=serde)

    def middleware(
        self,
        *,
        window: Window | None = None,
        reserved_output: int | None = None,
        thread_id: str | None = None,
        user_id: str | None = None,
        cwd: str | None = None,
        lookup: bool = True,
        update_state: bool = True,
        compact_tool: bool = False,
        **options: Unpack[CompactionOptions],
    ) -> LedgerMiddleware:
        """Return middleware for ``create_agent``; see :class:`LedgerMiddleware`."""
        return LedgerMiddleware(
            self,
            window=window,
            reserved_output=reserved_output,
            thread_id=thread_id,
            user_id=user_id,
            cwd=cwd,
            lookup=lookup,
            update_state=update_state,
            compact_tool=compact_tool,
            **options,
        )

    def compaction_node(
        self,
        *,
        window: int | None = None,
        llm: BaseChatModel | None = None,
        messages_key: str = "messages",
        output_messages_key: str | None = "llm_input_messages",
        lookup: bool = False,
        **options: Unpack[CompactionOptions],
    ) -> CompactionNode:
        """Return a node for a ``StateGraph``; see :class:`CompactionNode`."""
        return CompactionNode(
            self,
            window=window,
            llm=llm,
            messages_key=messages_key,
            output_messages_key=output_messages_key,
            lookup=lookup,
            **options,
        )

    def pre_model_hook(
        self,
        *,
        window: int | None = None,
        llm: BaseChatModel | None = None,
        lookup: bool = False,
        **options: Unpack[CompactionOptions],
    ) -> CompactionNode:
        """Return a ``pre_model_hook`` for ``create_react_agent``; see :class:`CompactionNode`.

        The model is sent the view; ``messages`` in the agent's state stay as they are.
        """
        return CompactionNode(self, window=window, llm=llm, lookup=lookup, **options)

    def compact_tool(self, *, messages_key: str = "messages") -> BaseTool:
        """Return the tool ``compact_history`` for the tool node of a graph.

        With ``compact_tool=True`` the middleware of ``create_agent`` brings it along.

        Args:
            messages_key: Key of the state that holds the messages, as the compaction has it.
        """
        return compact_tool(self._executor, self._locating(messages_key), messages_key=messages_key)

    def update_state_tool(self, *, messages_key: str = "messages") -> BaseTool:
        """Return the tool ``update_state`` for the tool node of a graph.

        The middleware of ``create_agent`` brings it along.

        Args:
            messages_key: Key of the state that holds the messages, as the compaction has it.
        """
        return update_tool(
            self._executor,
            self._locating(messages_key),
            state_reader(self._redactor),
            messages_key=messages_key,
        )

    def team_state_tool(self, project: str) -> BaseTool:
        """Return the tool ``read_team_state``: what the other agents of a project do."""
        return team_tool(self._executor, self._tenant, project)

    def recall_tool(self) -> BaseTool:
        """Return the tool ``recall_history`` for the tool node of a graph.

        The middleware of ``create_agent`` brings it along.
        """
        tool = lookup_tool(self._executor, self._locating(), self._recalling.told)
        return answering(tool) if self.outage else tool

    def entry_tool(self) -> BaseTool:
        """Return the tool ``get_entry``, which reads an entry raw, for the tool node of a graph.

        The middleware of ``create_agent`` brings it along.
        """
        tool = entry_tool(self._executor, self._locating())
        return answering(tool) if self.outage else tool

    def _locating(self, messages_key: str = USUAL_KEY) -> Locate:
        check_text("messages_key", messages_key)
        return partial(locate, self._tenant, messages_key=messages_key)

    def _as_set(self, settings: Settings) -> Self:
        """Take over what the settings say of what is handed out."""
        if settings.outage_buffer:
            self.with_outage_buffer(settings.outage_buffer)
        return self.with_memory(**settings.memory).with_defaults(**settings.compaction)

    def _append(
        self, thread_id: str, messages: Sequence[BaseMessage], **facts: Any
    ) -> Operation[Recorded]:
        return append(self.outage, self._at(thread_id), messages, **facts)

    def _begin_background(self) -> None:
        self.keeper.open()
        self._recalling.open()

    def _end_background(self) -> None:
        self.keeper.close()
        if self.outage is not None:
            self.outage.close()

    def _at(self, thread_id: str, scope: str = "") -> Location:
        return Location(self._tenant, thread_id, scope)
