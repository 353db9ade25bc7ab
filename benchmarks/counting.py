"""How exact and how fast token counting is.

Three tables: our count and LangChain's approximation over the truth, by kind of text;
what providers reported for recorded sessions over our count of what was added, by model
(the evidence for the priors of ``langledger.tokens.calibration``); and speed.

    python benchmarks/counting.py [--shared ../shared] [--json]
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import statistics
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from toktok import batch_count

from langledger.tokens import count_each, count_messages, count_text

PIECE = 2_000  # characters of one message
MOST = 400_000  # characters read of one kind


def exact(text: str) -> int:
    """The truth for text: the tokenizer itself, without our code."""
    return batch_count([text], "o200k_base")[0]


# --- by kind of text -----------------------------------------------------------------------


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def some(value: dict[str, Any], key: str, default: Any) -> Any:
    """A field that may be absent or null."""
    return value.get(key) or default


def transcript_texts(shared: Path, formats: list[str], role: str) -> Iterator[str]:
    for name in formats:
        for path in sorted((shared / "transcripts" / name).glob("*.jsonl")):
            yield from (m["content"] for m in read_lines(path) if m["role"] == role)


def kinds(shared: Path) -> dict[str, Iterator[str]]:
    """Texts by kind, each an iterator over the recorded material."""
    tools = ["claude-code", "codex", "pi"]
    return {
        "English (assistant prose)": transcript_texts(shared, ["pi", "moatless"], "assistant"),
        "code (file reads, patches)": (
            row["gold_patch"] for row in read_lines(shared / "datasets/swebench_verified_dev.jsonl")
        ),
        "JSON (tool call arguments)": (
            json.dumps(call["args"], ensure_ascii=False)
            for name in tools
            for path in sorted((shared / "transcripts" / name).glob("*.jsonl"))
            for m in read_lines(path)
            for call in some(m, "tool_calls", [])
        ),
        "JSON (API rows)": iter([json.dumps(rows(4_000))]),
        "shell (tool results)": transcript_texts(shared, tools, "tool"),
        "test logs": (
            log["content"] for log in read_lines(shared / "datasets/messages/test_logs.jsonl")
        ),
        "Chinese (dialogues)": (
            line for line in chinese(shared / "datasets/memory/kdconv_zh.jsonl") if line
        ),
    }  # fmt: skip


def rows(count: int) -> list[dict[str, Any]]:
    draw = random.Random(7)
    return [
        {"id": i, "sha": f"{draw.getrandbits(80):020x}", "at": f"2026-03-{i % 28 + 1:02}T09:00Z"}
        for i in range(count)
    ]


def chinese(path: Path) -> Iterator[str]:
    """Every Chinese string in a file of nested JSON."""
    stack: list[Any] = list(read_lines(path))
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            stack += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            stack += cast("list[Any]", value)
        elif isinstance(value, str) and any("一" <= char <= "鿿" for char in value):
            yield value


def pieces(texts: Iterator[str]) -> list[str]:
    joined: list[str] = []
    length = 0
    for text in texts:
        joined.append(text)
        length += len(text)
        if length > MOST:
            break
    whole = "\n".join(joined)[:MOST]
    return [whole[i : i + PIECE] for i in range(0, len(whole), PIECE)]


def png(width: int, height: int) -> str:
    """A valid picture of noise, as base64."""
    noise = random.Random(7).randbytes((width * 3 + 1) * height)
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
              (b"IDAT", zlib.compress(noise, 1)), (b"IEND", b"")]  # fmt: skip
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def by_kind(shared: Path) -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = []
    for kind, texts in kinds(shared).items():
        messages = [HumanMessage(piece) for piece in pieces(texts)]
        truth = sum(exact(str(message.content)) + 4 for message in messages)
        table.append(ratios(kind, messages, truth))
    calls = [{"name": "write", "args": {"rows": rows(400)}, "id": "1", "type": "tool_call"}]
    message = AIMessage([{"type": "text", "text": "Writing."}], tool_calls=calls)
    truth = exact("Writing.") + exact(json.dumps(calls[0]["args"])) + 16
    table.append(ratios("AI message, list content, 40k of arguments", [message], truth))
    url = f"data:image/png;base64,{png(1024, 768)}"
    source = {"type": "base64", "media_type": "image/png", "data": url[22:]}
    for shape, bill, block in (
        ("image_url", 765, {"image_url": {"url": url}}),
        ("input_image", 765, {"image_url": url}),
        ("image", 1_049, {"source": source}),
    ):
        message = HumanMessage([{"type": shape, **block}])
        table.append(ratios(f"{shape} 1024x768 (billed {bill})", [message], bill + 4))
    return table


def ratios(kind: str, messages: list[Any], truth: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "truth": truth,
        "langledger": round(count_messages(messages) / truth, 3),
        "approximately": round(count_tokens_approximately(messages) / truth, 3),
    }


# --- what providers reported ---------------------------------------------------------------

Step = tuple[int, list[BaseMessage]]  # prompt tokens the provider reported, what was added since


def pi_steps(path: Path) -> Iterator[tuple[str, Step]]:
    added: list[BaseMessage] = []
    for line in read_lines(path):
        message: dict[str, Any] = some(line, "message", {})
        if line.get("type") == "compaction":
            yield "", (0, [])
        usage: dict[str, int] = some(message, "usage", {})
        if usage:
            prompt = usage["input"] + usage["cacheRead"] + usage["cacheWrite"]
            yield message["model"], (prompt, added)
            added = []
        if message:
            added.append(plain(message["role"], some(message, "content", "")))


def claude_code_steps(path: Path) -> Iterator[tuple[str, Step]]:
    added: list[BaseMessage] = []
    seen = ""
    for line in read_lines(path):
        message = line.get("message")
        if line.get("isSidechain") or line.get("type") not in {"user", "assistant"} or not message:
            continue
        usage: dict[str, int] = some(message, "usage", {})
        if usage and message["id"] != seen:
            seen = message["id"]
            kinds_of_input = (
                "input_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
            )
            yield message["model"], (sum(usage.get(key, 0) for key in kinds_of_input), added)
            added = []
        added.append(plain(message["role"], message["content"]))


def mini_steps(path: Path) -> Iterator[tuple[str, Step]]:
    added: list[BaseMessage] = []
    session = json.loads(path.read_text(encoding="utf-8"))
    for message in session["messages"]:
        response: dict[str, Any] = some(some(message, "extra", {}), "response", {})
        if response.get("usage"):
            yield response["model"], (response["usage"]["prompt_tokens"], added)
            added = []
        calls = [
            {"type": "tool_use", "name": function["name"], "input": function["arguments"]}
            for function in (call["function"] for call in some(message, "tool_calls", []))
        ]
        added.append(plain(message["role"], [message["content"] or "", *calls]))


def plain(role: str, content: Any) -> BaseMessage:
    """A LangChain message with the blocks of a recorded one."""
    blocks: list[Any] = (
        [content] if isinstance(content, str) else [standard(block) for block in content]
    )
    if role == "assistant":
        return AIMessage(blocks)
    if role in {"tool", "toolResult"} or any(
        not isinstance(block, str) and block["type"] == "tool_result" for block in blocks
    ):
        return ToolMessage(blocks, tool_call_id="x")
    return HumanMessage(blocks)


def standard(block: Any) -> Any:
    if not isinstance(block, str) and block.get("type") == "toolCall":
        return {"type": "tool_use", "name": block["name"], "input": block["arguments"]}
    return block


def reported(shared: Path) -> list[dict[str, Any]]:
    raw = shared / "transcripts/raw"
    sessions = [pi_steps(path) for path in sorted((raw / "pi").glob("*.jsonl"))]
    sessions += [claude_code_steps(path) for path in sorted((raw / "claude-code").glob("*.jsonl"))]
    sessions += [mini_steps(path) for path in sorted((raw / "mini-swe-agent").glob("*.json"))]
    pairs: dict[str, list[tuple[int, int]]] = {}
    for steps in sessions:
        before = 0
        for model, (prompt, added) in steps:
            counted = sum(count_each(added))
            if before and counted and 0 < prompt - before < 50_000:
                pairs.setdefault(model, []).append((prompt - before, counted))
            before = prompt
    return [summary(model, steps) for model, steps in sorted(pairs.items())]


def summary(model: str, steps: list[tuple[int, int]]) -> dict[str, Any]:
    ratio = [grown / counted for grown, counted in steps if counted > 300]
    low, middle, high = statistics.quantiles(ratio, n=4)
    return {"model": model, "steps": len(steps), "median": round(middle, 3),
            "quartiles": f"{low:.2f}-{high:.2f}",
            "total": round(sum(g for g, _ in steps) / sum(c for _, c in steps), 3)}  # fmt: skip


# --- speed -----------------------------------------------------------------------------------


def speed(shared: Path) -> list[dict[str, Any]]:
    count_text("load the vocabulary first")
    table: list[dict[str, Any]] = []
    cases = {kind: "".join(pieces(texts)) for kind, texts in kinds(shared).items()}
    cases["one character, 1,000,000 times"] = "a" * 1_000_000
    cases["'-' 1,000,000 times"] = "-" * 1_000_000
    for kind, text in cases.items():
        seconds = best(lambda text=text: count_text(text))
        table.append({"kind": kind, "MB/s": round(len(text.encode()) / 1e6 / seconds, 1)})
    small = [HumanMessage("word " * 50) for _ in range(1_000)]
    table.append({"kind": "1,000 messages of 50 words, ms", "MB/s": None,
                  "ms": round(best(lambda: count_messages(small)) * 1000, 2)})  # fmt: skip
    return table


def best(function: Any) -> float:
    times: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    root = Path(__file__).resolve().parents[1]
    parser.add_argument("--shared", type=Path, default=root.parent / "shared")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not (options.shared / "transcripts").is_dir():
        parser.error(f"no transcripts under {options.shared}; pass --shared <folder>")
    report = {
        "over the truth": by_kind(options.shared),
        "reported by the provider over ours": reported(options.shared),
        "speed": speed(options.shared),
    }
    if options.json:
        print(json.dumps(report, ensure_ascii=False, indent=1))
        return
    for title, table in report.items():
        print(f"\n{title}")
        for row in table:
            print(
                "  "
                + "  ".join(f"{key}: {value}" for key, value in row.items() if value is not None)
            )


if __name__ == "__main__":
    main()
