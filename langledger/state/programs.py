"""What the usual programs do to the files named on their command line.

Pure tables and small readers of arguments; where a path leads is for the caller to say.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langledger.state.argv import operands, option_values
from langledger.state.known import Known
from langledger.state.records import FileAction

__all__ = ["Effect", "directories_made", "file_effects", "file_reads"]

Arguments = Sequence[str]

_STASHED = "put aside by git stash"


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing a program does to one path as it was written.

    Attributes:
        many: Several paths were given, so that the target of a move is a directory.
        among: Returns to which of the known files it is done, of those at or below the path.
        summary: What the change is noted as.
        undoes: It takes back the changes that the same script noted as this.
    """

    action: FileAction
    path: str
    other: str | None = None
    many: bool = False
    among: Callable[[Known, str], list[str]] | None = None
    summary: str = ""
    undoes: str = ""


def file_effects(program: str, arguments: Arguments) -> list[Effect]:
    """Return what the program does to files, as far as its arguments tell.

    Args:
        program: Name without its directory.
        arguments: What follows it.
    """
    effects = _EFFECTS.get(program)
    if effects is not None:
        return effects(arguments)
    if program in _FORMATTERS and _FORMATTERS[program](set(arguments)):
        return [Effect("edit", path) for path in operands(arguments) if _looks_like_file(path)]
    return []


def file_reads(program: str, arguments: Arguments) -> list[tuple[str, str]]:
    """Return the files the program prints, each with the range of lines."""
    if program in ("cat", "nl", "less", "more", "bat", "batcat"):
        return [(path, "all") for path in operands(arguments)]
    if program in ("head", "tail"):
        lines = next((a.lstrip("-n") for a in arguments if re.fullmatch(r"-?n?\d+", a)), "10")
        paths = operands(arguments, valued=("-n", "-c", "--lines"))
        return [(path, f"{program} {lines}") for path in paths]
    if program == "sed" and arguments[:1] == ["-n"] and len(arguments) > 2:
        span = re.fullmatch(r"(\d+),(\d+)p", arguments[1])
        return [(path, f"{span[1]}-{span[2]}") for path in arguments[2:]] if span else []
    return []


def directories_made(program: str, arguments: Arguments) -> list[str]:
    """Return the directories the program makes, which are no changes by themselves."""
    if program == "mkdir":
        return operands(arguments, valued=("-m", "--mode"))
    if program == "git":
        arguments = _without_git_options(arguments)
        return _cloned(arguments[1:]) if arguments[:1] == ["clone"] else []
    if program == "gh" and list(arguments[:2]) == ["repo", "clone"]:
        return _cloned(arguments[2:])
    if program in ("unzip", "tar", "bsdtar"):
        return option_values(arguments, "-d" if program == "unzip" else "-C")
    if program in ("npm", "pnpm", "yarn", "bun"):
        installs = arguments[:1] in ([], ["install"], ["i"], ["ci"])
        return ["node_modules"] if installs and (arguments or program == "yarn") else []
    return []


_CLONE_VALUED = (
    *("-b", "--branch", "--depth", "-o", "--origin", "-c", "--config", "--reference", "-j"),
    *("--jobs", "--template", "--filter", "-u", "--upload-pack", "--shallow-since"),
)


def _cloned(arguments: Arguments) -> list[str]:
    """Return the directory of a clone: as given, or named after the repository."""
    given = operands(arguments, valued=_CLONE_VALUED)
    if len(given) < 2:
        given = [posixpath.basename(url.replace(":", "/").rstrip("/")) for url in given]
        return [name.removesuffix(".git") for name in given]
    return given[1:2]


def _delete(arguments: Arguments) -> list[Effect]:
    return [Effect("delete", path) for path in operands(arguments)]


