"""What a tool, a model or a user may have put into a ledger to harm whoever looks at it."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

TAGS = (
    "<script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 1'>",
    "<svg/onload=window.harmed=1>",
    "<a href='javascript:window.harmed=1'>click</a>",
    "</pre></article><iframe srcdoc='<script>parent.harmed=1</script>'></iframe>",
    "<div hx-get='/elsewhere' hx-trigger='load' hx-on:load='window.harmed=1'>x</div>",
    "{{ 7 * 7 }} {% raw %} ${7*7} <!-- --> ]]> &lt;b&gt;",
    "\"' onfocus=window.harmed=1 autofocus x='",
)
HIDDEN = (
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07",
    "nul \x00 and half \ud83d a pair",
    "user\u202egpj.exe \u2066isolated \u200bzero\ufeff",
)
TEXT = "\n".join([*TAGS, *HIDDEN])


def messages() -> list[BaseMessage]:
    """Return a conversation in which every field is hostile."""
    call = {"name": TAGS[1], "args": {TAGS[0]: TEXT, "path": f"src/{TAGS[2]}.py"}, "id": TAGS[3]}
    touched = {
        "name": "write_file",
        "args": {"file_path": f"src/{TAGS[0]}.py", "content": TEXT},
        "id": "w1",
    }
    return [
        HumanMessage(f"Always do this: {TEXT}", id=TAGS[0]),
        AIMessage(f"I decided to use {TAGS[1]} because of {TAGS[2]}.\n{TEXT}",
                  tool_calls=[call, touched], id="a1"),
        ToolMessage(TEXT, tool_call_id=TAGS[3], name=TAGS[1], status="error", id="r1"),
        ToolMessage("wrote it", tool_call_id="w1", name="write_file", id="r2"),
        AIMessage([{"type": "thinking", "thinking": TEXT}, TEXT], id="a2"),
    ]  # fmt: skip
