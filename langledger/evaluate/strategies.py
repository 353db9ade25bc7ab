"""The strategies by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from langledger.errors import ConfigurationError
from langledger.evaluate.peers import DeepAgents, LangChain, LangMem, installed
from langledger.evaluate.sides import Codex, FullHistory, Ours, Setting, Side, Trimming
from langledger.ledger import Ledger

__all__ = ["RECORDED", "STRATEGIES", "Strategy", "compared", "forcible"]

RECORDED = "recorded"
"""The session's own compaction: not a way to make a view, but one that was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """One strategy.

    Attributes:
        title: What it is, for a table.
        make: Makes the side for one session.
        package: The package it needs; None: nothing beside langledger.
        forcible: Whether it can be made to compact all at a given place.
        usual: Whether it is compared where none is named; the others differ in what a view asks
            of a model, which only a model can tell apart.
    """

    title: str
    make: Callable[[Ledger, Setting], Side]
    package: str | None = None
    forcible: bool = True
    usual: bool = True


STRATEGIES: dict[str, Strategy] = {
    "full-history": Strategy(title="full history", make=lambda _, s: FullHistory(s)),
    "trimming": Strategy(title="trim_messages", make=lambda _, s: Trimming(s)),
    "codex": Strategy(title="Codex's rule", make=lambda _, s: Codex(s)),
    "langchain": Strategy(
        title="SummarizationMiddleware, default",
        make=lambda _, s: LangChain(s),
        package="langchain",
    ),
    "langchain-tuned": Strategy(
        title="SummarizationMiddleware, tuned",
        make=lambda _, s: LangChain(s, keep=("fraction", 0.2), trim_tokens_to_summarize=None),
        package="langchain",
    ),
    "deepagents": Strategy(
        title="deepagents", make=lambda _, s: DeepAgents(s), package="deepagents"
    ),
    "langmem": Strategy(
        title="langmem SummarizationNode",
        make=lambda _, s: LangMem(s),
        package="langmem",
        forcible=False,  # a lower limit makes it summarise less, not sooner
    ),
    "langledger-state": Strategy(
        title="langledger, state only",
        make=lambda ledger, s: Ours(
            ledger, s, searched=False, recall=False, max_summary_tokens=100
        ),
    ),
    "langledger-recall": Strategy(
        title="langledger, state + recall",
        make=lambda ledger, s: Ours(ledger, s, searched=True, max_summary_tokens=100),
    ),
    "langledger": Strategy(
        title="langledger, everything",
        make=lambda ledger, s: Ours(ledger, s, searched=True),
    ),
    "langledger-recap": Strategy(
        title="langledger, a recap asked for",
        make=lambda ledger, s: Ours(ledger, s, searched=True, recap="always"),
        usual=False,
    ),
    "langledger-no-recap": Strategy(
        title="langledger, no recap",
        make=lambda ledger, s: Ours(ledger, s, searched=True, recap="never"),
        usual=False,
    ),
}


def forcible(names: Sequence[str]) -> list[str]:
    """Return those that can be made to compact at a given place."""
    return [name for name in names if name in STRATEGIES and STRATEGIES[name].forcible]


def compared(
    names: Sequence[str], *, tell: Callable[[str], None], forced: bool = False
) -> list[str]:
    """Return the strategies that a benchmark compares here, and tell of those that it cannot.

    Args:
        names: Those asked for; none: the usual.
        tell: Takes a line about each that is left out.
        forced: Whether they must compact at a given place.

    Raises:
        ConfigurationError: A name is unknown, or none is left.
    """
    usable = _available(_chosen(names), tell=tell)
    if forced:
        able = forcible(usable)
        for name in names:
            if name in usable and name not in able:
                tell(f"{name} is left out: it cannot be made to compact at a given place")
        usable = able
    if not usable:
        raise ConfigurationError(f"none of {', '.join(names)} can be compared here: name others")
    return usable


def _chosen(names: Sequence[str]) -> list[str]:
    """Return the strategies to compare; none named: the usual, the sessions' own compactions too.

    Raises:
        ConfigurationError: A name is unknown.
    """
    known = [*STRATEGIES, RECORDED]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ConfigurationError(
                f"there is no strategy {name!r}; {hint}there are {', '.join(known)}"
            )
    usual = [name for name, strategy in STRATEGIES.items() if strategy.usual]
    return list(dict.fromkeys(names)) or [*usual, RECORDED]


def _available(names: Sequence[str], *, tell: Callable[[str], None]) -> list[str]:
    """Return those that can run here, and tell of each that cannot."""
    usable: list[str] = []
    for name in names:
        package = STRATEGIES[name].package if name in STRATEGIES else None
        if package is None or installed(package):
            usable.append(name)
        else:
            tell(f"{name} is left out: {package} is not installed; pip install 'langledger[bench]'")
    return usable
