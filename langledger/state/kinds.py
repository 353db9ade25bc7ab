"""What a shell command is for: testing, building, checking, committing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langledger.state.records import CommandKind

__all__ = ["command_kind"]

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
    ("commit", re.compile(r"git (?:-\S+ \S+ )*(?:commit|merge|cherry-pick|revert|tag|push)\b")),
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


def command_kind(invocations: Sequence[Sequence[str]]) -> CommandKind:
    """Return what a shell command is for, from the programs it runs with their arguments."""
    lines = [" ".join(words)[:200] for words in invocations if words]
    for kind, pattern in _KINDS:
        if any(pattern.match(line) for line in lines):
            return kind
    return "other"
