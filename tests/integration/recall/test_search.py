"""Finding things again on a real PostgreSQL; the inputs are faults of other systems."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph

from langledger import AsyncLedger, Ledger
from langledger.database import Database
from langledger.entries.log import thread_key
from langledger.errors import ConfigurationError, DatabaseError
from langledger.operations import Batch, Query, run
from langledger.recall.index import behind_query, missing_query
from langledger.replay.importing import import_file
from tests.support.words import NOTES


def texts(ledger: Ledger, query: str, **more: Any) -> list[str]:
    return [hit.text for hit in ledger.recall(query, thread_id="t", **more)]


def say(ledger: Ledger, *said: str, thread_id: str = "t", **more: Any) -> list[int]:
    return ledger.append(
        [HumanMessage(text) for text in said], thread_id=thread_id, **more
    ).entry_ids


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("how do we rotate the refresh tokens when login expires", 0),
        ("队列", 1),
        ("端口错配", 1),
        ("任务", 1),
        ("user", 2),
        ("getUser", 2),
        ("get_user_by_id", 2),
        ("html", 2),
        ("repository.py", 2),
        ("src/users/repository.py", 2),
        ("ERR_4F7Q", 3),
        ("docker 部署", 4),
        ("go 部署 deployment", 4),
    ],
)
def test_what_was_said_is_found(noted: Ledger, query: str, place: int) -> None:
    assert texts(noted, query)[:1] == [NOTES[place]]


def test_the_exact_compound_stands_first(ledger: Ledger) -> None:
    say(ledger, "get the user by id", "getUserById", "get_user_by_id", "by user id get")
    assert texts(ledger, "get_user_by_id", k=2) == ["get_user_by_id", "getUserById"]


def test_what_is_recorded_is_found_at_once_and_once(ledger: Ledger) -> None:
    for n in range(5):
        say(ledger, f"the value of item-{n} is {n * 7}")
        assert texts(ledger, f"item-{n}", k=1) == [f"the value of item-{n} is {n * 7}"]
    assert len(texts(ledger, "value item", k=50)) == 5


def test_entries_from_before_the_index_are_found(ledger: Ledger) -> None:
    say(ledger, *NOTES)
    ledger.recall("x", thread_id="t")
    for table in ("recall_unit", "recall_space"):
        ledger.executor.execute(Batch([Query(f"DELETE FROM {{schema}}.{table}")]))
    assert texts(ledger, "ERR_4F7Q")[0] == NOTES[3]


def test_a_draft_is_found_once_it_is_a_message(ledger: Ledger) -> None:
    say(ledger, "first words")
    keys = "tenant = 'default' AND seq = %(seq)s"
    seq = say(ledger, "draft-words-77")[0]
    update = "UPDATE {schema}.entry SET kind = %(kind)s WHERE " + keys
    ledger.executor.execute(Batch([Query(update, {"kind": "draft", "seq": seq})]))
    say(ledger, "later words")
    assert "draft-words-77" not in texts(ledger, "draft-words-77 words")
    ledger.executor.execute(Batch([Query(update, {"kind": "message", "seq": seq})]))
    assert texts(ledger, "draft-words-77", k=1) == ["draft-words-77"]


def test_what_a_checkpointer_seals_is_not_indexed(ledger: Ledger) -> None:
    seq = say(ledger, "sealed-words-77")[0]
    seal = "UPDATE {schema}.entry SET kind = 'sealed' WHERE seq = %(seq)s"
    ledger.executor.execute(Batch([Query(seal, {"seq": seq})]))
    assert texts(ledger, "sealed-words-77") == []


def test_values_between_messages_leave_the_index_whole(ledger: Ledger) -> None:
    class Noted(MessagesState):
        note: str

    def answer(state: Noted) -> Any:
        turn = len(state["messages"])
        return {"messages": [AIMessage(f"answer-{turn}")], "note": f"marginalia {turn} " * 60}

    builder = StateGraph(Noted).add_node("llm", answer).add_edge(START, "llm")
    graph = builder.compile(checkpointer=ledger.checkpointer())
    for turn in range(4):
        graph.invoke({"messages": [("user", f"turn {turn}")]}, {"configurable": {"thread_id": "t"}})
        assert texts(ledger, f"answer-{2 * turn + 1}", k=1) == [f"answer-{2 * turn + 1}"]
    assert texts(ledger, "marginalia") == []
    done = ledger.executor.execute(Batch([Query("SELECT done::text FROM {schema}.recall_space")]))
    assert done == [[{"done": "{[1,9)}"}]]
    missing = missing_query("default", thread_key("default", "t"))
    assert ledger.executor.execute(Batch([missing, behind_query("default")])) == [[], []]


def test_what_is_deleted_is_not_found(ledger: Ledger) -> None:
    say(ledger, *NOTES)
    assert texts(ledger, "ERR_4F7Q") != []
    ledger.checkpointer().delete_thread("t")
    assert texts(ledger, "ERR_4F7Q") == []
    left = ledger.executor.execute(Batch([Query("SELECT 1 FROM {schema}.recall_unit")]))[0]
    assert left == []
    say(ledger, "a new beginning with ERR_4F7Q")
    assert texts(ledger, "ERR_4F7Q") == ["a new beginning with ERR_4F7Q"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("acme", "acme-corp"), ("john_doe", "john-doe"), ("%", "a"), ("foo", "foobar")],
)
def test_tenants_and_threads_find_their_own(ledger: Ledger, one: str, other: str) -> None:
    for name in (one, other):
        say(ledger.for_tenant(name), f"secret of {name} key-1", thread_id=name)
        say(ledger, f"thread {name} key-1", thread_id=name)
    for name in (one, other):
        mine = ledger.for_tenant(name)
        assert [hit.text for hit in mine.recall("key-1")] == [f"secret of {name} key-1"]
        assert mine.recall("key-1", thread_id=f"{name}x") == []
        found = ledger.recall("key-1", thread_id=name)
        assert [hit.text for hit in found] == [f"thread {name} key-1"]


def test_all_threads_of_a_tenant_are_searched(ledger: Ledger) -> None:
    for n in range(3):
        say(ledger, f"thread {n} on key-1", thread_id=f"t{n}")
    assert {hit.thread_id for hit in ledger.recall("key-1")} == {"t0", "t1", "t2"}


@pytest.mark.parametrize("query", ["", "  ", "?!… --", "的", "\x00", "\ud800", "the of and"])
def test_a_question_without_words_finds_nothing_and_says_why(noted: Ledger, query: str) -> None:
    found = noted.search(query, thread_id="t")
    assert found.hits == []
    assert not found.gate.inject
    assert "no word" in found.gate.reasons[0]


@pytest.mark.parametrize(
    "query",
    [
        "'; DROP TABLE entry; --",
        "a & b | !c <-> d:*",
        "\\ ' \" %s %(x)s {schema} :*AB",
        "x",
        "tokens " * 20_000,
        " ".join(f"word{n}" for n in range(3000)),
        "队列" * 50_000,
    ],
)
def test_any_question_is_answered(noted: Ledger, query: str) -> None:
    noted.search(query, thread_id="t")
    noted.search(query)
    assert noted.count("t") == len(NOTES)


def test_any_text_is_indexed(ledger: Ledger) -> None:
    say(ledger, "a\x00b", "lone \ud800 half", "'quoted' \\ back", "x" * 100_000, "🙂", "")
    assert texts(ledger, "quoted")[0] == "'quoted' \\ back"
    assert texts(ledger, "lone") != []


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"colour": "red"}, "unknown filter 'colour'; the known ones are role"),
        ({"metadata.": "1"}, "unknown filter"),
        ({"colour": {"$gte": 1}}, "unknown filter 'colour'"),
        ({"entry_id": [1, "2"]}, "filter 'entry_id' must be compared with a whole number"),
        ({"entry_id": {"$in": 1}}, "\\$in of filter 'entry_id' must have a list"),
        ({"role": 7}, "must be a non-empty string"),
        ({"entry_id": {"$near": 3}}, r"has '\$near'"),
        ({"entry_id": "3"}, "a whole number"),
        ({"created_at": "yesterday"}, "ISO"),
        (["role"], "must be a mapping"),
        ({"entry_id": {}}, r"is empty; use \$eq, \$ne"),
        ({"entry_id": {"$near": 3}}, r"'\$near'; use \$eq, \$ne"),
        ({"entry_id": 10**30}, "at most"),
        ({"entry_id": {"$gt": float("nan")}}, "a whole number"),
        ({"metadata.n": {"$gt": float("nan")}}, "JSON knows, not nan"),
        ({"metadata.n": [object()]}, "JSON knows, not a object"),
        ({"metadata.n": {"$in": 5}}, "must have a list"),
        ({"metadata.n": "half \ud800"}, "half of a surrogate pair"),
        ({"metadata.n": ["\x00"]}, "a NUL character"),
        ({1: 2}, "a filter's name must be"),
    ],
)
def test_a_wrong_filter_is_named(noted: Ledger, filters: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        noted.recall("tokens", thread_id="t", filter=filters)


@pytest.mark.parametrize(
    "arguments", [{"k": 0}, {"k": 10**9}, {"offset": -1}, {"k": "5"}, {"thread_id": ""}]
)
def test_wrong_arguments_are_named(noted: Ledger, arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        noted.recall("tokens", **{"thread_id": "t", **arguments})
    with pytest.raises(ConfigurationError, match="query must be a string"):
        noted.recall(None)  # type: ignore[arg-type] - that is the point


def test_numbers_are_compared_as_numbers(ledger: Ledger) -> None:
    for score in (2, 9, 10, 11, 100):
        say(ledger, f"the score is {score}", metadata={"score": score, "name": str(score)})
    found = texts(ledger, "score", k=50, filter={"metadata.score": {"$gte": 10}})
    assert sorted(found) == ["the score is 10", "the score is 100", "the score is 11"]
    assert texts(ledger, "score", filter={"metadata.name": {"$gte": 10}}) == []
    assert texts(ledger, "score", filter={"metadata.score": [9, 2, "x"]}, k=9) != []


def test_a_list_is_compared_whole_and_by_its_members(ledger: Ledger) -> None:
    for number, labels in enumerate([["a", "b"], ["b", 7], "a", [], None]):
        say(ledger, f"labelled {number}", metadata={"labels": labels})
    say(ledger, "labelled 5")

    def found(wanted: object) -> str:
        hits = texts(ledger, "labelled", k=50, filter={"metadata.labels": wanted})
        return "".join(sorted(hit[-1] for hit in hits))

    assert found("a") == found(["a"]) == "02"
    assert found(["a", "b"]) == found({"$in": ["a", "b"]}) == "012"
    assert found({"$eq": ["a", "b"]}) == "0"
    assert found({"$gte": 5}) == "1"
    assert found({"$ne": "a"}) == "1"
    assert found({"$eq": None}) == "4"
    assert found({"$eq": []}) == "3"


def test_filters(ledger: Ledger) -> None:
    call = {"id": "c", "name": "bash", "args": {"command": "cat src/app/login.py"}}
    ledger.append(
        [
            HumanMessage("You must keep login.py short"),
            AIMessage("Reading login", tool_calls=[call]),
            ToolMessage("def login(user): ...", tool_call_id="c", name="bash"),
        ],
        thread_id="t",
        task_id="7",
    )
    say(ledger, "login elsewhere", task_id="8")

    def entries(**filters: Any) -> list[int]:
        found = ledger.recall("login", thread_id="t", k=20, filter=filters)
        return sorted({hit.entry_id for hit in found})

    assert entries(role="tool") == [3]
    assert entries(role=["user", "assistant"]) == [1, 2, 4]
    assert entries(tag="requirement") == [1]
    assert entries(path="login.py") == [1, 2, 3]
    assert entries(path="app/login.py") == [2, 3]
    assert entries(path="ogin.py") == []
    assert entries(symbol="login", role="tool") == [3]
    assert entries(tool="bash", language="python") == [3]
    assert entries(task_id="8") == [4]
    assert entries(entry_id={"$gt": 1, "$lt": 4}) == [2, 3]
    assert entries(entry_id=[1, 4]) == entries(entry_id={"$in": [1, 4]}) == [1, 4]
    assert entries(created_at=["2100-01-01"]) == []
    assert entries(created_at={"$gte": "2100-01-01"}) == []


def test_pages_lose_nothing_and_repeat_nothing(ledger: Ledger) -> None:
    say(ledger, *(f"number {n} about the topic, with its own word w{n * 13}" for n in range(60)))
    pages = [texts(ledger, "topic", k=10, offset=at) for at in range(0, 70, 10)]
    assert [len(page) for page in pages] == [10] * 6 + [0]
    assert len({text for page in pages for text in page}) == 60


def test_hits_are_different_messages_however_long_one_is(ledger: Ledger) -> None:
    long = "\n\n".join(f"The harbour, the harbour of day {n}: {'stones ' * 90}" for n in range(90))
    say(ledger, long, *(f"Boat {n} lies somewhere near the harbour." for n in range(12)))
    pages = [ledger.recall("harbour", thread_id="t", k=5, offset=at) for at in (0, 5, 10)]
    found = [[hit.entry_id for hit in page] for page in pages]
    assert [len(set(page)) for page in found] == [5, 5, 3]
    assert sorted(chain(*found)) == list(range(1, 14))


def test_what_else_of_a_message_bears_on_the_question_is_shown_with_it(ledger: Ledger) -> None:
    plan = (
        "The pump of line 3 leaks.",
        "Nothing here. " * 60,
        "The pump of line 3 is replaced in May.",
    )
    say(ledger, "\n\n".join(plan), "The pump is blue.")
    first, second = ledger.recall("pump line 3", thread_id="t")
    assert (first.entry_id, first.parts, second.entry_id) == (1, (0, 2), 2)
    assert first.text == f"{plan[0]}\n…\n{plan[2]}"


def test_noise_and_instructions_are_kept_but_not_recalled(ledger: Ledger) -> None:
    ledger.append([SystemMessage("You know the harbour"), HumanMessage("ok thanks")], thread_id="t")
    assert texts(ledger, "harbour thanks") == []
    assert texts(ledger, "harbour", filter={"role": "system"}) == ["You know the harbour"]
    assert texts(ledger, "thanks", filter={"tag": "noise"}) == ["ok thanks"]


def test_a_memory_fed_back_stays_one(ledger: Ledger) -> None:
    say(ledger, "The release is on Friday the 13th")
    for n in range(5):
        said = texts(ledger, "release")[0]
        ledger.append([HumanMessage(said, id=f"again-{n}")], thread_id="t")
    hits = ledger.recall("release", thread_id="t")
    assert len(hits) == 1
    assert len({hits[0].entry_id, *hits[0].metadata["same_as"]}) == 6


def test_the_newer_statement_stands_first(ledger: Ledger) -> None:
    say(ledger, "My favourite player is Ronaldo", "The weather is fine")
    say(ledger, "My favourite player is Messi now")
    hits = ledger.recall("favourite player", thread_id="t")
    assert ["Messi" in hits[0].text, "Ronaldo" in hits[1].text] == [True, True]
    assert hits[1].metadata["superseded_by"] == hits[0].entry_id
    assert ledger.count("t") == 3


def test_an_old_requirement_is_not_buried(ledger: Ledger) -> None:
    say(ledger, "Requirement: invoices must never be sent without a tax number")
    ledger.executor.execute(
        Batch([Query("UPDATE {schema}.entry SET created_at = now() - interval '242 days'")])
    )
    say(ledger, *(f"talk {n}: invoices were sent again today by person {n}" for n in range(50)))
    found = texts(ledger, "may invoices be sent without a tax number?", k=3)
    assert any("must never" in text for text in found)


@pytest.mark.parametrize("query", ["hi", "PHRASE_THAT_DOES_NOT_APPEAR_QQQQ", "thanks!"])
def test_small_talk_and_unknown_words_inject_nothing(noted: Ledger, query: str) -> None:
    assert not noted.search(query, thread_id="t").gate.inject


def test_a_named_thing_is_injected(noted: Ledger) -> None:
    gate = noted.search("What was ERR_4F7Q about?", thread_id="t").gate
    assert gate.inject
    assert gate.confidence > 0.5
    assert gate.signals["coverage"] > 0.5


def test_explained(noted: Ledger) -> None:
    hit = noted.recall("getUserById in the repository", thread_id="t", explain=True)[0]
    assert any(reason.startswith("identifiers: getuserbyid") for reason in hit.reasons)
    assert {"words", "identifiers", "terms", "relevance", "decay", "importance"} <= {*hit.scores}
    assert noted.recall("getUserById", thread_id="t")[0].reasons == ()


def test_what_was_never_recalled(ledger: Ledger) -> None:
    say(ledger, *NOTES)
    ledger.recall("ERR_4F7Q", thread_id="t")
    never = {hit.text for hit in ledger.never_recalled("t")}
    assert NOTES[3] not in never
    assert NOTES[0] in never


def test_secrets_are_not_in_the_index(ledger: Ledger) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"
    say(ledger, f"密钥{key}是生产环境的")
    hit = ledger.recall("密钥 生产环境", thread_id="t")[0]
    assert key not in hit.text
    assert ledger.recall(key, thread_id="t") == [] or key not in str(
        ledger.recall(key, thread_id="t")
    )


def test_two_at_once_index_the_same_once(ledger: Ledger) -> None:
    say(ledger, *(f"line {n} about the topic w{n}" for n in range(100)))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: len(texts(ledger, "topic", k=200)), range(12)))
    assert found == [100] * 12


_TOLD = """
import sys
from langledger import Ledger
with Ledger.from_conn_string(sys.argv[1]) as ledger:
    for hit in ledger.recall("make twin topic", thread_id="t", k=20):
        print(hit.entry_id, hit.score, *hit.parts)
