"""Read the argument list of a command: operands, options, wrappers around a program."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Sequence
from itertools import pairwise

__all__ = ["ASSIGNMENT", "UNKNOWN", "operands", "option_values", "unwrapped"]

UNKNOWN = "\0"
"""Stands for an argument that cannot be told; keeps its place and names no file."""

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)\Z", re.DOTALL)
"""``name=value`` before a command."""

_WRAPPERS: dict[str, tuple[str, ...]] = {
    "sudo": ("-u", "-g"),
    "doas": ("-u",),
    "env": ("-u", "-C"),
    "nohup": (),
    "nice": ("-n",),
    "command": (),
    "builtin": (),
    "exec": (),
    "stdbuf": (),
    "time": (),
    "xargs": ("-n", "-P", "-I", "-L", "-d", "-a"),
    "npx": ("-p",),
    "bunx": (),
    "uvx": ("--from", "--with"),
}
_RUNNERS: dict[str, tuple[str, ...]] = {
    "uv": ("run",),
    "poetry": ("run",),
    "pdm": ("run",),
    "pipenv": ("run",),
    "rye": ("run",),
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx"),
    "bundle": ("exec",),
    "mise": ("exec", "x"),
}


def operands(arguments: Sequence[str], *, valued: Collection[str] = ()) -> list[str]:
    """Return the arguments that are no options; ``valued`` names options that take a value."""
    found: list[str] = []
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument == "--":
            return found + list(arguments[at + 1 :])
        if argument in valued:
            at += 1
        elif not argument.startswith("-") or argument == "-":
            found.append(argument)
        at += 1
    return found


def option_values(arguments: Sequence[str], *names: str) -> list[str]:
    """Return the words that follow one of the options."""
    return [value for name, value in pairwise(arguments) if name in names]


def unwrapped(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the program that is really run, and its arguments."""
    for _ in range(8):
        if not arguments:
            break
        program, rest = posixpath.basename(arguments[0]), arguments[1:]
        if program in _WRAPPERS or program == "timeout":
            at = _after_options(rest, _WRAPPERS.get(program, ("-s", "-k")))
            at += 1 if program == "timeout" else 0
        elif program in _RUNNERS and rest[:1] and rest[0] in _RUNNERS[program]:
            at = 1 + _after_options(rest[1:], ("--with", "--python", "-p", "--extra", "--group"))
        else:
            scripted = "/" in arguments[0] and posixpath.splitext(program)[1]
            return (arguments[0] if scripted else program), rest
        while at < len(rest) and (rest[at] == "--" or ASSIGNMENT.match(rest[at])):
            at += 1
        arguments = rest[at:]
    return "", []


def _after_options(arguments: Sequence[str], valued: Sequence[str]) -> int:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "--":
        at += 2 if arguments[at] in valued else 1
    return at
