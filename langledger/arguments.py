"""What an argument must be, said once: each check names the argument and what is expected."""

from __future__ import annotations

import math
from collections.abc import Collection

from langledger.errors import ConfigurationError

__all__ = [
    "check_choice",
    "check_key",
    "check_optional",
    "check_optional_seconds",
    "check_seconds",
    "check_switch",
    "check_tenant",
    "check_text",
    "check_whole",
    "shown",
    "spelled",
    "unstorable",
]

_LARGEST = 2**63 - 1  # PostgreSQL's bigint
_LONGEST_KEY = 500  # bytes; a key of an index holds 2,704, of up to four parts


def unstorable(text: str) -> str | None:
    """Say what in a text PostgreSQL cannot hold; None when it can hold all of it."""
    if "\x00" in text:
        return "a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair"
    return None


def check_text(name: str, value: object, *, empty: bool = False) -> str:
    """Return a text that a column of PostgreSQL can hold.

    Args:
        name: Of the argument, for the error.
        value: What was given.
        empty: Whether it may be empty.

    Raises:
        ConfigurationError: It is no string, is empty, or holds what cannot be stored.
    """
    kind = "a string" if empty else "a non-empty string"
    if not isinstance(value, str) or not (value or empty):
        raise ConfigurationError(f"{name} must be {kind}, not {shown(value)}")
    fault = unstorable(value)
    if fault is not None:
        raise ConfigurationError(f"{name} holds {fault}, which PostgreSQL cannot store")
    return value


def check_tenant(value: object) -> str:
    """Return a tenant; without one a query would have to mean everybody's rows.

    Raises:
        ConfigurationError: It is no usable string, or longer than 500 bytes.
    """
    return check_key("tenant", value)


def check_key(name: str, value: object) -> str:
    """Return a text that may be part of a key.

    Raises:
        ConfigurationError: It is no usable string, or longer than 500 bytes.
    """
    text = check_text(name, value)
    if len(text.encode()) > _LONGEST_KEY:
        raise ConfigurationError(f"{name} is longer than {_LONGEST_KEY} bytes")
    return text


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return one of the texts that may be given.

    Raises:
        ConfigurationError: It is none of them.
    """
    if not isinstance(value, str) or value not in choices:
        raise ConfigurationError(f"{name} must be one of {', '.join(choices)}, not {shown(value)}")
    return value


def check_optional(name: str, value: object) -> str | None:
    """Return a text as :func:`check_text` does, or None for None."""
    return None if value is None else check_text(name, value)


def check_switch(name: str, value: object) -> bool:
    """Return a truth value; ``"no"`` is none.

    Raises:
        ConfigurationError: It is neither True nor False.
    """
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} must be True or False, not {shown(value)}")
    return value


def check_whole(name: str, value: object, *, least: int = 0, most: int = _LARGEST) -> int:
    """Return a whole number within bounds.

    Raises:
        ConfigurationError: It is no whole number, or out of bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigurationError(f"{name} must be a whole number, not {shown(value)}")
    if not least <= value <= most:
        bound = f"at least {least}" if value < least else f"at most {most}"
        raise ConfigurationError(f"{name} must be {bound}")
    return value


def check_seconds(name: str, value: object) -> float:
    """Return a number of seconds above 0.

    Raises:
        ConfigurationError: It is no such number.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf:
        return value
    raise ConfigurationError(f"{name} must be a number of seconds above 0, not {shown(value)}")


def check_optional_seconds(name: str, value: object) -> float | None:
    """Return a number of seconds above 0, or None for None, which is as long as it takes."""
    return None if value is None else check_seconds(name, value)


def shown(value: object) -> str:
    """Say what was given: a string or number itself, of the rest only what kind it is.

    What a foreign object says of itself may be endless, secret or an error.
    """
    if isinstance(value, int) and abs(value) >= 10**19:
        return "a number of more than 19 digits"  # Python spells none of more than 4,300
    if value is None or isinstance(value, (str, int, float)):
        text = repr(value)
        return text if len(text) <= 50 else f"{text[:50]}..."
    return f"a {type(value).__name__}"


def spelled(name: str, value: object) -> str:
    """Return what ``str`` makes of a value: LangGraph takes anything that has a text as an id.

    Raises:
        ConfigurationError: It has none.
    """
    try:
        return str(value)
    except Exception as error:  # whatever a foreign object raises
        raise ConfigurationError(f"{name} must be a string, not {shown(value)}") from error
