"""Values of PostgresSaver's rows: read whole or refused, and compared."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, cast

import ormsgpack
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langledger.checkpoint.sealing import is_open
from langledger.entries.codec import dump_value, load_value
from langledger.errors import ConfigurationError, SerializationError

__all__ = ["Loader", "same"]

# Codes under which LangGraph's msgpack carries objects: module and name of the class come first.
_OBJECTS = range(6)
_SNAPSHOT = 7

_Name = tuple[str, str]


class Loader:
    """Reads the values of rows.

    LangGraph's serialiser gives an object whose class it cannot import, or does not allow, as the
    dict of its fields, and says so in a log at most. Stored again, that would be its end: such a
    value is refused.

    Args:
        serde: The serialiser they were written with; default: LangGraph's.
    """

    def __init__(self, serde: SerializerProtocol | None = None) -> None:
        self._serde = serde or JsonPlusSerializer()
        self._whole: set[_Name] = set()  # classes that came back as themselves

    def load(self, kind: str, payload: bytes) -> Any:
        """Return a value.

        Raises:
            ConfigurationError: It is encrypted, and no serialiser for that was given.
            SerializationError: It cannot be read, or not as what it was.
        """
        if "+" in kind and is_open(self._serde):
            raise ConfigurationError(
                f"the source's values are encrypted ({kind}): import them from Python, with "
                "import_postgres_saver(..., serde=EncryptedSerializer...)"
            )
        value = load_value(kind, payload, self._serde)
        if kind == "msgpack":
            self._check(value, _classes(payload))
        return value

    def _check(self, value: Any, named: set[_Name]) -> None:
        unsure = named - self._whole
        if not unsure:
            return
        found = _classes(dump_value(value)[1])
        lost = {name for name in unsure if name not in found and _today(name) not in found}
        self._whole |= unsure - lost
        if lost:
            names = ", ".join(sorted(".".join(name) for name in lost))
            raise SerializationError(
                f"it holds {names}, which cannot be made again here: run the import where the "
                "application's modules can be imported (PYTHONPATH), and without "
                "LANGGRAPH_STRICT_MSGPACK or with a serde that allows them"
            )


def _classes(payload: bytes) -> set[_Name]:
    """Return module and name of every class that msgpack bytes name."""
    found: set[_Name] = set()

    def note(code: int, data: bytes) -> None:
        if code in _OBJECTS:
            parts = cast("list[Any]", unpack(data))
            found.add((str(parts[0]), str(parts[1])))
        elif code == _SNAPSHOT:
            unpack(data)

    def unpack(data: bytes) -> Any:
        return ormsgpack.unpackb(data, ext_hook=note, option=ormsgpack.OPT_NON_STR_KEYS)

    unpack(payload)
    return found


def _today(name: _Name) -> _Name:
    """Return where a class that is found under an old name lives now; imports nothing."""
    module, attribute = name
    found = getattr(sys.modules.get(module), attribute, None)
    return getattr(found, "__module__", module), getattr(found, "__name__", attribute)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal; what is not equal to itself, by what is stored of it."""
    # Whatever a class raises (arrays do), bytes tell then.
    with suppress(Exception):
        if bool(one == other):
            return True
    try:
        return dump_value(one) == dump_value(other)
    except SerializationError:
        return False
