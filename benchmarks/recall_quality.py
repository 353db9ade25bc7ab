"""How often a search finds the answer: ours and its peers on the same data in one run.

    python benchmarks/recall_quality.py ../shared --data-dir FOLDER [--embeddings local --store]

exact        300 questions about exact values in 4 sessions; the answer stands in the top 1, 3, 5,
             by category and by half of the history
longmemeval  3 haystacks of 40 sessions: any gold session first, every one in the top 5, 10
kdconv       75 Chinese dialogues in one thread: a turn that states the fact in the top 1, 5, 10;
             most of those turns name neither the entity nor the attribute
lines        commands, numbers and error lines of recorded agent sessions: the neighbours of a line
             and half of its words, without numbers, are the question; found: it is in the top 5;
             "told apart" are the questions that fewer than five other lines fit word for word

Peers: BM25 over messages (k1 1.2, b 0.75, words of letters and digits, CJK bigrams), PostgreSQL's
full text search over messages (plainto_tsquery, and its terms in OR), LangGraph's PostgresStore and
langmem's search tool on it, both with our local embedding model.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger import Ledger
from langledger.operations import Batch, Query
from langledger.recall import resolve
from langledger.replay.session import load_session

Search = Callable[[str, int], Sequence[tuple[int, str]]]  # question, k -> (message index, text)


@dataclass
class Asked:
    """A question, and what tells that a result answers it."""

    question: str
    answers: Callable[[Sequence[tuple[int, str]], int], bool]
    kind: str
    told_apart: bool = True
    half: str = ""


@dataclass
class Case:
    name: str
    messages: list[BaseMessage]
    asked: list[Asked]


def exact(shared: Path) -> Iterator[Case]:
    for session in json.loads((shared / "datasets/exact_recall.json").read_text()):
        messages = [_plain(m) for m in session["messages"]]
        asked = []
        for q in session["questions"]:
            parts = [part.split("=")[-1] for part in q["expected"].split("|")]
            half = "oldest half" if q["epoch"] < 5 else "newest half"
            asked.append(Asked(q["question"], _holds(parts), q["category"], half=half))
        yield Case(session["id"], messages, asked)


def _plain(m: dict[str, Any]) -> BaseMessage:
    content = m["content"]
    blocks = [] if isinstance(content, str) else content
    text = content if isinstance(content, str) else "\n".join(b.get("text", "") for b in blocks)
    if m["role"] == "toolResult":
        return ToolMessage(text, tool_call_id=m["toolCallId"], name=m["toolName"])
    if m["role"] == "user":
        return HumanMessage(text)
    calls = [
        {"id": b["id"], "name": b["name"], "args": b["arguments"]}
        for b in blocks
        if b["type"] == "toolCall"
    ]
    return AIMessage(text.strip(), tool_calls=calls)


def _holds(parts: Sequence[str]) -> Callable[[Sequence[tuple[int, str]], int], bool]:
    return lambda hits, k: any(all(part in text for part in parts) for _, text in hits[:k])


def longmemeval(shared: Path) -> Iterator[Case]:
    for line in (shared / "datasets/memory/longmemeval_s_3.jsonl").read_text().splitlines():
        record = json.loads(line)
        messages: list[BaseMessage] = []
        session_of: list[str] = []
        for session in record["sessions"]:
            for turn in session["turns"]:
                kind = HumanMessage if turn["role"] == "user" else AIMessage
                messages.append(kind(turn["content"]))
                session_of.append(session["id"])
        asked = [
            Asked(q["question"], _sessions(set(q["answer_session_ids"]), session_of), "question")
            for q in record["questions"]
        ]
        yield Case(record["id"], messages, asked)


def _sessions(
    gold: set[str], session_of: Sequence[str]
) -> Callable[[Sequence[tuple[int, str]], int], bool]:
    def answers(hits: Sequence[tuple[int, str]], k: int) -> bool:
        found = list(dict.fromkeys(session_of[index] for index, _ in hits))[:k]
        return gold <= set(found) if k > 1 else bool(gold & set(found))

    return answers


def kdconv(shared: Path) -> Iterator[Case]:
    messages: list[BaseMessage] = []
    gold: dict[tuple[str, str], set[int]] = defaultdict(set)
    for line in (shared / "datasets/memory/kdconv_zh.jsonl").read_text().splitlines():
        record = json.loads(line)
        for fact in record["facts"]:
            if fact["attribute"] != "Information" and fact["value"]:
                gold[fact["entity"], fact["attribute"]].add(len(messages) + fact["turn"])
        for m in record["messages"]:
            kind = HumanMessage if m["role"] == "user" else AIMessage
            messages.append(kind(m["content"]))
    asked = [
        Asked(f"{entity}的{attribute}是什么？", _turns(turns), "fact")
        for (entity, attribute), turns in gold.items()
    ]
    random.Random(7).shuffle(asked)
    yield Case("kdconv", messages, asked[:400])


def _turns(gold: set[int]) -> Callable[[Sequence[tuple[int, str]], int], bool]:
    return lambda hits, k: any(index in gold for index, _ in hits[:k])


_ERROR = re.compile(r"\b\w*(?:Error|Exception)\b: \S|^(?:error|fatal)\b.{8,}", re.MULTILINE)
_NUMBER = re.compile(r"\b\d{1,3}(?:,\d{3})+\b|\b\d+\.\d+\b|\b\d{3,}\b")


Line = tuple[str, str, str]  # question, answer, the line with what stands around it


def lines(shared: Path) -> Iterator[Case]:
    rng = random.Random(7)
    for path in sorted((shared / "transcripts").glob("*/*.jsonl")):
        if path.parent.name == "raw":
            continue
        messages = [one.message for one in load_session(path).messages]
        if 60 <= len(messages) <= 1500:
            yield Case(path.stem, messages, list(_asked_lines(messages, rng)))


def _asked_lines(messages: Sequence[BaseMessage], rng: random.Random) -> Iterator[Asked]:
    evicted = messages[: int(len(messages) * 0.8)]
    found: dict[str, list[Line]] = {"command": [], "error": [], "number": []}
    for message in evicted:
        for call in getattr(message, "tool_calls", ()):
            command = call["args"].get("command") or call["args"].get("cmd")
            if isinstance(command, str) and 12 <= len(command) <= 300:
                whole = f"{message.text[-200:]} {command}"
                found["command"].append((_said_before(message, command), command, whole))
        text = message.content if isinstance(message.content, str) else message.text
        rows = text.splitlines()
        for at, row in enumerate(rows):
            if not 12 <= len(row.strip()) <= 300:
                continue
            before, after = rows[max(0, at - 1) : at], rows[at + 1 : at + 2]
            line = (" ".join([*before, _cut(row), *after]), row.strip())
            if _ERROR.search(row):
                found["error"].append((*line, " ".join([*before, row, *after])))
            elif isinstance(message, ToolMessage) and _NUMBER.search(row):
                found["number"].append((*line, " ".join([*before, row, *after])))
    for kind, many in found.items():
        distinct: dict[tuple[str, str], Line] = {}
        for line in many:
            distinct.setdefault(line[:2], line)
        usable = [line for line in distinct.values() if len(line[0].split()) >= 4]
        for line in rng.sample(usable, min(8, len(usable))):
            question, answer, _ = line
            yield Asked(question[:400], _has_line(answer), kind, _fit(line, many) < 5)


def _fit(line: Line, many: Sequence[Line]) -> int:
    """Return how many other lines of the session have every word of a line's question."""
    words = set(line[0].split())
    return len({answer for _, answer, whole in many if words <= set(whole.split())} - {line[1]})


