"""The repository the demo's agent works on, and the tools it works with."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from threading import Lock

from langchain_core.tools import BaseTool, StructuredTool, ToolException

__all__ = ["Workspace", "read_archive"]

_FILE = re.compile(r"^-- (?P<path>.+) --\n", re.MULTILINE)
_SECONDS = re.compile(r"(?<= in )\d+\.\d+s")
_PROGRAMS = ("python", "git")
_IDENTITY = ("user.name=demo", "user.email=demo@example.org", "init.defaultBranch=main")
_LONGEST_OUTPUT = 12_000  # characters
_PATIENCE = 60.0  # seconds


def read_archive() -> dict[str, str]:
    """Return the files of the demo's repository: path to content."""
    text = files("langledger.demo").joinpath("repository.txtar").read_text(encoding="utf-8")
    parts = _FILE.split(text)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


class Workspace:
    """A folder with the demo's repository, as it is at the start.

    Without git on the machine it is a plain folder, and the agent's git commands fail.

    Args:
        folder: Where to write it; must not exist or be empty.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._start = read_archive()
        self._git = shutil.which("git")
        # Parallel calls of one answer may edit one file.
        self._editing = Lock()
        for path, content in self._start.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8")
        if self._git is not None:
            for command in ("git init -q", "git add -A", "git commit -q -m Start"):
                self.run_command(command)

    @property
    def has_git(self) -> bool:
        """Whether the folder is under version control."""
        return self._git is not None

    def changed(self) -> frozenset[str]:
        """Return the files that differ from the start, those gone included."""
        now = {
            str(path.relative_to(self.folder)): path.read_text(encoding="utf-8")
            for path in self.folder.rglob("*")
            if path.is_file() and not _is_byproduct(path)
        }
        names = self._start.keys() | now.keys()
        return frozenset(name for name in names if self._start.get(name) != now.get(name))

    def tools(self) -> list[BaseTool]:
        """Return the tools of the agent; what they refuse, they answer with."""
        methods = (self.read_file, self.write_file, self.edit_file, self.grep, self.run_command)
        return [
            StructuredTool.from_function(method, handle_tool_error=True, parse_docstring=False)
            for method in methods
        ]

    def read_file(self, path: str) -> str:
        """Read a file of the repository, with line numbers."""
        lines = self._path(path, exists=True).read_text(encoding="utf-8").splitlines()
        return "\n".join(f"{number:>4}  {line}" for number, line in enumerate(lines, start=1))

    def write_file(self, path: str, content: str) -> str:
        """Write a file of the repository, new or in place of the old one."""
        target = self._path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
        return f"wrote {path}, {len(content.splitlines())} lines"

    def edit_file(self, path: str, old: str, new: str) -> str:
        """Replace a text that occurs exactly once in a file of the repository."""
        target = self._path(path, exists=True)
        with self._editing:
            content = target.read_text(encoding="utf-8")
            found = content.count(old)
            if found != 1:
                raise ToolException(f"error: the old text occurs {found} times in {path}, not once")
            target.write_text(content.replace(old, new), encoding="utf-8")
        line = content[: content.index(old)].count("\n") + 1
        return f"edited {path} at line {line}"

    def grep(self, pattern: str, path: str = ".") -> str:
        """Search the repository's files for a regular expression."""
        wanted = re.compile(pattern)
        root = self._path(path, exists=True)
        found = [
            f"{file.relative_to(self.folder)}:{number}: {line.strip()}"
            for file in sorted(root.rglob("*") if root.is_dir() else [root])
            if file.is_file() and not _is_byproduct(file)
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
            if wanted.search(line)
        ]
        return "\n".join(found) or "no match"

    def run_command(self, command: str) -> str:
        """Run python or git in the repository, without a shell; 60 seconds at most."""
        program, *arguments = shlex.split(command) or [""]
        if program not in _PROGRAMS:
            raise ToolException(f"error: only {' and '.join(_PROGRAMS)} can be run, not {program}")
        if program == "git" and self._git is None:
            raise ToolException("error: git is not installed")
        try:
            done = subprocess.run(  # noqa: S603 - two programs alone, on the demo's own folder
                [*self._program(program), *arguments],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ToolException(f"error: no end after {_PATIENCE:g} s") from error
        output = self._steady(done.stdout.decode("utf-8", "replace"))[:_LONGEST_OUTPUT]
        return f"{output}exit code {done.returncode}"

    def _program(self, name: str) -> list[str]:
        if name == "python" or self._git is None:
            return [sys.executable]
        options = (option for setting in _IDENTITY for option in ("-c", setting))
        return [self._git, *options]

    def _environment(self) -> dict[str, str]:
        # Nothing of the user's: their git configuration and hooks stay out of it.
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
        }

    def _steady(self, output: str) -> str:
        """Take out what differs from one run to the next: the folder and the seconds."""
        return _SECONDS.sub("0.00s", output.replace(str(self.folder), "."))

    def _path(self, path: str, *, exists: bool = False) -> Path:
        target = (self.folder / path).resolve()
        if not target.is_relative_to(self.folder) or ".git" in target.parts:
            raise ToolException(f"error: {path} is outside of the repository")
        if exists and not target.exists():
            raise ToolException(f"error: there is no {path}")
        return target


def _is_byproduct(path: Path) -> bool:
    return ".git" in path.parts or "__pycache__" in path.parts