def _find(arguments: Arguments) -> list[Effect]:
    """``find`` that deletes by name; what it chooses in other ways cannot be told from here."""
    start = next((n for n, a in enumerate(arguments) if a[:1] in ("-", "(", "!")), 0)
    paths, words = arguments[:start] or ["."], list(arguments[start:])
    if words[-1:] == ["-delete"]:
        chosen = words[:-1]
    elif "-exec" in words and words[words.index("-exec") + 1 :][:1] == ["rm"]:
        chosen = words[: words.index("-exec")]
    else:
        return []
    patterns: list[str] = []
    for option, value in zip(chosen[::2], chosen[1::2], strict=False):
        if option == "-name":
            patterns.append(value)
        elif (option, value) != ("-type", "f"):
            return []
    if len(chosen) % 2:
        return []

    def named(known: Known, path: str) -> list[str]:
        return known.below(path, patterns)

    return [Effect("delete", path, among=named) for path in paths]


def _create(arguments: Arguments) -> list[Effect]:
    valued = ("-d", "-r", "-t", "--date", "--reference")
    return [Effect("create", path) for path in operands(arguments, valued=valued)]


def _tee(arguments: Arguments) -> list[Effect]:
    append = "-a" in arguments or "--append" in arguments
    return [Effect("edit" if append else "write", path) for path in operands(arguments)]


def _two_ended(action: FileAction) -> Callable[[Arguments], list[Effect]]:
    """Programs called with sources and, last, a target."""

    def effects(arguments: Arguments) -> list[Effect]:
        valued = ("-t", "--target-directory", "-m", "-o", "-g", "-S")
        paths = operands(arguments, valued=valued)
        into = option_values(arguments, "-t", "--target-directory")
        if into:
            target = into[0] + "/"
        elif len(paths) >= 2:
            target = paths.pop()
        else:
            return []
        return [Effect(action, target, path, many=len(paths) > 1) for path in paths]

    return effects


def _sed(arguments: Arguments) -> list[Effect]:
    in_place = any(re.match(r"-[nErsuz]*i|--in-place", a) for a in arguments)
    scripted = any(re.match(r"-[nErsuzi]*[ef]\Z|--expression|--file", a) for a in arguments)
    if not in_place:
        return []
    # BSD sed takes the suffix as a word of its own, which is empty
    paths = [path for path in operands(arguments, valued=_SED_VALUED) if path]
    return [Effect("edit", path) for path in (paths if scripted else paths[1:])]


_SED_VALUED = ("-e", "-f", "-ne", "-Ee", "-ie", "--expression", "--file", "-l")


def _one_liner(arguments: Arguments) -> list[Effect]:
    """``perl -i -pe script files`` and ruby's alike."""
    if not any(re.match(r"-[0-9a-hj-zA-Z]*i", a) for a in arguments):
        return []
    paths: list[str] = []
    skip = scripted = False
    for argument in arguments:
        if skip:
            skip = False
        elif re.match(r"-\w*[eE]\Z", argument):
            skip = scripted = True
        elif not argument.startswith("-"):
            paths.append(argument)
    return [Effect("edit", path) for path in paths if scripted]


def _awk(arguments: Arguments) -> list[Effect]:
    if "inplace" not in arguments and "-iinplace" not in arguments:
        return []
    paths = operands(arguments, valued=("-i", "-v", "-F", "-f"))
    return [Effect("edit", path) for path in paths[1:]]


def _option(*names: str) -> Callable[[Arguments], list[Effect]]:
    """Programs that write to the file an option names."""

    def effects(arguments: Arguments) -> list[Effect]:
        return [Effect("write", value) for value in option_values(arguments, *names)]

    return effects


def _dd(arguments: Arguments) -> list[Effect]:
    return [Effect("write", a[3:]) for a in arguments if a.startswith("of=")]


def _truncate(arguments: Arguments) -> list[Effect]:
    return [Effect("edit", path) for path in operands(arguments, valued=("-s", "-r", "--size"))]


def _git(arguments: Arguments) -> list[Effect]:
    arguments = _without_git_options(arguments)
    command, rest = "".join(arguments[:1]), arguments[1:]
    if command == "rm" and "--cached" not in rest:
        return _delete(rest)
    if command == "mv":
        return _two_ended("rename")(rest)
    if command in ("checkout", "restore") and "--staged" not in rest and "-b" not in rest:
        paths = rest[list(rest).index("--") + 1 :] if "--" in rest else operands(rest)
        chosen = "--ours" in rest or "--theirs" in rest  # one side of a conflict
        if chosen:
            return [Effect("write", path) for path in paths]
        return [Effect("restore", path, among=Known.restorable) for path in paths]
    if command == "reset" and "--hard" in rest:
        return [Effect("restore", ".", among=Known.restorable)]
    further = {"stash": _stash, "clean": _clean}.get(command)
    return further(rest) if further else []


