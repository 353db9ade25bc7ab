from __future__ import annotations

from pathlib import Path

import pytest

from langledger.compaction.transcript import injected_text, is_request, request_text
from langledger.replay.formats.injected import typed_part
from langledger.replay.session import load_session

RULES = "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nNever push.\n</INSTRUCTIONS>"
PLACE = "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"
PLUGINS = "<recommended_plugins>\n- Box\n</recommended_plugins>"


@pytest.mark.parametrize(
    "text",
    [
        RULES,
        PLACE,
        f"{PLUGINS}\n{RULES}\n{PLACE}\n",
        f"\n {PLACE}",
        "<user_instructions>\n\nUse tabs.\n</user_instructions>",
        "# AGENTS.md instructions for /w\n\nNever push.\n",
        "<environment_context>\nnever closed",
        "<permissions instructions>none</permissions instructions>",
        "<INSTRUCTIONS>\nThe tag `</INSTRUCTIONS>` ends this.\n</INSTRUCTIONS>",
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.py",
    ],
)
def test_nothing_of_it_was_typed(text: str):
    assert typed_part(text) == ""


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        (f"{RULES}\n{PLACE}\n\nFix the login.", "Fix the login."),
        ("<system-reminder>Be brief.</system-reminder>\nGo on <b>\n", "Go on <b>\n"),
        ("# Context from my IDE setup:\n## Open tabs:\n- a\n## My request for Codex:\nGo", "Go"),
        ("<skillful>is a tag of mine</skillful>", "<skillful>is a tag of mine</skillful>"),
        ("  What is <environment_context>?", "  What is <environment_context>?"),
        ("# AGENTS.md needs a section", "# AGENTS.md needs a section"),
        ("<environment_context> is what?", "<environment_context> is what?"),
        ("", ""),
    ],
)
def test_what_follows_was_typed(text: str, typed: str):
    assert typed_part(text) == typed


def test_every_format_tells_the_host_from_the_user(load_lines):
    text = f"{RULES}\n{PLACE}\nFix the login."
    block = {"type": "input_text", "text": text}
    for record in (
        {"role": "user", "content": text},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [block]},
        },
        {"type": "user", "sessionId": "s", "message": {"role": "user", "content": text}},
    ):
        message = load_lines(record).messages[0].message
        assert is_request(message)
        assert message.content == text
        assert request_text(message) == "Fix the login."
        assert injected_text(message) == f"{RULES}\n{PLACE}\n"


def test_the_normalised_codex_session_begins_with_the_users_words(transcripts_dir: Path):
    session = load_session(transcripts_dir / "codex" / "mise-7080543b831c.jsonl")
    said = [entry.message for entry in session.messages if is_request(entry.message)]
    assert request_text(said[0]).startswith(
        "address [https://github.com/jdx/mise/discussions/10936]"
    )
