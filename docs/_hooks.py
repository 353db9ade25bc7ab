"""The site's navigation, and the project's pages beside docs/ as a part of it."""

from __future__ import annotations

import re
from os.path import relpath
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "examples/README.md")
_LINK = re.compile(r"\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """Take the navigation from the list of docs/README.md, which a test holds to be whole."""
    nav: list[Any] = ["README.md"]
    section: list[Any] = nav
    for line in (ROOT / "docs/README.md").read_text(encoding="utf-8").splitlines():
        if (heading := re.fullmatch(r"- ([\w-]+)", line)) is not None:
            section = []
            nav.append({heading[1]: section})
        elif (entry := re.match(r"( *)- \[([^]]+)\]\(([^)#:]+\.md)\)", line)) is not None:
            (section if entry[1] else nav).append({entry[2]: entry[3]})
    config.nav = [*nav, {"Project": [f"project/{name}" for name in PAGES]}]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the project's own pages below ``project/``."""
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"project/{name}", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Have links lead to where things are in the site; to what is not in it, nowhere."""
    place = page.file.src_uri
    here = ROOT / place.removeprefix("project/") if place in _PROJECT else ROOT / "docs" / place

    def moved(match: re.Match[str]) -> str:
        target = match["target"]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        file = (here.parent / target).resolve()
        uri = _uri(file)
        if uri is None:
            return "](#)" if file.exists() else match[0]
        return f"]({relpath(uri, Path(place).parent)}{match['anchor'] or ''})"

    return _LINK.sub(moved, markdown)


_PROJECT = {f"project/{name}" for name in PAGES}


def _uri(file: Path) -> str | None:
    """Return a file's place in the site, or None."""
    if file.is_relative_to(ROOT / "docs") and file.exists():
        return file.relative_to(ROOT / "docs").as_posix()
    name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else ""
    return f"project/{name}" if name in PAGES else None
