"""Known faults of compactions, with the same inputs for langledger and its peers.

    python benchmarks/faults.py [--database-url DSN]

Each input is a small history that broke somebody's compaction; the number is that of the class
in docs/reference/faults.md. A cell says what came out: what the model would have been sent is
checked, not what anybody claims. The peers' model writes a fixed text that names no task, so what
is there is there whatever a model writes. `pip install deepagents langmem` to have their columns.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from peers import Writer, sides

from langledger import Ledger
from langledger.compaction.validity import provider_problems
from langledger.tokens import count_message

WINDOW = 8_000
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
WELL = "The assistant ran the steps the user had asked for; all went well."
TASK = "Port the billing service to the new API and keep invoice 40417 as it is."


def tokens(messages: Sequence[BaseMessage]) -> int:
    return sum(map(count_message, messages))


def turn(n: int, text: str = "log line\n", times: int = 100) -> list[BaseMessage]:
    call = {"name": "bash", "args": {"command": f"run step {n}"}, "id": f"c{n}"}
    return [
        AIMessage(f"Step {n}.", tool_calls=[call], id=f"a{n}"),
        ToolMessage(text * times, tool_call_id=f"c{n}", id=f"t{n}"),
    ]


def asked(text: str = TASK, name: str = "task") -> HumanMessage:
    return HumanMessage(text, id=name)


def long_task(turns: int = 40) -> list[BaseMessage]:
    return [asked(), *(m for n in range(turns) for m in turn(n))]


def live(side: Any, messages: list[BaseMessage]) -> list[list[BaseMessage]]:
    """Return the view of each call."""
    ends = [n for n, m in enumerate(messages) if n and isinstance(m, AIMessage)]
    return [side.view(messages[:end]) for end in [*ends, len(messages)]]


def fault_pairs(make: Callable[..., Any]) -> str:
    calls = [{"name": "bash", "args": {"command": str(n)}, "id": f"p{n}"} for n in range(20)]
    results = [ToolMessage("x " * 60, tool_call_id=c["id"], id=c["id"]) for c in calls]
    again = {"name": "bash", "args": {"command": "again"}, "id": "p3"}
    messages = [
        *long_task(20),
        AIMessage("", tool_calls=calls, id="many"),
        *reversed(results),
        AIMessage("", tool_calls=[again], id="again"),
        ToolMessage("y " * 60, tool_call_id="p3", id="again-result"),
        *(m for n in range(50, 62) for m in turn(n)),
    ]
    bad = [p for view in live(make(), messages) for p in provider_problems(view)]
    return f"{len(bad)} refusals" if bad else "valid"


def fault_missing_result(make: Callable[..., Any]) -> str:
    messages = [m for m in long_task() if m.id != "t37"]
    bad = [p for view in live(make(), messages) for p in provider_problems(view)]
    return f"{len(bad)} refusals" if bad else "valid"


def fault_task_lost(make: Callable[..., Any]) -> str:
    views = live(make(), long_task(60))
    lost = sum(TASK not in str(view) for view in views)
    return f"gone in {lost} of {len(views)} calls" if lost else "there in every call"


def fault_task_unseen(make: Callable[..., Any]) -> str:
    writer = Writer(answer=WELL)
    live(make(writer), long_task(60))
    if not writer.sent:
        return "no model was asked"
    unseen = sum(TASK not in str(sent) for sent in writer.sent)
    return f"not in {unseen} of {len(writer.sent)} prompts" if unseen else "in every prompt"


def fault_bad_summary(answer: Any) -> Callable[[Callable[..., Any]], str]:
    def fault(make: Callable[..., Any]) -> str:
        views = live(make(Writer(answer=answer)), long_task(40))
        kept = all("run step 0" in str(view) or TASK in str(view) for view in views)
        bad = isinstance(answer, str) and answer.strip() and answer in str(views[-1])
        if bad:
            return "the bad text stands for the history"
        return "replaced, the task is there" if kept else "neither task nor first step in view"

    return fault


def fault_late_reminders(make: Callable[..., Any]) -> str:
    messages = [SystemMessage("You are careful.", id="s"), *long_task(2)]
    for n in range(60):
        messages += [SystemMessage(f"Reminder {n}: " + "mind it " * 25, id=f"r{n}")]
        messages += turn(100 + n, times=30)
    views = live(make(), messages)
    systems = max(sum(isinstance(m, SystemMessage) for m in v) for v in views)
    rules = sum("You are careful." not in str(v) for v in views)
    over = sum(tokens(v) > WINDOW for v in views)
    return f"{systems} system messages at most; rules lost in {rules}, over the window {over}"


def fault_tail_too_large(make: Callable[..., Any]) -> str:
    views = live(make(), [asked(), *(m for n in range(12) for m in turn(n, times=900))])
    over = sum(tokens(view) > WINDOW for view in views)
    return f"{over} of {len(views)} calls over the window" if over else "every call fits"


def fault_huge_message(make: Callable[..., Any]) -> str:
    views = live(make(), [*long_task(5), *turn(90, times=20_000)])
    return "fits" if tokens(views[-1]) <= WINDOW else f"{tokens(views[-1]):,} tokens sent"


def fault_chinese(make: Callable[..., Any]) -> str:
    messages = [asked("请修复登录模块。")]
    for n in range(60):
        messages += turn(n, text="读取文件并检查数据库连接是否正常，然后继续。", times=12)
    most = max(map(tokens, live(make(), messages)))
    return f"{100 * most / WINDOW:.0f} % of the window at most"


def fault_arguments(make: Callable[..., Any]) -> str:
    messages: list[BaseMessage] = [asked()]
    for n in range(12):
        call = {"name": "write", "args": {"text": "x = 1\n" * 500}, "id": f"w{n}"}
        block = {"type": "tool_use", "id": f"w{n}", "name": "write", "input": call["args"]}
        messages.append(AIMessage([block], tool_calls=[call], id=f"a{n}"))
        messages.append(ToolMessage("ok", tool_call_id=f"w{n}", id=f"t{n}"))
    most = max(map(tokens, live(make(), messages)))
    return f"{100 * most / WINDOW:.0f} % of the window at most"


def fault_every_turn(make: Callable[..., Any]) -> str:
    writer = Writer(answer=WELL)
    live(make(writer), [asked("word " * 5_400), *(m for n in range(30) for m in turn(n, times=6))])
    return f"{len(writer.sent)} summaries in 30 calls"


def fault_braces(make: Callable[..., Any]) -> str:
    try:
        side = make(Writer(answer=WELL), summary_prompt='Answer as {"goal": "..."}:')
        side.view([asked()])
    except TypeError:
        return "no such option"
    live(side, long_task(40))
    return "works"


def fault_restart(make: Callable[..., Any]) -> str:
    """The peers keep what they know in the agent's state, so they are given it again."""
    messages = long_task(40)
    side = make()
    first = live(side, messages)[-1]
    return (
        "the same"
        if [m.content for m in side.view(messages)] == [m.content for m in first]
        else ("another view")
    )