"""


def test_the_same_order_in_every_process_and_after_indexing_anew(dsn: str, ledger: Ledger) -> None:
    said = [HumanMessage(f"twin {n} of the topic") for n in range(8)]
    for n in range(8):
        call = {"name": "bash", "args": {"command": "make twin topic"}, "id": f"c{n}"}
        result = f"make twin: topic {n}" if n % 2 else "make twin: topic"
        said += [AIMessage("", tool_calls=[call]), ToolMessage(result, tool_call_id=f"c{n}")]
    ledger.append(said, thread_id="t")

    def told() -> list[str]:
        found = ledger.recall("make twin topic", thread_id="t", k=20)
        return [" ".join(map(str, (hit.entry_id, hit.score, *hit.parts))) for hit in found]

    first = told()
    assert len(first) > 8
    assert told() == first, "what was found was used, which is no reason to change"
    for table in ("recall_unit", "recall_space"):
        ledger.executor.execute(Batch([Query(f"DELETE FROM {{schema}}.{table}")]))
    assert told() == first
    other = subprocess.run(
        [sys.executable, "-c", _TOLD, dsn],
        env=os.environ | {"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.splitlines() == first


async def test_awaited(dsn: str) -> None:
    async with AsyncLedger.from_conn_string(dsn) as ledger:
        await ledger.append([HumanMessage(text) for text in NOTES], thread_id="t")
        hits = await ledger.recall("ERR_4F7Q", thread_id="t")
        assert hits[0].text == NOTES[3]
        assert (await ledger.search("ERR_4F7Q")).gate.inject
        assert NOTES[0] in {hit.text for hit in await ledger.never_recalled("t")}
        await ledger.flush()


def test_a_database_that_is_gone_is_one_clear_error(dsn: str) -> None:
    ledger = Ledger(Database(dsn, timeout=1))
    ledger.open()
    ledger.close()
    with pytest.raises(DatabaseError):
        run(ledger.recalling.index("t"), ledger.executor)


def test_a_turn_of_a_conversation_is_found_by_who_said_it_and_what_it_was_about(
    ledger: Ledger,
) -> None:
    said = [
        ("Ana", "I said yes to the job at the aquarium!"),
        ("Marek", "No way! And the flat, is it far from there?"),
        ("Ana", "Two rooms near the river."),
        ("Marek", "The oven broke, it cost me 640 euros."),
        ("Ana", "Poor you. Mine works."),
        ("Marek", "Do you cook at all?"),
        ("Ana", "Sometimes, on Sundays. It takes me an hour."),
    ]
    ledger.append([HumanMessage(text, name=name) for name, text in said], thread_id="t")
    assert texts(ledger, "What did Marek's oven cost?")[0] == "Marek: " + said[3][1]
    assert texts(ledger, "Where is Ana's flat?")[0] == "Ana: " + said[2][1]
    assert "Ana: " + said[6][1] in texts(ledger, "How often does Ana cook?")[:2]


def test_the_same_in_other_words_is_found_without_vectors(ledger: Ledger) -> None:
    asked = {
        "what did she buy": "I bought a kettle.",
        "which film did they see?": "We saw a movie about whales.",
        "how did he spend his youth": "Young people have it easy, he spent it at sea.",
        "what did you suggest": "I recommend the blue one.",
    }
    say(ledger, *asked.values(), "It rained.")
    assert [texts(ledger, query)[0] for query in asked] == list(asked.values())


def test_the_word_itself_stands_before_another_and_names_are_not_widened(ledger: Ledger) -> None:
    say(ledger, "A movie about boats.", "One.", "Two.", "A film about boats.")
    assert texts(ledger, "film")[:2] == ["A film about boats.", "A movie about boats."]
    assert texts(ledger, "film reel-7") == ["A film about boats."]


def test_an_answer_is_found_by_the_name_of_whom_it_answers(ledger: Ledger) -> None:
    talk = [
        HumanMessage("Good morning!", name="Noor"),
        AIMessage("The blue kettle is the best."),
        HumanMessage("And for me?", name="Piet"),
        AIMessage("The red kettle is the best."),
    ]
    ledger.append(talk, thread_id="t")
    (first, *_) = ledger.recall("Which kettle was best for Piet?", thread_id="t")
    assert first.entry_id == 4
    (first, *_) = ledger.recall("Which kettle was best for Noor?", thread_id="t")
    assert first.entry_id == 2


def test_what_was_said_on_a_day_is_found_by_the_day(ledger: Ledger) -> None:
    for day in range(1, 29):
        say(ledger, f"we looked at harbour {day}", metadata={"date": f"2023-05-{day:02}"})
    assert texts(ledger, "Which harbour was it on May 7th?")[0] == "we looked at harbour 7"
    assert texts(ledger, "5月21日看了哪个 harbour")[0] == "we looked at harbour 21"


def test_what_is_imported_has_the_time_it_was_said_at(ledger: Ledger) -> None:
    stamps = ["2023-05-07T10:00:00.000Z", "2023-12-21T10:00:00", "no time", 1683453600, None]
    messages = [
        HumanMessage(f"we looked at harbour {n}", response_metadata={"timestamp": stamp})
        for n, stamp in enumerate(stamps)
    ]
    ledger.append(messages, thread_id="t")
    hits = ledger.recall("Which harbour was it on May 7th?", thread_id="t")
    assert hits[0].text == "we looked at harbour 0"
    assert hits[0].metadata["said_at"] == "2023-05-07T10:00:00+00:00"
    decay = {hit.text[-1]: hit.scores["decay"] for hit in hits}
    assert decay["0"] == decay["1"] < decay["2"] == decay["3"] == decay["4"]


@pytest.mark.transcripts
def test_a_filter_on_time_means_when_it_was_said(ledger: Ledger, transcripts_dir: Path) -> None:
    [session] = import_file(ledger, transcripts_dir / "raw/codex/ai-recruitment.jsonl").sessions
    moments = {
        entry.entry_id: datetime.fromisoformat(entry.message.response_metadata["timestamp"])
        for entry in ledger.history(session.thread_id)
    }

    def found(**bounds: Any) -> set[int]:
        conditions = {f"${operator}": bound for operator, bound in bounds.items()}
        asked = {"created_at": conditions}
        hits = ledger.recall("file", thread_id=session.thread_id, k=500, filter=asked)
        return {hit.entry_id for hit in hits}

    everything, middle = found(lt="2025-11-01"), sorted(moments.values())[len(moments) // 2]
    assert len(everything) > 20
    assert found(gte="2025-11-01") == set()
    assert found(lt=middle) == {seq for seq in everything if moments[seq] < middle}
    assert found(gte=middle.replace(tzinfo=None)) == everything - found(lt=middle)
