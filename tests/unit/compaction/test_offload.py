from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langledger.compaction.offload import media_in, without_media

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (800).to_bytes(4) + (600).to_bytes(4) + b"\0" * 4000
DATA = b64encode(PNG).decode()
SOUND = b64encode(b"RIFF" + b"\0" * 3000).decode()
PDF = b64encode(b"%PDF-1.4 " + b"\0" * 3000).decode()
SHAPES: dict[str, dict[str, Any]] = {
    "openai image": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    "openai responses": {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"},
    "openai audio": {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
    "openai file": {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}"}},
    "anthropic image": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": DATA},
    },
    "anthropic document": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
    },
    "google": {"type": "media", "mime_type": "image/png", "data": DATA},
    "google inline": {"inline_data": {"mime_type": "image/png", "data": DATA}},
    "langchain image": {"type": "image", "base64": DATA, "mime_type": "image/png"},
    "langchain audio": {"type": "audio", "base64": SOUND, "mime_type": "audio/wav"},
    "langchain file": {"type": "file", "base64": PDF, "mime_type": "application/pdf"},
    "langchain before 1.0": {
        "type": "image",
        "source_type": "base64",
        "data": DATA,
        "mime_type": "image/png",
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [HumanMessage, ToolMessage])
def test_what_stands_for_media_names_entry_type_and_size(shape: str, kind: Any) -> None:
    options = {"tool_call_id": "c"} if kind is ToolMessage else {}
    message = kind([{"type": "text", "text": "Look."}, SHAPES[shape]], id="m", **options)
    light = without_media(message, 7)
    assert light is not None
    assert light.id == "m"
    text, note = light.content
    assert text == {"type": "text", "text": "Look."}
    assert note["type"] == "text"
    assert note["text"].endswith("kB, kept as entry #7]")
    assert not [data for data in (DATA, SOUND, PDF) if data in str(light)]
    assert media_in(message)


def test_media_inside_a_tools_result_block_are_found() -> None:
    block = {"type": "tool_result", "tool_use_id": "c", "content": [SHAPES["anthropic image"]]}
    light = without_media(HumanMessage([block]), 3)
    assert light is not None
    note = "[image image/png 800x600 4 kB, kept as entry #3]"
    assert light.content == [{**block, "content": [{"type": "text", "text": note}]}]


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("only text"),
        HumanMessage([{"type": "text", "text": "only text"}]),
        HumanMessage([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]),
        AIMessage([SHAPES["langchain image"]]),
    ],
)
def test_without_inline_media_a_message_is_left_alone(message: Any) -> None:
    assert without_media(message, 1) is None
