"""Questions about long conversations: how often the turns that answer are among the first hits.

    python benchmarks/recall_turns.py ../shared --data-dir FOLDER [--embeddings local] [--part tune]

dialogues    2 dialogues of two named people, written for this benchmark (recall_turns.txt); a
             speaker is the ``name`` of the message
memorybank   11 people and their companion in 3 threads, day by day in turns, the speaker before the
             text; questions of the data set in the third person, evidence read by hand
memorybank_zh  the same of 8 people, in Chinese
people       the four other people of MemoryBank in one thread, with questions written for this
             benchmark (recall_people.txt)
longmemeval  3 haystacks of 40 sessions; evidence are the turns of the answer's sessions that have
             most words of the answer
kdconv       75 Chinese dialogues in one thread, facts that single turns state

Each set has a part to choose settings on and one that is only looked at. any@5: a turn that answers
is among the first 5 hits; frac@10 and all@10: how many of them are, and whether all are.

Beside ours: BM25 of the turns with their speakers, and the best published recipe: BM25 of stemmed
turns and of their neighbourhood, each over its maximum, 0.15 over the rank of the session, and with
a model the cosines of both; PostgreSQL's full text search for any word; with --store also
LangGraph's PostgresStore and langmem's search tool on it.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import snowballstemmer
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from recall_quality import Case as Messages
from recall_quality import full_text, postgres_store

from langledger import Ledger
from langledger.recall import Embedder, resolve

Search = Callable[[str, int], Sequence[int]]  # question, k -> turns, best first


@dataclass
class Turn:
    """What somebody said.

    Attributes:
        text: Without the speaker.
        role: ``user`` or ``assistant``; in a dialogue of people all are users.
        speaker: Name; empty for none.
        day: ISO date of the session; empty for none.
        session: Number within the case.
    """

    text: str
    role: str
    speaker: str = ""
    day: str = ""
    session: int = 0

    @property
    def said(self) -> str:
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass
class Case:
    """A conversation and its questions, each with the turns that answer."""

    name: str
    named: bool = False  # the speaker is the message's name, not a part of its text
    turns: list[Turn] = field(default_factory=list[Turn])
    asked: list[tuple[str, set[int]]] = field(default_factory=list[tuple[str, set[int]]])
    held_out: bool = False


# --- sets ----------------------------------------------------------------------------------


def dialogues(_: Path) -> Iterator[Case]:
    text = (Path(__file__).parent / "recall_turns.txt").read_text()
    for place, block in enumerate(re.split(r"^# ", text, flags=re.MULTILINE)[1:]):
        name, _, rest = block.partition("\n")
        said, _, asked = rest.partition("\n?\n")
        case = Case(name, named=True, held_out=place > 0)
        marks: dict[str, int] = {}
        day, session = "", 0
        for line in said.splitlines():
            if line.startswith("## "):
                day, session = line[3:], session + 1
                continue
            speaker, _, words = line.partition(": ")
            if marked := re.search(r" \[(\w+)\]$", words):
                marks[marked[1]] = len(case.turns)
                words = words[: marked.start()]
            case.turns.append(Turn(words, "user", speaker, day, session))
        for line in asked.splitlines():
            question, _, keys = line.partition(" | ")
            case.asked.append((question, {marks[key] for key in keys.split()}))
        yield case


_EVIDENCE = {
    "Emily": [[34], [40], [65], [10], [32], [52], [70]],
    "Frank": [[4], [30], [37], [94], [100], [50], [19]],
    "Lucy": [[6], [20, 22], [12], [28], [31, 47], [43], [12]],
    "Sunny": [[12], [8], [51], [38], [], [31], [55]],
    "John Zhang": [[8], [12, 14], [10], [18], [], [30], [32]],
    "Henry": [[2], [22], [25], [49], [62], [13], [35]],
    "Gary": [[12], [45], [53], [47], [32, 34], [21], [39]],
    "Jack": [[5], [5], [64], [22], [44], [37], [50]],
    "Susan": [[4], [4], [28], [20], [55]],
    "Luna": [[16], [38], [72], [69], [20]],
    "Leo": [[4], [34], [36], [41], [41], [47], [56]],
}  # turns that answer each probing question
_IN_CHINESE = {
    "张曼婷": "Emily", "王峰": "Frank", "郝明": "Henry", "姚国栋": "Gary",
    "曹志强": "Jack", "郑思雨": "Susan", "陆琳": "Luna", "焦彦": "Leo",
}  # fmt: skip
_THREADS = (("Emily", "Lucy", "John Zhang", "Jack"), ("Frank", "Henry", "Susan", "Leo"),
            ("Sunny", "Gary", "Luna"))  # fmt: skip


def memorybank(shared: Path) -> Iterator[Case]:
    people = _people(shared, "memorybank_en.jsonl")
    third = [(r"\bI'm\b", "{} is"), (r"\b(?:I|me)\b", "{}"), (r"\b(?:my|My)\b", "{}'s")]
    companion = [(r"\b[Yy]ou\b", "the companion")]
    yield from _threads("mb_en", people, third, companion, "Companion")


def memorybank_zh(shared: Path) -> Iterator[Case]:
    found = _people(shared, "memorybank_zh.jsonl")
    people = {_IN_CHINESE[name]: one for name, one in found.items() if name in _IN_CHINESE}
    yield from _threads("mb_zh", people, [("我", "{}")], [("你", "伴侣")], "伴侣")


def _people(shared: Path, name: str) -> dict[str, dict[str, Any]]:
    lines = (shared / "datasets/memory" / name).read_text().splitlines()
    return {record["id"].strip(): record for record in map(json.loads, lines)}


Rules = list[tuple[str, str]]


def _threads(
    prefix: str, people: dict[str, dict[str, Any]], third: Rules, companion: Rules, called: str
) -> Iterator[Case]:
    """Put people's days into threads in turns, and their questions into the third person."""
    for place, names in enumerate(_THREADS):
        case = Case(f"{prefix}_{place}", held_out=place > 0)
        index = _take_turns(case, people, names, called)
        for who in names:
            questions = people.get(who, {}).get("probing_questions", ())
            for question, gold in zip(questions, _EVIDENCE[who], strict=False):
                told = question.strip('"')
                for pattern, instead in [*third, *companion]:
                    told = re.sub(pattern, instead.format(people[who]["id"].strip()), told)
                if gold:
                    case.asked.append((told, {index[who, at] for at in gold}))
        yield case


