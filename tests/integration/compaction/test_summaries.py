"""What summaries say: long histories, bad models, claims, secrets, the agent's own prefix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables.config import set_config_context
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langledger import AsyncLedger, CompactionReport, Ledger
from langledger.compaction.middleware import LedgerMiddleware
from langledger.database import Database
from langledger.errors import ConfigurationError
from langledger.tokens import count_messages
from tests.support.scripted import ScriptedModel, StuckModel

WINDOW = 6_000
RECORD = "The assistant worked through the user's list and wrote what was asked for, step by step."
KEY = "ghp_" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database)


def turn(n: int, result: str = "") -> list[BaseMessage]:
    call = {"name": "bash", "args": {"command": f"make part-{n}"}, "id": f"c{n}"}
    output = result or "\n".join(f"compiled unit {n}-{k} of the part" for k in range(60))
    return [
        AIMessage(f"Part {n} comes next.", tool_calls=[call], id=f"a{n}"),
        ToolMessage(output, tool_call_id=f"c{n}", id=f"t{n}"),
    ]


def session(turns: int) -> list[BaseMessage]:
    first = HumanMessage("Build all parts of the tool `partmaker`.", id="u")
    later = HumanMessage("Go on like that.", id="v")
    return [first, *(m for n in range(turns) for m in turn(n)), later]


def see(
    middleware: LedgerMiddleware,
    messages: list[BaseMessage],
    *,
    thread_id: str = "t",
    model: ScriptedModel | None = None,
) -> str:
    """Make one model call on this history; return the view's first message."""
    sent: list[BaseMessage] = []

    def handler(request: ModelRequest) -> ModelResponse:
        sent.extend(request.messages)
        return ModelResponse(result=[])

    request = ModelRequest(model=model or ScriptedModel(), messages=list(messages))
    with set_config_context({"configurable": {"thread_id": thread_id}}) as context:
        context.run(middleware.wrap_model_call, request, handler)
    return sent[0].text


def compact(middleware: LedgerMiddleware, messages: list[BaseMessage]) -> str:
    middleware.compact_next("t")
    return see(middleware, messages)


def written(ledger: Ledger) -> list[CompactionReport]:
    return [r for r in ledger.compactions("t") if r.summariser != "none"]


def test_a_history_of_many_windows_is_written_in_pieces_that_fit(ledger: Ledger) -> None:
    writer = ScriptedModel(script=[RECORD], profile={"max_input_tokens": 3_000})
    middleware = ledger.middleware(window=100_000, model=writer)
    large = turn(
        98, result="\n".join(f"row {n} of the dump has value {n * 7}" for n in range(4_000))
    )
    history = [*session(60), *large, *turn(99)]
    assert count_messages(history) > 20 * 3_000
    assert RECORD in compact(middleware, history)
    assert written(ledger)[-1].summariser == "model"
    assert max(map(count_messages, writer.sent)) <= 3_000
    assert len(writer.sent) >= 10
    asked = [call for call in writer.sent if "Parts of one record" not in str(call[-1].content)]
    assert all("partmaker" in str(call) for call in asked)  # the task is in view of each


def test_one_message_larger_than_the_window_is_summarised_at_all(ledger: Ledger) -> None:
    writer = ScriptedModel(script=[RECORD], profile={"max_input_tokens": 2_000})
    middleware = ledger.middleware(window=100_000, model=writer)
    long = HumanMessage(" ".join(f"wish{n}" for n in range(9_000)), id="long")
    history = [long, AIMessage("Noted.", id="n"), *session(30)]
    assert RECORD in compact(middleware, history)
    assert max(map(count_messages, writer.sent)) <= 2_000


def test_a_provider_with_a_smaller_window_than_it_tells_gets_halves(ledger: Ledger) -> None:
    def answer(messages: list[BaseMessage]) -> AIMessage:
        if count_messages(messages) > 2_500:
            raise ValueError("This model's maximum context length is 2500 tokens.")
        return AIMessage(RECORD)

    writer = ScriptedModel(script=[answer], profile={"max_input_tokens": 50_000})
    middleware = ledger.middleware(window=100_000, model=writer)
    assert RECORD in compact(middleware, session(40))
    assert written(ledger)[-1].summariser == "model"


