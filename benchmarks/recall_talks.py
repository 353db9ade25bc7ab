"""Long conversations in turns, and questions with the turns that answer them.

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

Each has a part to choose settings on and one that is only looked at.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


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
class Asked:
    """A question, and the turns and sessions that answer it; held-out ones chose no setting."""

    question: str
    turns: set[int]
    sessions: set[int] = field(default_factory=set[int])
    held_out: bool = False


@dataclass
class Talk:
    """A conversation and its questions."""

    name: str
    named: bool = False  # the speaker is the message's name, not a part of its text
    turns: list[Turn] = field(default_factory=list[Turn])
    asked: list[Asked] = field(default_factory=list[Asked])


def dialogues(_shared: Path) -> Iterator[Talk]:
    text = (Path(__file__).parent / "recall_turns.txt").read_text()
    for place, block in enumerate(re.split(r"^# ", text, flags=re.MULTILINE)[1:]):
        name, _, rest = block.partition("\n")
        said, _, asked = rest.partition("\n?\n")
        case = Talk(name, named=True)
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
            gold = {marks[key] for key in keys.split()}
            case.asked.append(Asked(question, gold, held_out=place > 0))
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


def memorybank(shared: Path) -> Iterator[Talk]:
    people = _people(shared, "memorybank_en.jsonl")
    third = [(r"\bI'm\b", "{} is"), (r"\b(?:I|me)\b", "{}"), (r"\b(?:my|My)\b", "{}'s")]
    companion = [(r"\b[Yy]ou\b", "the companion")]
    yield from _threads("mb_en", people, third, companion, "Companion")


def memorybank_zh(shared: Path) -> Iterator[Talk]:
    found = _people(shared, "memorybank_zh.jsonl")
    people = {_IN_CHINESE[name]: one for name, one in found.items() if name in _IN_CHINESE}
    yield from _threads("mb_zh", people, [("我", "{}")], [("你", "伴侣")], "伴侣")


def _people(shared: Path, name: str) -> dict[str, dict[str, Any]]:
    lines = (shared / "datasets/memory" / name).read_text().splitlines()
    return {record["id"].strip(): record for record in map(json.loads, lines)}


Rules = list[tuple[str, str]]


def _threads(
    prefix: str, people: dict[str, dict[str, Any]], third: Rules, companion: Rules, called: str
) -> Iterator[Talk]:
    """Put people's days into threads in turns, and their questions into the third person."""
    for place, names in enumerate(_THREADS):
        case = Talk(f"{prefix}_{place}")
        index = _take_turns(case, people, names, called)
        for who in names:
            questions = people.get(who, {}).get("probing_questions", ())
            for question, gold in zip(questions, _EVIDENCE[who], strict=False):
                told = question.strip('"')
                for pattern, instead in [*third, *companion]:
                    told = re.sub(pattern, instead.format(people[who]["id"].strip()), told)
                if gold:
                    turns = {index[who, at] for at in gold}
                    case.asked.append(Asked(told, turns, held_out=place > 0))
        yield case


def _take_turns(
    case: Talk, people: dict[str, dict[str, Any]], names: Sequence[str], called: str
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


def people(shared: Path) -> Iterator[Talk]:
    """The four people without questions in the data set, with some written for it."""
    asked: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "recall_people.txt").read_text().splitlines():
        if line.startswith("# "):
            asked[line[2:]] = []
        else:
            asked[[*asked][-1]].append(line)
    case = Talk("people")
    index = _take_turns(case, _people(shared, "memorybank_en.jsonl"), [*asked], "Companion")
    for who, lines in asked.items():
        for line in lines:
            question, _, places = line.partition(" | ")
            turns = {index[who, int(at)] for at in places.split()}
            case.asked.append(Asked(question, turns))
    yield case


def longmemeval(shared: Path) -> Iterator[Talk]:
    lines = (shared / "datasets/memory/longmemeval_s_3.jsonl").read_text().splitlines()
    for place, record in enumerate(map(json.loads, lines)):
        case = Talk(f"lme_{record['id']}")
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
            sessions = {case.turns[of[name][0]].session for name in q["answer_session_ids"]}
            case.asked.append(Asked(q["question"], gold, sessions, held_out=place > 0))
        yield case


def _telling(answer: str, places: Sequence[int], turns: Sequence[Turn]) -> set[int]:
    """Return the turns that have most of an answer's words, half of them at least."""
    wanted = set(words_of(answer))
    has = {at: len(wanted & set(words_of(turns[at].text))) / len(wanted) for at in places}
    most = max(has.values())
    return {at for at, share in has.items() if share == most} if most >= 0.5 else set()


def kdconv(shared: Path) -> Iterator[Talk]:
    turns: list[Turn] = []
    gold: dict[tuple[str, str], set[int]] = defaultdict(set)
    lines = (shared / "datasets/memory/kdconv_zh.jsonl").read_text().splitlines()
    for number, record in enumerate(map(json.loads, lines)):
        for fact in record["facts"]:
            if fact["attribute"] != "Information" and fact["value"]:
                gold[fact["entity"], fact["attribute"]].add(len(turns) + fact["turn"])
        turns += [Turn(m["content"], m["role"], session=number) for m in record["messages"]]
    asked = [Asked(f"{entity}的{name}是什么？", at) for (entity, name), at in gold.items()]
    random.Random(7).shuffle(asked)
    for place, one in enumerate(asked):
        one.held_out = place >= 200
    yield Talk("kdconv", turns=turns, asked=asked[:400])


def words_of(text: str) -> Iterator[str]:
    """Return words of letters and digits, and pairs of Chinese characters."""
    for word in re.findall(r"[a-z0-9]+|[\u3400-\u9fff]+", text.lower()):
        if word.isascii():
            yield word
        else:
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