def _stash(rest: Arguments) -> list[Effect]:
    """Changes are put aside, and come back; of a part of them it cannot be told which."""
    command = rest[0] if rest and not rest[0].startswith("-") else "push"
    if command in ("pop", "apply"):
        return [Effect("edit", ".", among=_stashed, undoes=_STASHED)]
    given = set(rest)
    part = given & {"-k", "--keep-index", "-p", "--patch", "-S", "--staged", "--"}
    if command not in ("push", "save") or part:
        return []
    every = given & {"-u", "--include-untracked", "-a", "--all"}
    among = Known.restorable if every else _tracked
    return [Effect("restore", ".", among=among, summary=_STASHED)]


def _clean(rest: Arguments) -> list[Effect]:
    """``git clean -fd`` deletes what is new and not committed."""
    short = "".join(a[1:] for a in rest if re.match(r"-\w", a))
    flags = {a for a in rest if a.startswith("--")} | {f"-{letter}" for letter in short}
    if not flags & {"-f", "--force"} or "-d" not in flags or flags & {"-n", "--dry-run", "-i"}:
        return []
    paths = operands(rest, valued=("-e", "--exclude")) or ["."]
    return [Effect("delete", path, among=_untracked) for path in paths]


def _stashed(known: Known, _: str) -> list[str]:
    return known.summarised("restore", _STASHED)


def _tracked(known: Known, path: str) -> list[str]:
    return [name for name in known.restorable(path) if not known.files[name].created]


def _untracked(known: Known, path: str) -> list[str]:
    new = (name for name in known.restorable(path) if known.files[name].created)
    return [name for name in new if not known.deleted(name)]


def _without_git_options(arguments: Arguments) -> Arguments:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    return arguments[at:]


_EFFECTS: dict[str, Callable[[Arguments], list[Effect]]] = {
    "rm": _delete,
    "unlink": _delete,
    "trash": _delete,
    "find": _find,
    "touch": _create,
    "tee": _tee,
    "sponge": _tee,
    "mv": _two_ended("rename"),
    "cp": _two_ended("write"),
    "install": _two_ended("write"),
    "ln": _two_ended("create"),
    "sed": _sed,
    "gsed": _sed,
    "perl": _one_liner,
    "ruby": _one_liner,
    "awk": _awk,
    "gawk": _awk,
    "dd": _dd,
    "truncate": _truncate,
    "curl": _option("-o", "--output"),
    "wget": _option("-O", "--output-document"),
    "git": _git,
}


def _with(*flags: str) -> Callable[[set[str]], bool]:
    return lambda given: bool(given & set(flags))


def _unless(*flags: str) -> Callable[[set[str]], bool]:
    return lambda given: not given & set(flags)


_FORMATTERS: dict[str, Callable[[set[str]], bool]] = {
    **dict.fromkeys(("gofmt", "goimports", "gofumpt", "shfmt"), _with("-w", "-l -w")),
    **dict.fromkeys(("autopep8", "yapf", "clang-format"), _with("-i", "--in-place")),
    **dict.fromkeys(("black", "isort", "rustfmt", "stylua"), _unless("--check", "--diff")),
    **dict.fromkeys(("nixfmt", "alejandra", "swiftformat"), _unless("--check", "-c")),
    "prettier": _with("--write", "-w"),
    "eslint": _with("--fix"),
    "biome": _with("--write", "--fix", "--apply"),
    "ruff": lambda given: "--fix" in given or ("format" in given and "--check" not in given),
    "rubocop": _with("-a", "-A", "--autocorrect", "--autocorrect-all"),
}


def _looks_like_file(path: str) -> bool:
    return re.search(r"[^/.]\.\w{1,8}\Z", path) is not None
