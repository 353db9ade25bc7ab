"""What a person changed in a compaction, kept through the compactions that follow. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from langledger.entries.ranges import Ranges
from langledger.state.render import BRIDGE, SCRATCH

__all__ = ["Edits"]

_CORRECTED = "Corrected by a person:"
_SENTENCES = (BRIDGE, SCRATCH)  # of the rendering itself, which no person can take out or put in
_NUMBER = re.compile(r" \(\d+\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """A person's changes to a summary and to the working state as shown.

    Attributes:
        summary: The summary as the person left it; empty where it was not changed. Summaries
            that follow begin with it and are written of what came since.
        covers: The entries it stands for.
        dropped: Lines of the rendered state that the person took out.
        added: Lines that the person put in.
        sections: Headings of the sections that the person took out whole, without their numbers.
    """

    summary: str = ""
    covers: Ranges = field(default_factory=Ranges)
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.summary or self.dropped or self.added or self.sections)

    def with_summary(self, text: str, covers: Ranges) -> Edits:
        """Return these with the summary of these entries as the person left it."""
        return replace(self, summary=text, covers=covers)

    def with_state(self, shown: str, left: str) -> Edits:
        """Return these with what the person changed in the state.

        Args:
            shown: The rendered state as the person saw it.
            left: The same as the person left it.
        """
        before, after = _keys(shown), _keys(left)
        out = [key for key in before if key not in after]
        put_in = [key for key in after if key not in before]
        emptied = [name for name in _removed(shown, after) if name not in self.added]
        return Edits(
            summary=self.summary,
            covers=self.covers,
            dropped=_changed(
                self.dropped, without=put_in, more=filter(_is_content, out), but=self.added
            ),
            added=_changed(
                self.added,
                without=out,
                more=[key for key in put_in if key not in _SENTENCES],
                but=(*self.dropped, *self.sections),
            ),
            sections=_changed(self.sections, without=put_in, more=emptied, but=()),
        )

    def on_state(self, rendered: str) -> str:
        """Return the rendered state with the person's changes."""
        if not (self.dropped or self.added or self.sections):
            return rendered
        blocks = [block for block in _blocks(rendered) if block.name not in self.sections]
        kept = "\n".join(line for block in blocks for line in block.without(self.dropped)).rstrip()
        said = _keys(kept)
        added = [line for line in self.added if line not in said]
        apart = [f"\n{line}" if _is_heading(line) else line for line in added[1:]]
        put_in = "\n".join([_CORRECTED, *added[:1], *apart]) if added else ""
        return "\n\n".join(filter(None, (kept, put_in)))

    def dump(self) -> dict[str, Any]:
        """Return these as JSON; :meth:`load` reads it."""
        return {
            "summary": self.summary,
            "covers": self.covers.spans,
            "dropped": self.dropped,
            "added": self.added,
            "sections": self.sections,
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
            sections=tuple(dumped["sections"]),
        )


@dataclass(frozen=True, slots=True)
class _Block:
    """A section of a rendered state; what the person put in has no heading, so an empty name."""

    name: str
    lines: list[str]

    def without(self, dropped: Sequence[str]) -> list[str]:
        """Return the lines that stay; a heading goes with the last line under it."""
        left = [line for line in self.lines if line.strip() not in dropped]
        if any(map(_is_content, self.lines)) and not any(map(_is_content, left)):
            return []
        return [
            line
            for line, below in pairwise([*left, ""])
            if _is_content(below) or not line.startswith(SCRATCH)
        ]


def _blocks(text: str) -> list[_Block]:
    blocks = [_Block("", [])]
    for line in text.splitlines():
        key = _key(line)
        if _is_heading(key) or key == _CORRECTED:
            blocks.append(_Block(key if _is_heading(key) else "", []))
        blocks[-1].lines.append(line)
    return blocks


def _removed(shown: str, left: Sequence[str]) -> list[str]:
    """Return the sections of which neither the heading nor any line is left."""
    blocks = _blocks(shown)
    standing = {
        block.name
        for block in blocks
        if any(_is_content(line) and _key(line) in left for line in block.lines)
    }
    gone = {block.name: None for block in blocks if block.name and block.name not in left}
    return [name for name in gone if name not in standing]


def _keys(text: str) -> list[str]:
    keys = map(_key, text.splitlines())
    return [key for key in keys if key and key != _CORRECTED]


def _key(line: str) -> str:
    """Return what a line is known by: headings count what is under them, and that changes."""
    line = line.strip()
    if line.startswith(SCRATCH):
        return SCRATCH
    return _NUMBER.sub("", line) if _is_heading(line) else line


def _is_heading(line: str) -> bool:
    return line.strip().startswith("## ")


def _is_content(line: str) -> bool:
    key = _key(line)
    return bool(key) and not _is_heading(key) and key not in (*_SENTENCES, _CORRECTED)


def _changed(
    lines: Sequence[str], *, without: Sequence[str], more: Iterable[str], but: Sequence[str]
) -> tuple[str, ...]:
    """Return lines less those taken back, and more, but for what only takes another edit back."""
    kept = [line for line in lines if line not in without]
    return tuple(dict.fromkeys([*kept, *(line for line in more if line not in but)]))
