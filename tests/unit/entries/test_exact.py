"""What msgpack would change or cannot carry: carried exactly, or refused with the true reason."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.serde.base import CipherProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Interrupt, Send
from pydantic import BaseModel, SecretStr, v1

from langledger.checkpoint.sealing import Open, Sealed, Sealing
from langledger.entries.compression import compress, decompress
from langledger.errors import SerializationError

HALF = "half of a surrogate pair: \ud83d"


class Plan(BaseModel, extra="allow"):
    steps: Any = None


class Secret(BaseModel):
    key: SecretStr


class OldPlan(v1.BaseModel):
    steps: Any


@dataclass(frozen=True, slots=True)
class Place:
    name: Any


class Pair(NamedTuple):
    name: Any


class Backwards(CipherProtocol):
    """Enough of a cipher to hide what it is given."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "backwards", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "backwards"
        return ciphertext[::-1]


SEALINGS: dict[str, Sealing] = {
    "open": Open(JsonPlusSerializer()),
    "sealed": Sealed(EncryptedSerializer(Backwards()), b"k" * 32),
}


@pytest.fixture(params=list(SEALINGS.values()), ids=list(SEALINGS))
def sealing(request: pytest.FixtureRequest) -> Sealing:
    return request.param


def back(sealing: Sealing, value: Any) -> Any:
    """Store a value as a checkpointer does, and read it."""
    stored = sealing.seal(value, *sealing.plain(value))
    return sealing.load(*decompress(compress(*stored)))


CARRIED: list[Any] = [
    HALF,
    {HALF: [HALF, (HALF, 2**70)]},
    ["two halves \ud83d\ude00 are no 😀", "\ud83d", '\n\x00"'],
    {HALF, ("a", HALF)},
    frozenset({HALF, 2**70}),
    deque([HALF, {"in": {HALF}}]),
    Path("/srv/not utf-8 \udcff.txt"),
    {"files": {Path("\udcff")}, "plan": Plan(steps=["why?"])},
    [HumanMessage(HALF, id="1"), ToolMessage(HALF, tool_call_id="c", artifact={"raw": {HALF}})],
    RemoveMessage(id=HALF),
    2**70,
    {"n": {-(2**70)}},
]


@pytest.mark.parametrize("value", CARRIED, ids=lambda value: type(value).__name__)
def test_what_msgpack_would_change_comes_back_equal(value: Any, sealing: Sealing) -> None:
    found = back(sealing, value)
    assert found == value
    assert type(found) is type(value)


def holders(content: Any) -> dict[str, Any]:
    """Return objects that hold this."""
    return {
        "dataclass": Place(content),
        "pydantic": Plan(steps=[content]),
        "extra of pydantic": Plan.model_validate({"more": {"x": content}}),
        "pydantic 1": OldPlan(steps=[content]),
        "named tuple": Pair(content),
        "interrupt": Interrupt(value={"question": content}, id="1"),
        "update": Command(update={"x": content}),
        "goto": Command(goto=Send("node", [content])),
        "document": Document("text", metadata={"x": content}),
        "a message inside": Place(HumanMessage("hi", additional_kwargs={"x": content})),
        "deep": {"a": [{"b": [Place({"c": deque([content])})]}]},
    }


@pytest.mark.parametrize("name", holders(None))
def test_what_an_object_cannot_carry_is_refused_and_never_changed(
    name: str, sealing: Sealing
) -> None:
    with pytest.raises(SerializationError, match="holds half of a surrogate pair; give it as"):
        back(sealing, holders(HALF)[name])
    with pytest.raises(SerializationError, match="holds an integer beyond 64 bits; give it as"):
        back(sealing, holders(2**70)[name])
    ordinary = holders("why? 😀")[name]
    assert repr(back(sealing, ordinary)) == repr(ordinary)


@pytest.mark.parametrize(
    "value",
    [
        Secret(key=SecretStr(HALF)),
        Document(HALF),
        Enum("Kind", {"A": HALF}).A,
        ToolMessage("hi", tool_call_id="c", artifact=Place(HALF)),
    ],
    ids=["secret", "document", "enum", "artifact"],
)
def test_text_of_an_object_itself_is_refused_too(value: Any, sealing: Sealing) -> None:
    with pytest.raises(SerializationError, match="half of a surrogate pair"):
        back(sealing, value)


def test_an_error_is_stored_as_its_text_whatever_it_holds(sealing: Sealing) -> None:
    assert back(sealing, [ValueError(HALF)]) == [repr(ValueError(HALF))]


class OwnMessage(HumanMessage):
    mood: str = "calm"


@pytest.mark.parametrize("text", ["plain", HALF])
def test_a_message_whose_class_is_not_allowed_is_a_dict(text: str) -> None:
    sealing = Open(JsonPlusSerializer(allowed_msgpack_modules=None))
    found = back(sealing, OwnMessage(text))
    assert found == {**OwnMessage(text).__dict__}
    allowed = Open(JsonPlusSerializer(allowed_msgpack_modules=[OwnMessage]))
    assert back(allowed, OwnMessage(text)) == OwnMessage(text)
    assert back(sealing, HumanMessage(text)) == HumanMessage(text)
