"""What the working state needs around a model call: events, tasks, core knowledge, the world."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage, SystemMessage

from langledger.compaction.history import state_of
from langledger.compaction.session import Session, View
from langledger.compaction.view import merge_system
from langledger.entries import Location
from langledger.operations import Executor, Operation, call
from langledger.redaction import Redactor
from langledger.state import store
from langledger.state.context import ProjectContext
from langledger.state.extract.keeper import Keeper
from langledger.state.extract.model import extract
from langledger.state.options import StateSettings
from langledger.state.records import KINDS, Statement, StatementKind, WorkingState
from langledger.state.render import render_state
from langledger.state.world import differences
from langledger.telemetry import log_unforeseen
from langledger.tokens import count_text

__all__ = ["Around", "StateKeeping", "keeper_of", "with_core"]

logger = logging.getLogger("langledger.state")

_MAX_CONTEXTS = 64
_WORLD = "## The working tree disagrees; look before you rely on it"
_WORLD_SHARE = 0.2
_keepers: WeakKeyDictionary[Executor, Keeper] = WeakKeyDictionary()


def keeper_of(executor: Executor) -> Keeper:
    """Return what works in the background on a pool of connections; one for each pool."""
    keeper = _keepers.get(executor)
    return keeper if keeper is not None else _keepers.setdefault(executor, Keeper(executor))


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is known beside a thread's own state when it is rendered.

    Attributes:
        shared: The shared records of the project.
        world: Where the state and the world disagree.
    """

    shared: Sequence[tuple[StatementKind, Statement]] = ()
    world: Sequence[str] = ()

    def render(self, state: WorkingState, *, max_tokens: int) -> str:
        """Return the state as text, what is shared among it and what disagrees after it."""
        lines: list[str] = []
        for line in self.world:
            told = "\n".join([_WORLD, *lines, f"- {line}"])
            if count_text(told) > max_tokens * _WORLD_SHARE:
                break
            lines.append(f"- {line}")
        told = "\n".join([_WORLD, *lines]) if lines else ""
        room = max_tokens - (count_text(told) + 2 if told else 0)
        text = render_state(with_shared(state, self.shared), max_tokens=room, count=count_text)
        return "\n\n".join(part for part in (text, told) if part)


@dataclass(slots=True, kw_only=True)
class StateKeeping:
    """Keeps the state of threads complete, as the settings say.

    Attributes:
        settings: What a user set.
        keeper: Works in the background; None: nothing is done there.
        redactor: Takes secrets out.
    """

    settings: StateSettings = field(default_factory=StateSettings)
    keeper: Keeper | None = None
    redactor: Redactor = field(default_factory=Redactor)
    _contexts: dict[str | None, ProjectContext | None] = field(
        default_factory=dict[str | None, ProjectContext | None]
    )

    def core(self, cwd: str | None) -> Operation[SystemMessage | None]:
        """Return the core knowledge of the project, as it is pinned after the system message."""
        context = self._context(cwd)
        if context is None:
            return None
        core = yield from call(context.read)
        if not core.text:
            return None
        text = self.redactor.text(core.text)
        return SystemMessage(f"<project_context>\n{text}\n</project_context>")

    def facts(self, cwd: str | None) -> dict[str, str]:
        """Return what is kept with a thread, so that others read its state as the agent does."""
        context = self._context(cwd)
        return {"project_context": str(context.path.absolute())} if context else {}

    def catch_up(
        self, location: Location, session: Session, *, cwd: str | None
    ) -> Operation[Around]:
        """Merge the events a session has not seen, and return what is known beside its state."""
        known = {*session.present, *(session.cut.history if session.cut else ())}
        for event in (yield from store.events(location, merged=session.state.merged)):
            if known.issuperset(event.sources):
                session.merge(event)
        shared: Sequence[tuple[StatementKind, Statement]] = ()
        if self.settings.project is not None:
            shared = yield from store.shared(location.tenant, self.settings.project)
        return Around(shared=shared, world=(yield from self._world(session.state, cwd)))

    def recorded(self, location: Location, count: int = 1) -> None:
        """Say that a thread has new entries; what follows is done in the background."""
        keeper, settings = self.keeper, self.settings
        if keeper is None:
            return
        extractor = settings.extractor
        if extractor is not None:
            keeper.notice(
                ("extract", location),
                lambda: extract(
                    location, extractor, read_state=self.read_state, redactor=self.redactor
                ),
                items=count,
            )
        if settings.project is not None:
            project = settings.project
            keeper.notice(("publish", location), lambda: self._publish(location, project))

    def read_state(self, location: Location) -> Operation[WorkingState]:
        """Return the state of a thread as it is."""
        return state_of(location, redactor=self.redactor)

    def _publish(self, location: Location, project: str) -> Operation[None]:
        state = yield from self.read_state(location)
        yield from store.publish(location, state, project=project)

    def _world(self, state: WorkingState, cwd: str | None) -> Operation[list[str]]:
        probe = self.settings.world(cwd)
        if probe is None:
            return []
        try:
            changed: Iterable[str] | None = yield from call(probe)
            return differences(state, changed) if changed is not None else []
        except Exception as error:  # noqa: BLE001 - the user's own; a compaction does not fail over it
            log_unforeseen(logger, "the world probe failed", error)
            return []

    def _context(self, cwd: str | None) -> ProjectContext | None:
        if cwd not in self._contexts:
            if len(self._contexts) >= _MAX_CONTEXTS:
                self._contexts.clear()
            self._contexts[cwd] = self.settings.context(cwd)
        return self._contexts[cwd]


def with_core(view: View, core: SystemMessage | None) -> View:
    """Return a view whose system message ends with the core knowledge."""
    if core is None:
        return view
    others: list[BaseMessage] = [core]
    return replace(view, system=merge_system(view.system, others))


def with_shared(
    state: WorkingState, shared: Sequence[tuple[StatementKind, Statement]]
) -> WorkingState:
    """Return a state with the records that all agents of a project share, theirs first."""
    if not shared:
        return state
    lists = {
        KINDS[kind]: [
            *(statement for k, statement in shared if k == kind),
            *state.statements(kind),
        ]
        for kind in KINDS
    }
    return state.model_copy(update=lists)