def fault_image(make: Callable[..., Any]) -> str:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    task = HumanMessage([{"type": "text", "text": TASK}, image], id="task")
    shown = str(live(make(), [task, *long_task(60)[1:]])[-1])
    if PIXEL in shown:
        return "in view"
    return "named, with its size and entry" if "[image" in shown else "gone without a trace"


def fault_stream(make: Callable[..., Any]) -> str:
    def agent(_: MessagesState) -> dict[str, Any]:
        live(make(Writer(answer=WELL)), long_task(60))
        return {"messages": [AIMessage("All done.")]}

    graph = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent").compile()
    told = graph.stream({"messages": [HumanMessage("Go on.")]}, stream_mode="messages")
    leaked = sum(WELL in str(message.content) for message, _ in told)
    return f"{leaked} summaries streamed to the user" if leaked else "none streamed"


def fault_deleted(make: Callable[..., Any]) -> str:
    """What a view began with is taken out of the history, as an application may at any time."""
    messages = long_task(40)
    side = make()
    before = {message.id for message in live(side, messages)[-1]}
    left = [messages[0], *messages[11:]]
    after = {message.id for message in side.view(left)}
    due = [message for message in left if message.id in before]
    lost = sum(message.id not in after for message in due)
    return f"{lost} of {len(due)} messages lost" if lost else "every message in view stays"


FAULTS: dict[str, Callable[[Callable[..., Any]], str]] = {
    "1 parallel calls answered in any order, an id that comes again": fault_pairs,
    "1 a result that never came": fault_missing_result,
    "9 sixty reminders in the middle": fault_late_reminders,
    "12 the task, in the calls": fault_task_lost,
    "12 the task, in what the summariser reads": fault_task_unseen,
    "13 an empty summary": fault_bad_summary(""),
    "13 an error text for a summary": fault_bad_summary("Error: 429 Too Many Requests"),
    "13 a refusal for a summary": fault_bad_summary("I'm sorry, I can't help with that."),
    "13 the provider is down": fault_bad_summary(RuntimeError("503")),
    "15 one message larger than the window": fault_huge_message,
    "22 braces in the prompt": fault_braces,
    "23 an image that left the view": fault_image,
    "27 Chinese": fault_chinese,
    "27 large arguments in content blocks": fault_arguments,
    "28 the kept tail is over the threshold": fault_tail_too_large,
    "28 what cannot shrink is near the threshold": fault_every_turn,
    "38 the view after a second look": fault_restart,
    "41 summaries in the stream of messages": fault_stream,
    "43 ten early messages taken out of the history": fault_deleted,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database-url")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # run by root, the embedded server is another user
        data_dir = None if options.database_url else Path(folder) / "data"
        with Ledger.from_conn_string(options.database_url, data_dir=data_dir) as ledger:
            makers = sides(ledger, WINDOW)
            print(f"| | {' | '.join(makers)} |\n|---|{'---|' * len(makers)}")
            for name, fault in FAULTS.items():
                cells = [outcome(fault, make) for make in makers.values()]
                print(f"| {name} | {' | '.join(cells)} |", flush=True)


def outcome(fault: Callable[..., str], make: Callable[..., Any]) -> str:
    try:
        return fault(make)
    except Exception as error:  # noqa: BLE001 - it ended the agent's run, which is the finding
        return f"**{type(error).__name__}** ends the run"


if __name__ == "__main__":
    main()
