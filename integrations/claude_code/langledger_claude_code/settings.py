"""Claude Code's ``settings.json``: our hooks put in and taken out, everything else left alone."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeGuard, cast

from langledger.errors import ConfigurationError
from langledger_claude_code import client

__all__ = ["default_settings", "install", "uninstall"]

# Each event with its matcher; None: the event has none.
_EVENTS: Mapping[str, str | None] = {
    "SessionStart": "compact",
    "PreCompact": "",
    "UserPromptSubmit": None,
    "PostToolUse": "",
    "Stop": None,
}
_OURS = "langledger_claude_code"
_SECONDS = 10  # after which Claude Code goes on without the hook; it takes a hundredth of that


def default_settings() -> Path:
    """Return the user's settings, which hold for all projects."""
    return Path.home() / ".claude" / "settings.json"


def install(path: Path, spool: Path) -> bool:
    """Put the hooks into a settings file; return whether that changed it.

    Args:
        path: The file; made where it is missing.
        spool: The folder in which hooks leave word; made, closed to other users.

    Raises:
        ConfigurationError: The file is not what Claude Code takes, or this is no POSIX system.
    """
    if os.name != "posix":
        raise ConfigurationError("the hooks need a POSIX system: Linux, macOS or WSL")
    spool.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = _read(path)
    after = _without_ours(before)
    hooks = after.setdefault("hooks", {})
    for event, matcher in _EVENTS.items():
        entry: dict[str, Any] = {} if matcher is None else {"matcher": matcher}
        command = {"type": "command", "command": _command(spool), "timeout": _SECONDS}
        hooks.setdefault(event, []).append({**entry, "hooks": [command]})
    return _write(path, before, after)


def uninstall(path: Path) -> bool:
    """Take the hooks out of a settings file; return whether there were any.

    Raises:
        ConfigurationError: The file is not what Claude Code takes.
    """
    before = _read(path)
    return _write(path, before, _without_ours(before))


def _command(spool: Path) -> str:
    script = str(Path(client.__file__).resolve())
    return shlex.join([sys.executable, "-I", "-S", script, str(spool)])


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    try:
        found: object = json.loads(text or "{}")
    except ValueError as error:
        raise ConfigurationError(f"{path} is not valid JSON ({error}); mend it first") from error
    if not _is_settings(found):
        raise ConfigurationError(f"{path} holds no settings of Claude Code: see its hooks")
    return found


def _is_settings(found: object) -> TypeGuard[dict[str, Any]]:
    hooks = cast("dict[str, Any]", found).get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict):
        return False
    return all(isinstance(groups, list) for groups in cast("dict[str, Any]", hooks).values())


def _without_ours(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings without our hooks, and without what only held them."""
    kept: dict[str, Any] = {}
    for event, groups in settings.get("hooks", {}).items():
        left = [group for group in map(_others, groups) if group is not None]
        if left or not groups:
            kept[event] = left
    rest = {key: value for key, value in settings.items() if key != "hooks"}
    if kept or settings.get("hooks") == {}:
        return {key: kept if key == "hooks" else rest[key] for key in settings}
    return rest


def _others(group: Any) -> Any:
    """Return a group of hooks without ours; None where nothing is left."""
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return cast("Any", group)
    found = cast("dict[str, Any]", group)
    left = [hook for hook in found["hooks"] if not _is_ours(hook)]
    return {**found, "hooks": left} if left or not found["hooks"] else None


def _is_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and _OURS in str(cast("dict[str, Any]", hook).get("command"))


def _write(path: Path, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Replace the file in one step, where something changed; a link stays a link."""
    if before == after:
        return False
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    with NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, delete=False) as file:
        json.dump(after, file, ensure_ascii=False, indent=2)
        file.write("\n")
    try:
        Path(file.name).chmod(mode)
        Path(file.name).replace(target)
    except OSError:
        with suppress(OSError):
            Path(file.name).unlink()
        raise
    return True
