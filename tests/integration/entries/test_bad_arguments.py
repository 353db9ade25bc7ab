"""What cannot be recorded or asked for: one error that names it, and nothing is written."""

from __future__ import annotations

import math
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage

from langledger import entries
from langledger.database import Database
from langledger.entries import Location
from langledger.errors import ConfigurationError, LangLedgerError, SerializationError
from langledger.operations import Operation, run

HERE = Location("t", "thread")
FINE = HumanMessage("fine")


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def cycle() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = [value]
    return value


def refusal(database: Database, operation: Operation[Any]) -> LangLedgerError:
    with pytest.raises(LangLedgerError) as error:
        run(operation, database)
    assert run(entries.threads("t"), database) == []
    str(error.value).encode()  # it can be printed
    return error.value


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (None, "not a NoneType"),
        (5, "not a int"),
        ("hello", "not a str"),
        ({"role": "user", "content": "x"}, "not a dict"),
        (FINE, "not a HumanMessage: put it into a list"),
        ([FINE, {"role": "user", "content": "x"}], r"messages\[1\] is a dict: convert them"),
        ([("user", "x")], r"messages\[0\] is a tuple: convert them"),
        (["x"], r"messages\[0\] is a str: convert them"),
        ([None], r"messages\[0\] is a NoneType"),
        ([FINE, RemoveMessage(id="1")], r"messages\[1\] is a RemoveMessage"),
    ],
)
def test_what_is_no_list_of_messages(database: Database, messages: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        raise refusal(database, entries.append(HERE, messages))


def test_any_iterable_of_messages_will_do(database: Database) -> None:
    run(entries.append(HERE, (m for m in (FINE, AIMessage("ok")))), database)
    assert [e.message.content for e in run(entries.history(HERE), database)] == ["fine", "ok"]


@pytest.mark.parametrize("name", ["user_id", "task_id"])
@pytest.mark.parametrize("value", ["", 5, b"x", ["x"], "a\x00b", "lone \ud800"])
def test_a_user_or_task_that_no_column_can_hold(database: Database, name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} "):
        raise refusal(database, entries.append(HERE, [FINE], **{name: value}))


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"a": "x\x00"}, r"metadata\['a'\] holds a NUL character"),
        ({"a\x00": 1}, "a key of metadata holds a NUL character"),
        ({"a": ["\ud800"]}, r"metadata\['a'\]\[0\] holds half of a surrogate pair"),
        ({"a": {"b": math.nan}}, r"metadata\['a'\]\['b'\] is nan"),
        ({"a": -math.inf}, "is -inf, which JSON does not know"),
        ({"a": 10**5000}, "too many digits"),
        ({"a": b"x"}, "of type bytes: give text, numbers"),
        ({"a": {1, 2}}, "of type set"),
        ({"a": object()}, "of type object"),
        ({1: "a"}, "has the key 1, and JSON knows only strings"),
        (cycle(), "nested more than 100 deep, or holds itself"),
        (nested(3000), "nested more than 100 deep"),
    ],
)
@pytest.mark.parametrize("name", ["metadata", "about"])
def test_facts_that_json_would_change_or_refuse(
    database: Database, name: str, metadata: Any, said: str
) -> None:
    with pytest.raises(SerializationError, match=said.replace("metadata", name)):
        raise refusal(database, entries.append(HERE, [FINE], **{name: metadata}))


@pytest.mark.parametrize("metadata", ["x", 5, [("a", 1)], {"a"}])
def test_metadata_that_is_no_mapping(database: Database, metadata: Any) -> None:
    with pytest.raises(ConfigurationError, match="metadata must be a mapping, not a"):
        raise refusal(database, entries.append(HERE, [FINE], metadata=metadata))


def test_metadata_at_the_limits_comes_back_equal(database: Database) -> None:
    metadata = {"n": 10**3900, "deep": nested(98), "t": "é🙂", "f": 1e-300, "none": None, "": []}
    run(entries.append(HERE, [FINE], metadata=metadata), database)
    assert run(entries.history(HERE), database)[0].metadata == metadata


@pytest.mark.parametrize("tokens", [[1], [1, 2, 3], [1, "x"], [1, -1], [1, 2**40]])
def test_sizes_that_are_not_one_a_message(database: Database, tokens: Any) -> None:
    with pytest.raises(ConfigurationError, match="tokens"):
        raise refusal(database, entries.append(HERE, [FINE, FINE], tokens=tokens))


@pytest.mark.parametrize("depth", [210, 300, 350, 400, 1000, 3000])
def test_a_message_nested_too_deeply_says_so(database: Database, depth: int) -> None:
    """Or, where msgpack carries it, it comes back equal."""
    deep = AIMessage("?", additional_kwargs={"payload": nested(depth)})
    operation = entries.append(HERE, [FINE, deep])
    if depth < 250:
        run(operation, database)
        assert run(entries.history(HERE), database)[1].message.additional_kwargs == (
            deep.additional_kwargs
        )
        return
    with pytest.raises(SerializationError, match=r"messages\[1\], AIMessage.*nested") as error:
        raise refusal(database, operation)
    assert "msgpack" not in str(error.value)
    assert len(str(error.value)) < 300


def loop_message() -> BaseMessage:
    message = AIMessage("x")
    message.additional_kwargs["again"] = message
    return message


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            AIMessage("x", additional_kwargs={"handle": {"b": [1, object()]}}),
            r"additional_kwargs\['handle'\]\['b'\]\[1\] is of type object",
        ),
        (
            HumanMessage("x", response_metadata={"when": open}),
            r"response_metadata\['when'\] is of type builtin_function_or_method",
        ),
        (loop_message(), "additional_kwargs is nested too deeply, more than 200 levels, or holds"),
    ],
)
def test_the_field_that_cannot_be_stored_is_named(
    database: Database, message: BaseMessage, said: str
) -> None:
    with pytest.raises(SerializationError, match=r"messages\[1\], .*cannot be stored: " + said):
        raise refusal(database, entries.append(HERE, [FINE, message]))


@pytest.mark.parametrize("value", ["x", None, -1, 1.5, 2**63, True])
def test_a_place_that_is_no_number(database: Database, value: Any) -> None:
    for operation in (
        entries.history(HERE, after=value),
        entries.history_page(HERE, limit=value),
        entries.threads("t", limit=value),
        entries.threads("t", offset=value),
        entries.load(HERE, [value]),
    ):
        with pytest.raises(ConfigurationError, match=r"whole number|at least|at most"):
            run(operation, database)
    if value is not None:
        with pytest.raises(ConfigurationError, match=r"^until must be"):
            run(entries.history(HERE, until=value), database)


@pytest.mark.parametrize("tenant", ["", None, 5, "\ud800", "a\x00b", "x" * 501])
def test_a_query_without_a_tenant_is_an_error_not_all_rows(database: Database, tenant: Any) -> None:
    run(entries.append(HERE, [FINE]), database)
    with pytest.raises(ConfigurationError, match=r"^tenant "):
        run(entries.threads(tenant), database)
    with pytest.raises(ConfigurationError, match=r"^tenant "):
        Location(tenant, "thread")


def test_a_tenant_of_the_greatest_length_works(database: Database) -> None:
    location = Location("".join(chr(0x4E00 + n * 37 % 20000) for n in range(166)), "thread")
    run(entries.append(location, [FINE]), database)
    assert run(entries.count(location), database) == 1