def _take_turns(
    case: Case, people: dict[str, dict[str, Any]], names: Sequence[str], called: str
) -> dict[tuple[str, int], int]:
    """Put people's days into a thread, and return where each of their messages stands."""
    sessions: list[tuple[str, str, int]] = []  # day, person, turn
    for who in names:
        messages = people.get(who, {}).get("messages", ())
        sessions += [(m["ts"], who, at) for at, m in enumerate(messages)]
    index: dict[tuple[str, int], int] = {}
    numbers: dict[tuple[str, str], int] = {}
    for day, who, at in sorted(sessions):
        m = people[who]["messages"][at]
        name = people[who]["id"].strip() if m["role"] == "user" else called
        session = numbers.setdefault((day, who), len(numbers))
        index[who, at] = len(case.turns)
        case.turns.append(Turn(m["content"], m["role"], name, day, session))
    return index


def people(shared: Path) -> Iterator[Case]:
    """The four people without questions in the data set, with some written for it."""
    asked: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "recall_people.txt").read_text().splitlines():
        if line.startswith("# "):
            asked[line[2:]] = []
        else:
            asked[[*asked][-1]].append(line)
    case = Case("people")
    index = _take_turns(case, _people(shared, "memorybank_en.jsonl"), [*asked], "Companion")
    for who, lines in asked.items():
        for line in lines:
            question, _, places = line.partition(" | ")
            case.asked.append((question, {index[who, int(at)] for at in places.split()}))
    yield case


