"""Which files a folder has, by git where it is a worktree; which are not read, and why."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import translate
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from langledger.arguments import shown
from langledger.errors import ConfigurationError, RepositoryError
from langledger.repository.types import Skipped

__all__ = [
    "MAX_FILE_BYTES",
    "MAY_HOLD_SECRETS",
    "Candidate",
    "Place",
    "Scan",
    "is_test",
    "locate",
    "scan",
]

MAX_FILE_BYTES = 1_000_000
"""Longest file that is read; what is longer is generated or data."""

MAY_HOLD_SECRETS = "may hold secrets"

_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotepath=false", "--no-optional-locks")
_GIT_SECONDS = 120
_RACY_SECONDS = 2.0  # a file this young may change again without its times telling
_PACKAGES = frozenset(["node_modules", "bower_components", "__pycache__"])  # tracked or not
_FOLDERS = _PACKAGES | frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        ".jj",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        ".gradle",
        ".idea",
        ".eggs",
        "site-packages",
    ]
)


def _any_of(patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns.split())))


_SECRETS = _any_of(
    ".env .env.* *.pem *.key *.p12 *.pfx *.jks *.keystore *.ppk .netrc .pypirc .pgpass .htpasswd "
    "id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk"
)
_NO_SECRETS = _any_of("*.example *.sample *.template")
_GENERATED = _any_of(
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml yarn.lock *.min.js *.min.css *.map "
    "poetry.lock uv.lock Cargo.lock composer.lock Gemfile.lock go.sum *.pb.go *_pb2.py"
)
_BINARY = frozenset(
    [
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".bmp",
        ".ico",
        ".webp",
        ".tif",
        ".tiff",
        ".psd",
        ".pdf",
        ".zip",
        ".gz",
        ".bz2",
        ".xz",
        ".zst",
        ".7z",
        ".tar",
        ".jar",
        ".whl",
        ".egg",
        ".so",
        ".dylib",
        ".dll",
        ".exe",
        ".o",
        ".a",
        ".lib",
        ".obj",
        ".class",
        ".pyc",
        ".pyo",
        ".wasm",
        ".woff",
        ".woff2",
        ".ttf",
        ".otf",
        ".eot",
        ".mp3",
        ".mp4",
        ".avi",
        ".mov",
        ".webm",
        ".wav",
        ".ogg",
        ".flac",
        ".sqlite",
        ".db",
        ".npy",
        ".npz",
        ".pkl",
        ".parquet",
        ".h5",
        ".hdf5",
        ".fits",
        ".onnx",
        ".pt",
        ".bin",
        ".dat",
        ".mo",
        ".doc",
        ".docx",
        ".xls",
        ".xlsx",
        ".ppt",
        ".pptx",
    ]
)
_TEST = re.compile(
    r"(^|/)(tests?|testing|specs?|__tests__|testdata|fixtures)(/|$)"
    r"|(^|/)(test_[^/]*|conftest\.py)$|(_test|_spec|\.test|\.spec|Tests?)\.\w+$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a folder belongs.

    Attributes:
        root: The folder, its links resolved.
        shared: What worktrees of one repository have in common: its git directory, else the root.
        commit: HEAD; None without git, or before the first commit.
        branch: Its branch; None without git or where HEAD is detached.
        git: It is in a worktree.
    """

    root: Path
    shared: Path
    commit: str | None = None
    branch: str | None = None
    git: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to be read, if its stamp is new.

    Attributes:
        path: Below the root, with ``/``.
        stamp: Hash of size, times and inode.
        size: Bytes.
    """

    path: str
    stamp: bytes
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a folder has."""

    place: Place
    files: list[Candidate]
    skipped: list[Skipped]