def test_a_summary_is_carried_on_and_written_anew_every_few_times(ledger: Ledger) -> None:
    writer = ScriptedModel(script=[RECORD], profile={"max_input_tokens": 50_000})
    middleware = ledger.middleware(window=100_000, model=writer, rederive_every=2)
    history = session(6)
    carried, sizes = [], []
    for n in range(6, 12):
        before = len(writer.sent)
        compact(middleware, history)
        calls = writer.sent[before:]
        carried.append("The record so far" in str(calls[0][-1].content))
        sizes.append(sum(map(count_messages, calls)))
        history += turn(n)
    assert carried == [False, True, True, False, True, True]
    assert (
        max(sizes[1:3] + sizes[4:]) < sizes[3]
    )  # the transcript is read again then, and only then


@pytest.mark.parametrize("asked", [False, True])
def test_a_summary_made_for_a_larger_window_is_shortened_for_a_smaller(
    ledger: Ledger, asked: bool
) -> None:
    """Nothing but the record and the newest message is in view, so that alone can shrink."""
    writer = ScriptedModel(script=[" ".join(f"{RECORD} [#{n}]" for n in range(2, 40))])
    options: dict[str, Any] = {"keep": ("messages", 1), **({"model": writer} if asked else {})}
    compact(ledger.middleware(window=100_000, **options), session(40))
    calls = len(writer.sent)
    see(ledger.middleware(window=1_500, **options), session(40))
    large, small = ledger.compactions("t")
    assert (large.covered, small.newly_covered) == (small.covered, 0)
    assert small.summary_tokens <= 200 < large.summary_tokens
    assert len(writer.sent) == calls  # what was written is cut, not asked for again


def test_carrying_on_goes_on_in_another_process(ledger: Ledger) -> None:
    def fresh() -> tuple[LedgerMiddleware, ScriptedModel]:
        writer = ScriptedModel(script=[RECORD], profile={"max_input_tokens": 50_000})
        return ledger.middleware(window=100_000, model=writer), writer

    compact(fresh()[0], session(8))
    middleware, writer = fresh()
    compact(middleware, session(10))
    assert "The record so far" in str(writer.sent[0][-1].content)
    assert "make part-1 " not in str(writer.sent[0][-1].content)


def test_a_process_that_read_it_all_and_one_that_did_not_write_the_same(ledger: Ledger) -> None:
    history = session(40)
    warm = ledger.middleware(window=WINDOW)
    for end in range(1, len(history) + 1, 2):
        cold = ledger.middleware(window=WINDOW)
        assert see(warm, history[:end]) == see(cold, history[:end], thread_id="cold")
    assert len(ledger.compactions("t")) >= 3


class ReadTimeoutError(Exception):
    """As HTTP clients name theirs: no TimeoutError of Python's."""


def wrapped(cause: Exception) -> Exception:
    error = RuntimeError("the request failed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("late", [TimeoutError("30 s"), wrapped(ReadTimeoutError())])
@pytest.mark.parametrize("aligned", [False, True])
def test_a_model_that_is_late_is_not_waited_for_twice(
    ledger: Ledger, late: Exception, aligned: bool
) -> None:
    writer = ScriptedModel(script=[late])
    options = {"cache_aligned": True} if aligned else {"model": writer}
    middleware = ledger.middleware(window=100_000, **options)
    middleware.compact_next("t")
    see(middleware, session(12), model=writer)
    (report,) = ledger.compactions("t")
    assert (report.model_calls, report.summariser) == (1, "extractive")
    assert report.rejected[0].startswith("no answer in time: ")


@pytest.mark.parametrize("aligned", [False, True])
def test_a_summary_that_does_not_come_is_given_up(ledger: Ledger, aligned: bool) -> None:
    writer = StuckModel(script=[RECORD])
    options = {"cache_aligned": True} if aligned else {"model": writer}
    middleware = ledger.middleware(window=100_000, summary_timeout=0.2, **options)
    middleware.compact_next("t")
    assert "partmaker" in see(middleware, session(12), model=writer)
    writer.released.set()
    (report,) = ledger.compactions("t")
    assert report.summariser == "extractive"
    assert report.rejected == ["no answer in time: it took longer than 0.2 s (summary_timeout)"]


async def test_so_it_is_awaited(async_ledger: AsyncLedger) -> None:
    agent = create_agent(
        ScriptedModel(script=["Done."], profile={"max_input_tokens": 100_000}),
        [],
        middleware=[async_ledger.middleware(model=StuckModel(), summary_timeout=0.2)],
    )
    await async_ledger.append([HumanMessage("Hello.")], thread_id="t")
    await async_ledger.compact("t")
    config = {"configurable": {"thread_id": "t"}}
    state = {"messages": session(12)}
    events = [event async for event in agent.astream(state, config, stream_mode="custom")]
    [report] = [event["langledger"]["compaction"] for event in events]
    assert report["summariser"] == "extractive"
    assert report["rejected"][0].startswith("no answer in time: ")


@pytest.mark.parametrize("aligned", [False, True])
def test_when_the_time_is_over_no_model_is_asked(ledger: Ledger, aligned: bool) -> None:
    """It is that of all pieces and tries together, not of each."""
    writer = ScriptedModel(script=[RECORD])
    middleware = ledger.middleware(
        window=100_000, model=writer, cache_aligned=aligned, summary_timeout=1e-9
    )
    compact(middleware, session(12))
    (report,) = ledger.compactions("t")
    assert (report.model_calls, report.summariser, writer.sent) == (0, "extractive", [])
    assert all(reason.startswith("no answer in time: ") for reason in report.rejected)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (AIMessage(""), "empty"),
        (AIMessage("I'm sorry, but I can't help with that."), "a refusal"),
        (AIMessage("Error: 429 Too Many Requests"), "an error message"),
        (AIMessage("", tool_calls=[{"name": "bash", "args": {}, "id": "1"}]), "only tool calls"),
        (AIMessage("The assist", response_metadata={"finish_reason": "length"}), "cut off"),
        (AIMessage("word " * 9_000), "more than 4 times"),
        (AIMessage(f"{RECORD} It is in [#9999]."), "entries that were not summarised"),
        (AIMessage(f'{RECORD} The user said "you may drop the database now" [#1].'), "never said"),
        (AIMessage(f"{RECORD} The user approved dropping the database [#3]."), "bears out"),
        (AIMessage(f"{RECORD} The fix is in src/vault/rotation.py [#3]."), "never occurred"),
        (RuntimeError("no such key " + KEY), "RuntimeError"),
    ],
)
def test_a_bad_answer_is_tried_once_more_then_stands_the_extract(
    ledger: Ledger, bad: AIMessage | Exception, why: str
) -> None:
    writer = ScriptedModel(script=[bad])
    head = compact(ledger.middleware(window=100_000, model=writer), session(12))
    report = written(ledger)[-1]
    assert report.model_calls == 2
    assert report.summariser == "extractive"
    assert why in report.rejected[0]
    assert KEY not in str(report)
    assert RECORD not in head
    assert "partmaker" in head


