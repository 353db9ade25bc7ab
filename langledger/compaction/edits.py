"""What a person changed in a compaction, kept through the compactions that follow. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langledger.entries.ranges import Ranges

__all__ = ["Edits"]

_CORRECTED = "Corrected by a person:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """A person's changes to a summary and to the working state as shown.

    Attributes:
        summary: The summary as the person left it; empty where it was not changed. Summaries
            that follow begin with it and are written of what came since.
        covers: The entries it stands for.
        dropped: Lines of the rendered state that the person took out.
        added: Lines that the person put in.
    """

    summary: str = ""
    covers: Ranges = field(default_factory=Ranges)
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.summary or self.dropped or self.added)

    def with_summary(self, text: str, covers: Ranges) -> Edits:
        """Return these with the summary of these entries as the person left it."""
        return Edits(summary=text, covers=covers, dropped=self.dropped, added=self.added)

    def with_state(self, shown: str, left: str) -> Edits:
        """Return these with what the person changed in the state.

        Args:
            shown: The rendered state as the person saw it.
            left: The same as the person left it.
        """
        before, after = _lines(shown), _lines(left)
        out = [line for line in before if line not in after]
        put_in = [line for line in after if line not in before]
        return Edits(
            summary=self.summary,
            covers=self.covers,
            dropped=_changed(self.dropped, without=put_in, more=out, but=self.added),
            added=_changed(self.added, without=out, more=put_in, but=self.dropped),
        )

    def on_state(self, rendered: str) -> str:
        """Return the rendered state with the person's changes."""
        if not (self.dropped or self.added):
            return rendered
        kept = [line for line in rendered.splitlines() if line.strip() not in self.dropped]
        added = [_CORRECTED, *self.added] if self.added else []
        return "\n".join([*kept, *added])

    def dump(self) -> dict[str, Any]:
        """Return these as JSON; :meth:`load` reads it."""
        return {
            "summary": self.summary,
            "covers": self.covers.spans,
            "dropped": self.dropped,
            "added": self.added,
        }

    @classmethod
    def load(cls, dumped: Mapping[str, Any] | None) -> Edits:
        """Return what :meth:`dump` gave; none where there is nothing."""
        if not dumped:
            return cls()
        return cls(
            summary=dumped["summary"],
            covers=Ranges(tuple((start, stop) for start, stop in dumped["covers"])),
            dropped=tuple(dumped["dropped"]),
            added=tuple(dumped["added"]),
        )


def _lines(text: str) -> list[str]:
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and line != _CORRECTED]


def _changed(
    lines: Sequence[str], *, without: Sequence[str], more: Sequence[str], but: Sequence[str]
) -> tuple[str, ...]:
    """Return lines less those taken back, and more, but for what only takes another edit back."""
    kept = [line for line in lines if line not in without]
    return tuple(dict.fromkeys([*kept, *(line for line in more if line not in but)]))