def locate(path: str | os.PathLike[str]) -> Place:
    """Return where a folder belongs.

    Raises:
        ConfigurationError: It is no path.
        RepositoryError: There is no such folder, it may not be read, or it is git's own.
    """
    if not isinstance(path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
        raise ConfigurationError(f"the path of a repository must be a folder's, not {shown(path)}")
    try:
        root = Path(path).resolve(strict=True)
        os.scandir(root).close()
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RepositoryError(f"{path} cannot be indexed: {reason}; give a folder") from error
    told = _git(root, "rev-parse", "--is-inside-work-tree", "--git-common-dir")
    if told is not None and _git(root, "rev-parse", "--is-inside-git-dir") == "true\n":
        raise RepositoryError(
            f"{path} is a bare repository or a .git folder, which has no files to index; "
            "give a worktree (git worktree add FOLDER)"
        )
    if told is None or not told.startswith("true\n"):
        return Place(root=root, shared=root)
    shared = (root / told.split("\n")[1]).resolve()
    commit = _git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    branch = _git(root, "symbolic-ref", "--short", "--quiet", "HEAD")
    return Place(
        root=root,
        shared=shared,
        commit=commit.strip() if commit else None,
        branch=branch.strip() if branch else None,
        git=True,
    )


def scan(place: Place, *, max_file_bytes: int = MAX_FILE_BYTES) -> Scan:
    """Return a folder's files; those that git ignores are not even named.

    Args:
        place: Of :func:`locate`.
        max_file_bytes: Longer files are skipped.
    """
    found = Scan(place=place, files=[], skipped=[])
    listed = _listed(place.root, found.skipped) if place.git else None
    # What was looked at later than it began may have changed in between.
    racy = time.time() - _RACY_SECONDS
    for path in listed if listed is not None else _walked(place.root, found.skipped):
        what = _looked_at(place.root, path, racy, max_file_bytes)
        if isinstance(what, Candidate):
            found.files.append(what)
        elif what is not None:
            found.skipped.append(what)
    return found


def is_test(path: str) -> bool:
    """Tell by its path whether a file tests others."""
    return _TEST.search(path) is not None


def _git(root: Path, *arguments: str) -> str | None:
    """Return what git says, or None where there is none, or it refuses."""
    try:
        done = subprocess.run(  # noqa: S603 - arguments of our own, no shell
            [*_GIT, "-C", str(root), *arguments],
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(done.stdout)


def _listed(root: Path, skipped: list[Skipped]) -> list[str] | None:
    """Return what git knows of and what it does not ignore; packages kept in git are named."""
    told = _git(root, "ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard")
    if told is None:
        return None
    tagged = {path: tag for tag, _, path in (line.partition(" ") for line in told.split("\0"))}
    paths: list[str] = []
    packages: set[str] = set()
    for path, tag in sorted(tagged.items()):
        parts = PurePosixPath(path).parts
        at = next((n for n, part in enumerate(parts) if part in _PACKAGES), None)
        if at is not None and tag != "?":
            packages.add("/".join(parts[: at + 1]) + "/")
        elif path and (tag != "?" or _FOLDERS.isdisjoint(parts)):
            paths.append(path)
    skipped += [Skipped(path=path, reason="installed packages") for path in sorted(packages)]
    return paths


def _walked(root: Path, skipped: list[Skipped]) -> Iterator[str]:
    """Yield the files of a folder without git; links to folders are not followed."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - an extra

    todo: list[tuple[str, tuple[tuple[str, GitIgnoreSpec], ...]]] = [("", ())]
    while todo:
        folder, rules = todo.pop()
        try:
            with os.scandir(root / folder) as entries:
                items = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            skipped.append(Skipped(path=folder + "/", reason=_said(error)))
            continue
        if any(item.name == ".gitignore" for item in items):
            lines = _lines(root / folder / ".gitignore")
            rules = (*rules, (folder, GitIgnoreSpec.from_lines(lines)))
        for item in items:
            path = f"{folder}/{item.name}" if folder else item.name
            is_folder = item.is_dir(follow_symlinks=False)
            if item.name in _FOLDERS or _ignored(path + "/" * is_folder, rules):
                continue
            if is_folder:
                todo.append((path, rules))
            else:
                yield path


def _ignored(path: str, rules: tuple[tuple[str, object], ...]) -> bool:
    for folder, spec in reversed(rules):  # the nearest .gitignore has the last word
        below = path[len(folder) + 1 :] if folder else path
        verdict = spec.check_file(below).include  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType] - an extra
        if verdict is not None:
            return bool(verdict)  # pyright: ignore[reportUnknownArgumentType] - an extra
    return False


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def _looked_at(root: Path, path: str, racy: float, most: int) -> Candidate | Skipped | None:
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = path.encode("utf-8", "backslashreplace").decode()
        return Skipped(path=shown, reason="its name is not UTF-8")
    try:
        status = os.lstat(root / path)
    except FileNotFoundError:
        return None  # deleted, but git has not been told
    except OSError as error:
        return Skipped(path=path, reason=_said(error))
    if stat.S_ISDIR(status.st_mode) and _is_plain(root / path):
        return None  # a tracked file that became a folder, whose files are named by themselves
    reason = _unwanted(path, status, most)
    if reason is not None:
        return Skipped(path=path, reason=reason)
    return Candidate(path, _stamp(status, racy), status.st_size)


def _is_plain(folder: Path) -> bool:
    """Tell a folder from a repository, or from the empty one of a submodule not fetched."""
    try:
        names = {item.name for item in folder.iterdir()}
    except OSError:
        return False
    return bool(names) and ".git" not in names


def _unwanted(path: str, status: os.stat_result, most: int) -> str | None:
    name = PurePosixPath(path).name
    low = name.lower()
    reasons = {
        "a link; what it points to is indexed at its own path": stat.S_ISLNK(status.st_mode),
        "a repository within this one; index it by itself": stat.S_ISDIR(status.st_mode),
        "not a regular file": not stat.S_ISREG(status.st_mode),
        MAY_HOLD_SECRETS: bool(_SECRETS.fullmatch(low) and not _NO_SECRETS.fullmatch(low)),
        "binary": PurePosixPath(name).suffix.lower() in _BINARY,
        "generated": _GENERATED.fullmatch(name) is not None,
        f"{status.st_size:,} bytes, more than max_file_bytes ({most:,})": status.st_size > most,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _stamp(status: os.stat_result, racy: float) -> bytes:
    if max(status.st_mtime, status.st_ctime) > racy:
        return os.urandom(8)  # never equal: it is read again next time
    key = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
    return blake2b(key.encode(), digest_size=8).digest()


def _said(error: OSError) -> str:
    return error.strerror or str(error)