def longmemeval(shared: Path) -> Iterator[Case]:
    lines = (shared / "datasets/memory/longmemeval_s_3.jsonl").read_text().splitlines()
    for place, record in enumerate(map(json.loads, lines)):
        case = Case(f"lme_{record['id']}", held_out=place > 0)
        of: dict[str, list[int]] = defaultdict(list)
        for number, session in enumerate(record["sessions"]):
            for turn in session["turns"]:
                of[session["id"]].append(len(case.turns))
                day = session["date"][:10].replace("/", "-")
                case.turns.append(Turn(turn["content"], turn["role"], "", day, number))
        for q in record["questions"]:
            gold = set[int]()
            for name in q["answer_session_ids"]:
                gold |= _telling(q["answer"], of[name], case.turns)
            if gold:
                case.asked.append((q["question"], gold))
        yield case


def _telling(answer: str, places: Sequence[int], turns: Sequence[Turn]) -> set[int]:
    """Return the turns that have most of an answer's words, half of them at least."""
    wanted = set(_words(answer))
    has = {at: len(wanted & set(_words(turns[at].text))) / len(wanted) for at in places}
    most = max(has.values())
    return {at for at, share in has.items() if share == most} if most >= 0.5 else set()


def kdconv(shared: Path) -> Iterator[Case]:
    turns: list[Turn] = []
    gold: dict[tuple[str, str], set[int]] = defaultdict(set)
    lines = (shared / "datasets/memory/kdconv_zh.jsonl").read_text().splitlines()
    for number, record in enumerate(map(json.loads, lines)):
        for fact in record["facts"]:
            if fact["attribute"] != "Information" and fact["value"]:
                gold[fact["entity"], fact["attribute"]].add(len(turns) + fact["turn"])
        turns += [Turn(m["content"], m["role"], session=number) for m in record["messages"]]
    asked = [(f"{entity}的{name}是什么？", at) for (entity, name), at in gold.items()]
    random.Random(7).shuffle(asked)
    for held_out in (False, True):
        yield Case("kdconv", False, turns, asked[200 if held_out else 0 :][:200], held_out)


# --- searchers -----------------------------------------------------------------------------


def ours(ledger: Ledger, case: Case) -> Search:
    place: dict[int, int] = {}
    for at, turn in enumerate(case.turns):
        metadata = {"date": turn.day} if turn.day else None
        message = _message(turn, named=case.named)
        recorded = ledger.append([message], thread_id=case.name, metadata=metadata)
        place[recorded.entry_ids[0]] = at
    ledger.search("warm", thread_id=case.name)

    def search(question: str, k: int) -> list[int]:
        return [place[h.entry_id] for h in ledger.recall(question, thread_id=case.name, k=k)]

    return search


def _message(turn: Turn, *, named: bool) -> BaseMessage:
    kind = HumanMessage if turn.role == "user" else AIMessage
    return kind(turn.text, name=turn.speaker) if named else kind(turn.said)


_stem = cast("Any", snowballstemmer).stemmer("english").stemWord


def _words(text: str) -> Iterator[str]:
    for word in re.findall(r"[a-z0-9]+|[\u3400-\u9fff]+", text.lower()):
        if word.isascii():
            yield word
        else:
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))


class Bm25:
    """BM25 over texts, k1 1.2, b 0.75."""

    def __init__(self, texts: Sequence[str], *, stems: bool = False) -> None:
        self._terms = (lambda text: [*map(_stem, _words(text))]) if stems else _words
        self._counts = [Counter(self._terms(text)) for text in texts]
        self._lengths = [sum(count.values()) for count in self._counts]
        self._having = Counter(term for count in self._counts for term in count)

    def scores(self, question: str) -> np.ndarray:
        found = np.zeros(len(self._counts))
        average = sum(self._lengths) / len(self._lengths)
        for term in set(self._terms(question)) & self._having.keys():
            n = self._having[term]
            weight = math.log(1 + (len(self._counts) - n + 0.5) / (n + 0.5))
            for at, count in enumerate(self._counts):
                if tf := count[term]:
                    norm = tf + 1.2 * (0.25 + 0.75 * self._lengths[at] / average)
                    found[at] += weight * tf * 2.2 / norm
        return found


def best(scores: np.ndarray, k: int) -> list[int]:
    return [int(at) for at in np.argsort(-scores, kind="stable")[:k] if scores[at] > 0]


def bm25(case: Case) -> Search:
    index = Bm25([turn.said for turn in case.turns])
    return lambda question, k: best(index.scores(question), k)


