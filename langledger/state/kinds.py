"""What a shell command is for: testing, building, checking, committing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langledger.state.arguments import name_words
from langledger.state.argv import operands, option_values
from langledger.state.endings import CHECKS
from langledger.state.records import CommandKind, PendingCall
from langledger.state.shell import Event

__all__ = ["acts", "checks", "command_kind", "hides_exit_code"]

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
            r"|(?:npx|bunx|uvx) \S*test|node (?:-\S+ )*--test\b"
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
# Behind ``;`` or ``||`` they tell of what ran before, whose exit code is lost.
_SAYS = (_LOOKS | _FILTERS | {":"}) - {"test", "["}
_NAMED: tuple[tuple[CommandKind, frozenset[str]], ...] = (
    ("test", _words("test tests pytest unittest jest vitest")),
    ("lint", _words("lint linter typecheck ruff eslint mypy pyright")),
    ("build", _words("build compile")),
)
_LOOKING = _words("""
    get read view open cat load show list query lookup recall think search find grep glob ls tree
    fetch browse ask
""")
_FILE_TOOLS = _LOOKS | _words(
    "cp mv rm touch mkdir rmdir tee ln chmod perl patch apply_patch applypatch"
)
_GIT_LOOKS = re.compile(
    r"git (?:-\S+ \S+ )*(?:add|status|diff(?:-\w+)?|log|show|branch|blame|grep|ls-files|ls-tree"
    r"|rev-parse|remote|describe|reflog|merge-base|cat-file|shortlog|stash list"
    r"|config (?:--get|--list|-l)|check-(?:ignore|attr|ref-format)|ls-remote|for-each-ref"
    r"|show-ref|rev-list|cherry(?!-pick)"
    r"|tag(?= *\Z| -[ln]| --(?:sort|list|(?:no-)?(?:contains|merged)|points-at|format|column)))"
    r"(?![\w-])"
)
_GH_LOOKS = frozenset(("view", "list", "ls", "status", "diff", "checks", "watch"))
_GH_SENDS = re.compile(r"-[fF]|--(?:raw-)?field|--input")
_SHOWS = re.compile(
    r"(?:docker|podman)(?: compose| container| image)? (?:ps|ls|images|logs|inspect|port|top)\b"
    r"|kubectl (?:-n \S+ )?(?:get|describe|logs|top)\b"
    r"|pip3? (?:list|show|freeze|index)\b|(?:npm|pnpm|yarn) (?:ls|list|view|outdated|why)\b"
    r"|systemctl (?:status|is-active|list-units)\b|journalctl\b"
)
_DATABASES = frozenset(("sqlite3", "duckdb", "psql", "mysql", "mariadb"))
_ASKS = re.compile(
    r"\s*(?:(?:select|show|describe|explain(?! analyze))\b|pragma [^=]*\Z"
    r"|with\b(?!.*\b(?:insert|update|delete)\b)|\.(?:tables|schema|indexes|headers?|mode)\b"
    r"|\\[dl]|\Z)",
    re.IGNORECASE | re.DOTALL,
)


def _asks_itself(words: Sequence[str]) -> bool:
    """Whether a program was only asked how it is used, or which it is."""
    return "--help" in words[1:] or (words[-1] in ("--version", "help") and len(words) == 2)


def _only_looks(words: Sequence[str]) -> bool:
    """Whether a program that can also change things was only asked."""
    program, arguments = words[0], words[1:]
    if program in ("gh", "glab"):
        return _asks_forge(arguments)
    if program in _DATABASES:
        told = option_values(arguments, "-c", "-e", "--command", "--execute")
        told = told or operands(arguments, valued=("-cmd", "-separator"))[1:]
        return bool(told) and all(_ASKS.match(s) for text in told for s in text.split(";"))
    line = " ".join(words)
    return bool(_GIT_LOOKS.match(line) or _SHOWS.match(line))


def _asks_forge(arguments: Sequence[str]) -> bool:
    commands = operands(arguments, valued=("-R", "--repo", "--hostname", "-q", "--jq", "-H"))
    if commands[:1] != ["api"]:
        return commands[:1] in (["search"], ["status"]) or bool(_GH_LOOKS & {*commands[1:2]})
    methods = option_values(arguments, "-X", "--method")
    methods += [a[2:] for a in arguments if re.match(r"-X\w", a)]
    methods += [a.partition("=")[2] for a in arguments if a.startswith("--method=")]
    if methods:
        return {method.upper() for method in methods} == {"GET"}
    return not any(_GH_SENDS.match(argument) for argument in arguments)


def command_kind(invocations: Sequence[Sequence[str]], *, changes: bool) -> CommandKind:
    """Return what a shell command is for.

    Args:
        invocations: The programs it runs, each with its arguments.
        changes: It changes files.

    Returns:
        The first of ``test``, ``commit``, ``lint`` and ``build`` that it does; ``edit`` where
        it only changes files, which their records tell; ``inspect`` where it only looks.
    """
    invocations = [words for words in invocations if words and not _asks_itself(words)]
    lines = [" ".join(words)[:200] for words in invocations]
    for kind, pattern in _KINDS:
        if any(pattern.match(line) for line in lines):
            return kind
    programs = {words[0] for words in invocations if not _only_looks(words)}
    if programs <= _LOOKS and not changes:
        return "inspect"
    return "edit" if programs <= _FILE_TOOLS else "other"


def acts(call: PendingCall) -> bool:
    """Whether a call does something that is neither a shell command, nor about files or steps.

    What a tool that only looks returns is what it found, whatever that says.
    """
    known = call.command or call.polls or call.changes or call.reads or call.steps
    return not (known or name_words(call.tool) & _LOOKING)


def checks(call: PendingCall) -> CommandKind | None:
    """Return what a call tests, builds or checks, by its command or by the tool's name."""
    kind = call.kind
    if acts(call):
        words = name_words(call.tool)
        kind = next((kind for kind, names in _NAMED if names & words), kind)
    return kind if kind in CHECKS else None


def hides_exit_code(events: Sequence[Event]) -> bool:
    """Whether a script's exit code is that of a filter, or of what only shows something behind."""
    commands = [event for event in events if not isinstance(event, str)]
    if len(commands) < 2 or not commands[-1].words:
        return False
    program, connector = commands[-1].words[0].text, commands[-1].connector
    return program in (_FILTERS if connector == "|" else _SAYS if connector in (";", "||") else ())
