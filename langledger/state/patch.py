"""Which files a patch changes: the ``*** Begin Patch`` envelope, and unified diffs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from langledger.state.records import FileAction
from langledger.state.summaries import described
from langledger.state.text import content_hash

__all__ = ["PatchChange", "is_patch", "patch_changes"]

_BEGIN = "*** Begin Patch"
_SECTION = re.compile(r"^\*\*\* (Add|Update|Delete) File: *(\S.*?)\r?$", re.MULTILINE)
_MOVE = re.compile(r"\s*^\*\*\* Move to: *(\S.*?)\r?$", re.MULTILINE)
_ENVELOPE = re.compile(
    r"\*\*\* Begin Patch\b(.*?)(?:^\*\*\* End Patch|\Z)", re.MULTILINE | re.DOTALL
)
_ACTIONS: dict[str, FileAction] = {"Add": "create", "Update": "edit", "Delete": "delete"}

_DIFF = re.compile(
    r"^diff --git (?P<git>\S.*)$|^--- (?P<old>\S[^\n]*)\n\+\+\+ (?P<new>\S[^\n]*)(?=\r?\n@@)",
    re.MULTILINE,
)
_GIT_HEADER = re.compile(
    r"^(?:(rename) from ([^\n]+)|rename to ([^\n]+)|(new) file mode|(deleted) file mode)",
    re.MULTILINE,
)
_GIT_PATHS = re.compile(r'"?a/(.+?)"? "?b/(.+?)"?\s*\Z')
_HUNK = re.compile(r"\A@@(?: -[^@]*@@)?")


@dataclass(frozen=True, slots=True)
class PatchChange:
    """What a patch does to one file; ``other`` is the old path of a rename."""

    action: FileAction
    path: str
    other: str | None = None
    summary: str = ""
    content_hash: str | None = None


def is_patch(text: str) -> bool:
    """Whether the text is, or contains, a patch."""
    return _BEGIN in text or _DIFF.search(text) is not None


def patch_changes(text: str) -> list[PatchChange]:
    """Return what the patch does to each file, in the order of the patch.

    Args:
        text: A patch, alone or with other text around it.
    """
    envelopes = [match[1] for match in _ENVELOPE.finditer(text)]
    if envelopes:
        return [change for body in envelopes for change in _envelope(body)]
    return list(_unified(text))


def _envelope(text: str) -> Iterator[PatchChange]:
    sections = list(_SECTION.finditer(text))
    for section, following in zip_longest(sections, sections[1:]):
        body = text[section.end() : following.start() if following else len(text)]
        path = section[2].strip()
        moved = _MOVE.match(body)
        if moved:
            yield PatchChange("rename", moved[1].strip(), path, _summary(body))
        else:
            digest = _added_hash(body) if section[1] == "Add" else None
            yield PatchChange(_ACTIONS[section[1]], path, None, _summary(body), digest)


def _added_hash(body: str) -> str | None:
    lines = body.strip("\r\n").split("\n")
    return content_hash("".join(f"{line[1:]}\n" for line in lines if line.startswith("+")))


def _unified(text: str) -> Iterator[PatchChange]:
    headers = list(_DIFF.finditer(text))
    in_git: PatchChange | None = None
    for header, following in zip_longest(headers, headers[1:]):
        body = text[header.end() : following.start() if following else len(text)]
        if header["git"]:
            in_git = _git_change(header["git"], body)
            # the --- and +++ lines that follow say the same, and carry the hunks
            if not (following and following["old"]):
                yield from filter(None, [in_git])
        elif in_git is not None:
            yield PatchChange(in_git.action, in_git.path, in_git.other, _summary(body))
            in_git = None
        else:
            yield _plain_change(header["old"], header["new"], body)


def _git_change(paths: str, body: str) -> PatchChange | None:
    match = _GIT_PATHS.match(paths)
    if match is None:
        return None
    action: FileAction = "edit"
    old, new = match[1], match[2]
    for header in _GIT_HEADER.finditer(body[:2000]):
        if header[1] or header[3]:
            action, old, new = "rename", header[2] or old, header[3] or new
        elif header[4]:
            action = "create"
        elif header[5]:
            action = "delete"
    return PatchChange(action, new, old if action == "rename" else None, _summary(body))


def _plain_change(old: str, new: str, body: str) -> PatchChange:
    before, after = (re.split(r"\t", path)[0].strip() for path in (old, new))
    summary = _summary(body)
    if after == "/dev/null":
        return PatchChange("delete", before.removeprefix("a/"), None, summary)
    stripped = after.removeprefix("b/")
    return PatchChange("create" if before == "/dev/null" else "edit", stripped, None, summary)


def _summary(body: str) -> str:
    """Return what the hunks touched; the text after ``@@`` names what they lie in."""
    lines = body[:40_000].splitlines()[:2000]
    marked = [line for line in lines if not line.startswith(("+++ ", "--- "))]
    first = next((n for n, line in enumerate(marked) if line[:1] in ("+", "-")), len(marked))
    around = [_HUNK.sub("", line) for line in marked[:first]]
    return described(
        [line[1:] for line in marked if line.startswith("+")],
        around=around,
        removed=[line[1:] for line in marked if line.startswith("-")],
    )