def recipe(case: Case, embedder: Embedder | None) -> Search:
    turns = case.turns
    around = [
        "\n".join(t.said for t in turns[max(0, at - 2) : at + 3] if t.session == turn.session)
        for at, turn in enumerate(turns)
    ]
    own, wide = Bm25([turn.said for turn in turns], stems=True), Bm25(around, stems=True)
    numbers = np.array([turn.session for turn in turns])
    vectors = [_vectors(embedder, texts) for texts in ([t.said for t in turns], around)]

    def search(question: str, k: int) -> list[int]:
        each = [own.scores(question), wide.scores(question)]
        fused = sum(scores / (scores.max() or 1.0) for scores in each)
        if embedder is not None:
            asked = np.array(embedder.question(question))
            fused = fused + sum(matrix @ asked for matrix in vectors)
        tops = {n: float(fused[numbers == n].max()) for n in set(numbers.tolist())}
        ranks = {n: rank for rank, n in enumerate(sorted(tops, key=lambda n: -tops[n]), start=1)}
        return best(fused + np.array([0.15 / ranks[n] for n in numbers.tolist()]), k)

    return search


def _vectors(embedder: Embedder | None, texts: Sequence[str]) -> np.ndarray:
    if embedder is None:
        return np.zeros((len(texts), 1))
    made: list[Any] = []
    for at in range(0, len(texts), 16):
        made += embedder.texts(texts[at : at + 16])
    matrix = np.array(made, float)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def others(ledger: Ledger, case: Case, embedder: Embedder | None) -> Iterator[tuple[str, Search]]:
    """Give the peers that search a database, by name."""
    messages = Messages(case.name, [_message(turn, named=False) for turn in case.turns], [])
    any_word = full_text(ledger, messages, any_word=True)
    yield "PostgreSQL", lambda question, k: [at for at, _ in any_word(question, k)]
    if embedder is not None:
        for label, search in postgres_store(ledger.dsn, messages, embedder):
            yield label, lambda question, k, search=search: [at for at, _ in search(question, k)]


# --- report --------------------------------------------------------------------------------

SETS = {
    one.__name__: one for one in (dialogues, memorybank, memorybank_zh, people, longmemeval, kdconv)
}


def measured(case: Case, search: Search) -> np.ndarray:
    """Return any@5, frac@10 and all@10, summed over the questions."""
    total = np.zeros(3)
    for question, gold in case.asked:
        hits = search(question, 10)
        share = len(gold & set(hits)) / len(gold)
        total += (bool(gold & set(hits[:5])), share, share == 1)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--part", choices=("tune", "held"), default="tune")
    parser.add_argument("--embeddings", default="off")
    parser.add_argument("--store", action="store_true", help="also PostgresStore and langmem")
    parser.add_argument("--data-dir", type=Path, required=True)
    given = parser.parse_args()
    embedder = resolve(given.embeddings)
    with Ledger.from_conn_string(
        data_dir=given.data_dir, schema=f"turns_{given.part}", embeddings=embedder
    ) as ledger:
        for name in given.sets:
            report(name, list(SETS[name](given.shared)), ledger, given, embedder)


def report(
    name: str,
    cases: Sequence[Case],
    ledger: Ledger,
    given: argparse.Namespace,
    embedder: Embedder | None,
) -> None:
    rows: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(3))
    asked = 0
    for case in cases:
        if case.held_out != (given.part == "held") or not case.asked:
            continue
        asked += len(case.asked)
        search = ours(ledger, case)
        if embedder is not None:
            ledger.flush()
        rows["langledger"] += measured(case, search)
        rows["BM25"] += measured(case, bm25(case))
        rows["recipe"] += measured(case, recipe(case, embedder))
        for label, peer in others(ledger, case, embedder if given.store else None):
            rows[label] += measured(case, peer)
    if not asked:
        return
    print(f"{name}, {given.part}: {asked} questions; any@5, frac@10, all@10")
    for label, sums in rows.items():
        print(
            f"  {label:12}" + "".join(f"{100 * value / asked:7.1f}" for value in sums), flush=True
        )


if __name__ == "__main__":
    main()
