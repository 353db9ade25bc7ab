"""The navigation and the footer of a page that was copied whole: nothing there is an order."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["without_navigation"]

_POINT = re.compile(r"^\s*(?:[-*+•·|]|\d{1,2}[.)])\s+|^\s*\[[^\]\n]+\]\([^)\n]*\)\s*$")
_BETWEEN = re.compile(r"\s+[*•·|]\s+")
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)")
_LABEL = re.compile(
    r"(?:terms|privacy|cookies?|contact|sign (?:in|up)|log ?in|register|about|status|docs|help"
    r"|security|careers|jobs|blog|pricing|subscribe|newsletter|imprint|legal|accessibility|sitemap"
    r"|footer|home|press|community|support|faq|隐私|条款|协议|联系我们|关于我们|帮助|登录|注册|首页|版权)",
    re.IGNORECASE,
)
_FEWEST = 3  # points of a list
_LABELS = 2  # of them that only pages have
_LABEL_WORDS = 3


def without_navigation(text: str) -> str:
    """Return a text without the lists of links that a copied page begins or ends with.

    A list is one where several points are no more than the names of such pages (Terms, Privacy,
    Manage cookies), whether each stands on its own line or all on one.
    """
    if len(_LABEL.findall(text)) < _LABELS:
        return text
    kept: list[str] = []
    run: list[str] = []
    for line in [*text.split("\n"), "."]:
        if _POINT.match(line) or (run and not line.strip()):
            run.append(line)
            continue
        kept += [] if _navigates(run) else run
        run = []
        kept.append("" if _navigates(_BETWEEN.split(line)) else line)
    return "\n".join(kept[:-1])


def _navigates(points: Sequence[str]) -> bool:
    bare = [_LINK.sub(r"\1", _POINT.sub("", p) or p).strip() for p in points for p in _inline(p)]
    bare = [point for point in bare if point]
    labels = [p for p in bare if len(p.split()) <= _LABEL_WORDS and len(p) <= 30]
    return len(bare) >= _FEWEST and sum(map(_is_label, labels)) >= _LABELS


def _inline(point: str) -> list[str]:
    return _BETWEEN.split(point)


def _is_label(point: str) -> bool:
    return _LABEL.search(point) is not None
