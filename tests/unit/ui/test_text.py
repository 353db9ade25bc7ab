"""Stored texts as a page may show them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from markupsafe import Markup, escape

from langledger.ui.said import said
from langledger.ui.text import clipped, linked, message_json, number, size, visible

ANYTHING = st.text(st.characters(), max_size=200)


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\x00b", r"a\x00b"),
        ("user\u202egpj.exe", r"user\u202egpj.exe"),
        ("half \ud83d", r"half \ud83d"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("line\r\nline\ttab", "line\nline\ttab"),
        ("a\rb", r"a\x0db"),
        ("你好 😀 é", "你好 😀 é"),
    ],
)
def test_hidden_characters_are_seen(stored: str, shown: str) -> None:
    assert visible(stored) == shown


def test_what_is_no_text_stays() -> None:
    assert visible(12) == 12
    assert visible(None) == ""
    assert visible(Markup("<b>")) == Markup("<b>")


@given(ANYTHING)
def test_any_text_can_be_sent_and_holds_nothing_hidden(text: str) -> None:
    shown = str(visible(text))
    shown.encode()
    assert visible(shown) == shown


def test_references_lead_to_entries() -> None:
    assert linked("see #12, #x and &#39;", "/t/entries") == Markup(
        'see <a href="/t/entries/12">#12</a>, #x and &amp;<a href="/t/entries/39">#39</a>;'
    )


@given(ANYTHING)
def test_linked_text_is_escaped(text: str) -> None:
    html = str(linked(f"<script>{text}#7", "/e"))
    assert "<script" not in html
    assert html.startswith(str(escape(f"<script>{visible(text)}")) if "#" not in text else "&lt;")
    assert html.endswith('<a href="/e/7">#7</a>') or text[-1:].isdigit()


def test_long_texts_tell_their_length() -> None:
    assert clipped("abc", 3) == "abc"
    assert clipped("x" * 5000, 3) == "xxx… (5,000 characters)"


def test_numbers() -> None:
    assert (number(None), number(1234567)) == ("–", "1,234,567")
    assert [size(n) for n in (None, 12, 1500, 2_500_000, 7e9)] == [
        "–", "12 B", "1.5 kB", "2.5 MB", "7.0 GB",
    ]  # fmt: skip


def test_the_parts_of_a_message() -> None:
    call = {"name": "bash", "args": {"command": "ls"}, "id": "c1"}
    block = {"type": "image", "base64": "QUJD", "mime_type": "image/png"}
    found = said(AIMessage([{"type": "text", "text": "Look."}, block], tool_calls=[call]))
    assert found.text.startswith("Look.")
    assert "image/png" in found.text
    assert "QUJD" not in found.text
    assert [(c.name, json.loads(c.args)) for c in found.calls] == [("bash", {"command": "ls"})]
    failed = said(ToolMessage("no", tool_call_id="c1", name="bash", status="error"))
    assert (failed.tool, failed.failed) == ("bash", True)


def test_of_a_large_message_the_beginning_is_shown() -> None:
    found = said(HumanMessage("x" * 10_000_000), most=50)
    assert (len(found.text), found.length) == (50, 10_000_000)


def test_all_of_a_message_as_json() -> None:
    told = json.loads(message_json(HumanMessage("hi", id="m1", additional_kwargs={"a": {1, 2}})))
    assert told["content"] == "hi"
    assert told["additional_kwargs"]["a"] == "{1, 2}"