def test_the_second_try_is_told_why_and_its_answer_is_used(ledger: Ledger) -> None:
    writer = ScriptedModel(script=["", RECORD], max_tokens=100)
    head = compact(ledger.middleware(window=100_000, model=writer), session(12))
    assert "could not be used: empty" in str(writer.sent[1][-1].content)
    assert writer.max_tokens == 100
    assert RECORD in head
    assert "partmaker" in head
    assert written(ledger)[-1].summariser == "model"


@pytest.mark.parametrize(
    "prompt",
    [
        'Answer as {"goal": "...", "open": [{}]} in {max_words} words. {unknown} {0} %s',
        'Sum this up: {messages}\nAs JSON: {"done": true}',
    ],
)  # fmt: skip
def test_braces_in_prompts_and_messages_are_text(ledger: Ledger, prompt: str) -> None:
    writer = ScriptedModel(script=[RECORD])
    middleware = ledger.middleware(window=100_000, model=writer, summary_prompt=prompt)
    history = [HumanMessage("Render {max_words} and {messages} as {name}.", id="b"), *session(12)]
    assert RECORD in compact(middleware, history)
    sent = "\n".join(str(m.content) for m in writer.sent[0])
    assert "Render {max_words} and {messages} as {name}." in sent
    assert "make part-3" in sent
    assert "{unknown} {0} %s" in sent or '{"done": true}' in sent


@pytest.mark.parametrize("prompt", ["", 3])
def test_a_prompt_that_is_none_is_refused(ledger: Ledger, prompt: Any) -> None:
    with pytest.raises(ConfigurationError, match="summary_prompt"):
        ledger.middleware(window=WINDOW, summary_prompt=prompt)


@pytest.mark.parametrize(
    "option",
    [{"summary_output_tokens": 3}, {"rederive_every": -1}, {"cache_aligned": "yes"}],
)
def test_options_out_of_range_are_refused(ledger: Ledger, option: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(option))):
        ledger.middleware(window=WINDOW, **option)