def _said_before(message: BaseMessage, command: str) -> str:
    words = command.split()
    return f"{message.text[-200:]} {' '.join(words[: max(2, len(words) // 2)])}"


def _cut(row: str) -> str:
    """Return a line without its numbers and the second half of its words."""
    words = _NUMBER.sub("", row).split()
    return " ".join(words[: max(3, (len(words) + 1) // 2)])


def _has_line(answer: str) -> Callable[[Sequence[tuple[int, str]], int], bool]:
    wanted = " ".join(answer.split())
    return lambda hits, k: any(wanted in " ".join(text.split()) for _, text in hits[:k])


# --- searchers -----------------------------------------------------------------------------


def text_of(message: BaseMessage) -> str:
    calls = [
        json.dumps(call["args"], ensure_ascii=False) for call in getattr(message, "tool_calls", ())
    ]
    return "\n".join([message.text, *calls])


def ours(ledger: Ledger, case: Case) -> Search:
    thread = f"{case.name}"
    ids = ledger.append(case.messages, thread_id=thread, from_start=True).entry_ids
    place: dict[int, int] = {}
    for index, entry in enumerate(ids):
        place.setdefault(entry, index)
    ledger.search("warm", thread_id=thread)
    return lambda question, k: [
        (place[hit.entry_id], hit.text)
        for hit in ledger.search(question, thread_id=thread, k=k).hits
    ]


def bm25(case: Case) -> Search:
    texts = [text_of(message) for message in case.messages]
    counts = [Counter(_tokens(text)) for text in texts]
    lengths = [sum(count.values()) for count in counts]
    average = sum(lengths) / len(lengths)
    frequency = Counter(term for count in counts for term in count)

    def search(question: str, k: int) -> list[tuple[int, str]]:
        scores: dict[int, float] = defaultdict(float)
        for term in set(_tokens(question)) & frequency.keys():
            n = frequency[term]
            weight = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            for index, count in enumerate(counts):
                if term in count:
                    tf = count[term]
                    norm = tf + 1.2 * (0.25 + 0.75 * lengths[index] / average)
                    scores[index] += weight * tf * 2.2 / norm
        best = sorted(scores, key=lambda index: (-scores[index], index))[:k]
        return [(index, texts[index]) for index in best]

    return search


def _tokens(text: str) -> Iterator[str]:
    for word in re.findall(r"[a-z0-9]+|[\u3400-\u9fff]+", text.lower()):
        if word.isascii():
            yield word
        else:
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))


def full_text(ledger: Ledger, case: Case, *, any_word: bool) -> Search:
    table = f"fts_{abs(hash(case.name)) % 10**8}"
    texts = [
        text_of(message).replace("\x00", " ").encode("utf-8", "replace").decode()
        for message in case.messages
    ]
    run_sql(
        ledger,
        f"CREATE TABLE IF NOT EXISTS {{schema}}.{table} (i int PRIMARY KEY, body text, "
        "words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED)",
    )
    run_sql(
        ledger,
        f"INSERT INTO {{schema}}.{table} SELECT ord - 1, left(body, 200000) FROM "
        "unnest(%(texts)s::text[]) WITH ORDINALITY AS t (body, ord) ON CONFLICT DO NOTHING",
        texts=texts,
    )
    query = "plainto_tsquery('english', %(q)s)"
    if any_word:
        query = f"replace({query}::text, ' & ', ' | ')::tsquery"
    sql = (
        f"SELECT i, body FROM {{schema}}.{table}, (SELECT {query} AS q) AS x "
        "WHERE words @@ q ORDER BY ts_rank(words, q) DESC, i LIMIT %(k)s"
    )
    return lambda question, k: [
        (row["i"], row["body"]) for row in run_sql(ledger, sql, q=question, k=k)
    ]


def postgres_store(dsn: str, case: Case, embed: Any) -> Iterator[tuple[str, Search]]:
    from langgraph.store.postgres import PostgresStore
    from langmem import create_search_memory_tool

    index = {"dims": len(embed.question("x")), "embed": _Adapter(embed), "fields": ["text"]}
    with PostgresStore.from_conn_string(dsn, index=index) as store:
        store.setup()
        namespace = ("bench", re.sub(r"\W", "_", case.name))
        if not store.search(namespace, limit=1):
            from langgraph.store.base import PutOp

            items = [(str(i), text_of(m)[:8000]) for i, m in enumerate(case.messages)]
            for at in range(0, len(items), 64):
                store.batch(
                    PutOp(namespace, key, {"text": text.replace("\x00", " ")})
                    for key, text in items[at : at + 64]
                    if text.strip()
                )

        def search(question: str, k: int) -> list[tuple[int, str]]:
            return [
                (int(item.key), item.value["text"])
                for item in store.search(namespace, query=question, limit=k)
            ]

        tool = create_search_memory_tool(namespace, store=store)

        def with_langmem(question: str, k: int) -> list[tuple[int, str]]:
            found = json.loads(tool.invoke({"query": question, "limit": k}))
            return [(int(item["key"]), item["value"]["text"]) for item in found]

        yield "PostgresStore", search
        yield "langmem search tool", with_langmem


class _Adapter(Embeddings):
    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder

    def embed_query(self, text: str) -> list[float]:
        return self._embedder.question(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.texts(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)


def run_sql(ledger: Ledger, text: str, **params: object) -> list[dict[str, Any]]:
    return ledger.executor.execute(Batch([Query(text, params)]))[0]


# --- report --------------------------------------------------------------------------------

SETS: dict[str, tuple[Callable[[Path], Iterator[Case]], tuple[int, ...], int]] = {
    "exact": (exact, (1, 3, 5), 5),
    "longmemeval": (longmemeval, (1, 5, 10), 100),
    "kdconv": (kdconv, (1, 5, 10), 10),
    "lines": (lines, (1, 3, 5), 5),
}


def groups(asked: Asked) -> list[str]:
    """Return what a question is counted under."""
    told_apart = ["told apart"] if asked.told_apart else []
    return ["all", asked.kind, *told_apart, *([asked.half] if asked.half else [])]


def score(
    case: Case, search: Search, cuts: Iterable[int], k: int, tally: Counter[tuple[str, int]]
) -> float:
    started = time.perf_counter()
    for asked in case.asked:
        hits = search(asked.question, k)
        for cut in cuts:
            good = asked.answers(hits, cut)
            for group in groups(asked):
                tally[group, cut] += good
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--embeddings", default="off")
    parser.add_argument(
        "--store", action="store_true", help="also PostgresStore and langmem (slow)"
    )
    parser.add_argument("--alone", action="store_true", help="without the peers")
    parser.add_argument("--cases", type=int, help="only the first cases of each set")
    parser.add_argument("--data-dir", type=Path, required=True)
    given = parser.parse_args()
    embedder = resolve(given.embeddings)
    with Ledger.from_conn_string(
        data_dir=given.data_dir, schema=f"quality_{given.embeddings}", embeddings=embedder
    ) as ledger:
        for name in given.sets:
            measure(name, ledger, given, embedder)


def measure(name: str, ledger: Ledger, given: argparse.Namespace, embedder: Any) -> None:
    make, cuts, k = SETS[name]
    tallies: dict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    seconds: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for case in islice(make(given.shared), given.cases):
        for asked in case.asked:
            totals.update(groups(asked))
        searchers: dict[str, Search] = {"langledger": ours(ledger, case)}
        if embedder is not None:
            ledger.flush()
        if not given.alone:
            searchers["BM25"] = bm25(case)
            searchers["PostgreSQL plainto"] = full_text(ledger, case, any_word=False)
            searchers["PostgreSQL OR"] = full_text(ledger, case, any_word=True)
        for label, search in searchers.items():
            seconds[label] += score(case, search, cuts, k, tallies[label])
        if given.store and embedder is not None:
            for label, search in postgres_store(ledger.dsn, case, embedder):
                seconds[label] += score(case, search, cuts, k, tallies[label])
    print(f"\n{name}: {totals['all']} questions, {dict(totals)}")
    for label, tally in tallies.items():
        print(f"  {label}, {1000 * seconds[label] / totals['all']:.1f} ms a question")
        for kind, n in sorted(totals.items()):
            shares = "  ".join(f"@{cut} {100 * tally[kind, cut] / n:5.1f}" for cut in cuts)
            print(f"    {kind:24} {shares}   of {n}", flush=True)


if __name__ == "__main__":
    main()
