"""What a shell command is for: testing, building, checking, committing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langledger.state.records import CommandKind
from langledger.state.shell import Event

__all__ = ["command_kind", "hides_exit_code"]

_RUNNER = r"(?:npm|pnpm|yarn|bun|deno|mise|just|task|make|rake|poe|hatch|cargo|go|mix|dotnet|swift)"
_KINDS: tuple[tuple[CommandKind, re.Pattern[str]], ...] = (
    (
        "test",
        re.compile(
            r"(?:py\.?test|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|bats|gotestsum)\b"
            rf"|{_RUNNER} (?:run )?(?:\S+ )?(?:run[-:])?(?:test|tests|t|e2e|nextest)\b"
            r"|(?:mvn|gradle|gradlew|bazel|flutter|dart|zig|sbt|rails) (?:.* )?(?:test|verify)\b"
            r"|python[\d.]* (?:-\w+ )*(?:-m (?:pytest|unittest|nose|tox)|\S*(?:runtests"
            r"|manage\.py test|test_\w+\.py|_test\.py|/bin/test)\b)"
            r"|(?:npx|bunx|uvx) \S*test"
        ),
    ),
    (
        "commit",
        re.compile(
            r"git (?:-\S+ \S+ )*(?:commit|merge|cherry-pick|revert|push"
            r"|tag(?= (?!-[ln]|--))(?! *\Z))(?![\w-])"
        ),
    ),
    (
        "lint",
        re.compile(
            r"(?:ruff|flake8|pylint|mypy|pyright|basedpyright|eslint|tslint|golangci-lint|shellcheck"
            r"|rubocop|stylelint|prettier|biome|black|isort|gofmt|rustfmt|hadolint|actionlint)\b"
            rf"|{_RUNNER} (?:run )?(?:lint|fmt|format|check|typecheck|type-check|clippy|vet)\b"
            r"|python[\d.]* -m (?:ruff|flake8|pylint|mypy|pyright|black|isort|compileall"
            r"|py_compile)"
            r"|pre-commit\b"
        ),
    ),
    (
        "build",
        re.compile(
            rf"{_RUNNER} (?:run )?(?:build|compile|dist|package|bundle|all)\b"
            r"|(?:make|tsc|cmake|ninja)\b"
            r"|(?:mvn|gradle|gradlew|bazel|docker|podman|flutter|zig|sbt|nix) (?:.* )?"
            r"(?:build|package|compile|assemble|install)\b"
            r"|(?:webpack|vite build|rollup|esbuild|tsgo|gcc|g\+\+|clang|rustc|javac)\b"
        ),
    ),
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOOKS = _words("""
    ls cat head tail nl less more bat wc file stat tree du grep rg ag ack egrep fgrep find fd
    which type sed awk cut sort uniq tr jq yq diff cmp column xxd echo printf pwd cd true test [
    sleep env printenv date ps df uname whoami id hostname basename dirname realpath
""")
_FILTERS = _words("""
    head tail grep egrep fgrep rg sed awk cut sort uniq wc cat tee less more tr jq yq nl column fold
""")
_SAYS = _words("echo printf true :")
_FILE_TOOLS = _LOOKS | _words(
    "cp mv rm touch mkdir rmdir tee ln chmod perl patch apply_patch applypatch"
)
_GIT_LOOKS = re.compile(
    r"git (?:-\S+ \S+ )*(?:add|status|diff|log|show|branch|blame|grep|ls-files|ls-tree|rev-parse"
    r"|remote|describe|reflog|merge-base|cat-file|shortlog|config --get|stash list)\b"
)


def command_kind(invocations: Sequence[Sequence[str]], *, changes: bool) -> CommandKind:
    """Return what a shell command is for.

    Args:
        invocations: The programs it runs, each with its arguments.
        changes: It changes files.

    Returns:
        The first of ``test``, ``commit``, ``lint`` and ``build`` that it does; ``edit`` where
        it only changes files, which their records tell; ``inspect`` where it only looks.
    """
    lines = [" ".join(words)[:200] for words in invocations if words]
    for kind, pattern in _KINDS:
        if any(pattern.match(line) for line in lines):
            return kind
    programs = {line.split(" ", 1)[0] for line in lines if not _GIT_LOOKS.match(line)}
    if programs <= _LOOKS and not changes:
        return "inspect"
    return "edit" if programs <= _FILE_TOOLS else "other"


def hides_exit_code(events: Sequence[Event]) -> bool:
    """Whether a script's exit code is that of a filter or an ``echo`` behind its last command."""
    commands = [event for event in events if not isinstance(event, str)]
    if len(commands) < 2 or not commands[-1].words:
        return False
    program, connector = commands[-1].words[0].text, commands[-1].connector
    return program in (_FILTERS if connector == "|" else _SAYS if connector in (";", "||") else ())