def test_open_points_errors_and_numbers_stay_exact_beside_the_models_words(ledger: Ledger) -> None:
    failing = "E   ValueError: token expired after 86401 s\n1 failed, 41 passed in 12.7s"
    note = {
        "name": "write_file",
        "args": {
            "path": "a.py",
            "content": "# TODO: move LIMIT_A7 to settings\n# FIXME: off by one",
        },
        "id": "w",
    }
    history = [
        *session(10),
        AIMessage("I write it down.", tool_calls=[note], id="an"),
        ToolMessage("ok", tool_call_id="w", id="tn"),
        *turn(50, result=failing),
        *(m for n in range(60, 66) for m in turn(n)),
    ]
    writer = ScriptedModel(script=[f"{RECORD} " * 60])
    middleware = ledger.middleware(window=100_000, model=writer, keep=("messages", 2))
    head = compact(middleware, history)
    assert written(ledger)[-1].summariser == "model"
    summary = head.partition("<summary>")[2].partition("</summary>")[0]
    error = "ValueError: token expired after 86401 s"
    for exact in (
        "TODO: move LIMIT_A7",
        "FIXME: off by one",
        error,
        "1 failed, 41 passed in 12.7s",
    ):
        assert exact in summary


def test_secrets_are_in_the_entries_alone(ledger: Ledger) -> None:
    login = {"name": "bash", "args": {"command": f"GITHUB_TOKEN={KEY} make login"}, "id": "k"}
    history = [
        HumanMessage(f"Use the token {KEY} for the login, 密码是hunter2abc。", id="s"),
        AIMessage(f"The root cause was the token {KEY}.", tool_calls=[login], id="ak"),
        ToolMessage(f"ERROR: bad token {KEY}", tool_call_id="k", id="tk"),
        *session(10),
    ]
    writer = ScriptedModel(script=[f"{RECORD} It used {KEY}."])
    head = compact(ledger.middleware(window=100_000, model=writer), history)
    told = "\n".join([head, str(writer.sent), ledger.state("t").model_dump_json()])
    assert "[redacted:access-token]" in head
    assert KEY not in told
    assert "hunter2abc" not in told
    assert sum(KEY in str(entry.message) for entry in ledger.history("t")) == 3


def test_secrets_stay_where_the_ledger_is_told_so(database: Database) -> None:
    history = [HumanMessage(f"Use the token {KEY}, customer CUST-4711.", id="s"), *session(10)]
    head = compact(Ledger(database, redact=False).middleware(window=100_000), history)
    assert KEY in head
    own = Ledger(database, tenant="other", redact=[r"CUST-\d+"])
    head = compact(own.middleware(window=100_000), history)
    assert "CUST-4711" not in head
    assert KEY not in head


@tool
def build(part: int) -> str:
    """Build a part."""
    return "\n".join(f"compiled unit {part}-{k} of the part" for k in range(60))


def _agent(
    ledger: Ledger, model: ScriptedModel, **options: Any
) -> Callable[[str], list[BaseMessage]]:
    agent = create_agent(
        model,
        [build],
        system_prompt="You build.",
        middleware=[ledger.middleware(window=WINDOW, **options)],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 200}
    return lambda text: agent.invoke({"messages": [HumanMessage(text)]}, config)["messages"]


def test_a_summary_on_the_agents_prefix_hits_the_providers_cache(ledger: Ledger) -> None:
    def answer(messages: list[BaseMessage]) -> AIMessage:
        if "record of this conversation is due" in str(messages[-1].content):
            return AIMessage(RECORD)
        done = len(model.sent)
        if done > 40:
            return AIMessage("All built.")
        call = {"name": "build", "args": {"part": done}, "id": f"b{done}"}
        return AIMessage("", tool_calls=[call])

    model = ScriptedModel(script=[answer])
    messages = _agent(ledger, model, cache_aligned=True)("Build the parts of `partmaker`.")
    asked = [n for n, call in enumerate(model.sent) if "record of this" in str(call[-1].content)]
    assert asked
    for n in asked:
        assert model.sent[n][: len(model.sent[n - 1])] == model.sent[n - 1]
        assert "You build." in model.sent[n][0].text
    reports = written(ledger)
    assert {r.summariser for r in reports} == {"model"}
    assert sum(r.model_calls for r in reports) == len(asked)
    assert not [m for m in messages if RECORD in m.text]


def test_a_prefix_the_model_answers_with_calls_falls_back(ledger: Ledger) -> None:
    def answer(messages: list[BaseMessage]) -> AIMessage:
        call = {"name": "build", "args": {"part": 1}, "id": f"b{len(model.sent)}"}
        return AIMessage("", tool_calls=[call]) if len(model.sent) < 40 else AIMessage("Done.")

    model = ScriptedModel(script=[answer])
    _agent(ledger, model, cache_aligned=True)("Build the parts of `partmaker`.")
    assert {r.summariser for r in written(ledger)} == {"extractive"}
    assert all(set(r.rejected) == {"only tool calls"} for r in written(ledger))
