"""What a user sets about the working state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, cast

from langchain_core.language_models import BaseChatModel

from langledger.arguments import check_seconds, check_text
from langledger.errors import ConfigurationError
from langledger.state.context import CONTEXT_FILE, ProjectContext
from langledger.state.extract.model import Extractor
from langledger.state.world import WorldProbe, git_probe

__all__ = ["StateOptions", "StateSettings", "state_settings"]


class StateOptions(TypedDict, total=False):
    """What is kept of what was said, and of the world around; all optional.

    Attributes:
        state_model: A small model that reads what was said, in the background, an object or a
            name; None: patterns and the agent's own ``update_state`` alone.
        state_review_model: Asked about what the small one is unsure of; None: that is dropped.
        state_timeout: Seconds that one answer of these models may take, whatever timeout they have
            of their own; None: as long as it takes. Default 120.
        project: Name of the project: its shared records are shown to the agent, and what the agent
            does can be seen by the others of it.
        project_context: A file of core knowledge, shown with the system message; default:
            ``project_context.md`` in the agent's ``cwd``, where there is one; None: none.
        world_probe: Run at each compaction and held against the files changed: True for
            ``git status``, or a function that returns the changed files. Default: none.
    """

    state_model: BaseChatModel | str | None
    state_review_model: BaseChatModel | str | None
    state_timeout: float | None
    project: str | None
    project_context: str | Path | None
    world_probe: bool | WorldProbe | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSettings:
    """The options, checked.

    Attributes:
        extractor: The models that read what was said.
        project: Name of the project.
        context_file: Of core knowledge, relative to ``cwd``.
        probe: True: git.
    """

    extractor: Extractor | None = None
    project: str | None = None
    context_file: Path | None = Path(CONTEXT_FILE)
    probe: bool | WorldProbe | None = None

    def context(self, cwd: str | None) -> ProjectContext | None:
        """Return the file of core knowledge for an agent that works in a directory."""
        if self.context_file is None or not (cwd or self.context_file.is_absolute()):
            return None
        return ProjectContext(Path(cwd or "") / self.context_file)

    def world(self, cwd: str | None) -> WorldProbe | None:
        """Return what tells which files stand changed."""
        if self.probe is True:
            return git_probe(cwd or ".")
        return self.probe or None


def state_settings(
    options: Mapping[str, Any], *, model: Callable[[object, str], BaseChatModel | None]
) -> StateSettings:
    """Return the options checked.

    Args:
        options: As :class:`StateOptions` has them; others are passed over.
        model: Makes a model of an object or a name; told the option that gave it.

    Raises:
        ConfigurationError: One is of the wrong kind.
    """
    small, large = (
        model(options.get(name), name) for name in ("state_model", "state_review_model")
    )
    if large is not None and small is None:
        raise ConfigurationError("state_review_model reviews state_model: give that too")
    seconds = options.get("state_timeout", 120.0)
    timeout = None if seconds is None else check_seconds("state_timeout", seconds)
    project = options.get("project")
    probe = options.get("world_probe")
    if probe is not None and not isinstance(probe, bool) and not callable(probe):
        raise ConfigurationError("world_probe must be True or a function that returns paths")
    checked = cast("bool | WorldProbe | None", probe)
    return StateSettings(
        extractor=Extractor(model=small, review_model=large, timeout=timeout) if small else None,
        project=check_text("project", project) if project is not None else None,
        context_file=_context_file(options.get("project_context", CONTEXT_FILE)),
        probe=checked,
    )


def _context_file(given: object) -> Path | None:
    if given is None:
        return None
    if isinstance(given, Path):
        return given
    return Path(check_text("project_context", given))
