"""How often a search finds the answer: ours and its peers on the same data in one run.

    python benchmarks/recall_quality.py ../shared --data-dir NEW_FOLDER [--local --store]

exact        300 questions about exact values in 4 sessions; the answer stands in the top 1, 3, 5,
             by category and by half of the history
lines        commands, numbers and error lines of recorded agent sessions: the neighbours of a line
             and half of its words, without numbers, are the question; found: it is in the top 5;
             "told apart" are the questions that fewer than five other lines fit word for word
sessions     3 haystacks of 40 sessions (LongMemEval): any gold session first, all in the top 5, 10
and the talks of recall_talks.py by turn: a turn that answers in the top 1, 5, 10; frac@10 and
all@10: how many of them are, and whether all are; "tune" is the part that settings were chosen on.

Peers: BM25 over messages (k1 1.2, b 0.75, words of letters and digits, CJK bigrams), PostgreSQL's
full text search over messages (plainto_tsquery, and its terms in OR); of talks the best published
recipe; with --store LangGraph's PostgresStore and langmem's search tool on it. --local adds ours
with the local embedding model, and gives it to the recipe.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path

import recall_talks as talks
from recall_cases import Case, by_session, by_turn, exact, lines
from recall_peers import Kept, Search, bm25, full_text, ours, postgres_store, recipe, record

from langledger import Ledger
from langledger.recall import Embedder, resolve


def _by(
    way: Callable[[talks.Talk], Case], make: Callable[[Path], Iterator[talks.Talk]], shared: Path
) -> Iterator[Case]:
    return map(way, make(shared))


_TALKS = (
    talks.dialogues, talks.memorybank, talks.memorybank_zh, talks.people, talks.longmemeval,
    talks.kdconv,
)  # fmt: skip
SETS: Mapping[str, tuple[Callable[[Path], Iterator[Case]], int]] = {
    "exact": (exact, 5),
    "lines": (lines, 5),
    **{one.__name__: (partial(_by, by_turn, one), 10) for one in _TALKS},
    "sessions": (partial(_by, by_session, talks.longmemeval), 100),
}
"""The cases of each set, and how many hits are looked at."""


class Tally:
    """What one side found, summed over questions: by group, by measure."""

    def __init__(self) -> None:
        self.sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.asked: Counter[str] = Counter()
        self.seconds = 0.0

    def add(self, case: Case, search: Search, k: int) -> None:
        started = time.perf_counter()
        for asked in case.asked:
            measured = asked.measure(search(asked.question, k))
            for group in ("all", *asked.groups):
                self.asked[group] += 1
                for name, value in measured.items():
                    self.sums[group][name] += value
        self.seconds += time.perf_counter() - started

    def report(self, label: str) -> None:
        print(f"  {label}, {1000 * self.seconds / self.asked['all']:.0f} ms a question")
        for group, n in sorted(self.asked.items()):
            shares = (f"{name} {100 * value / n:5.1f}" for name, value in self.sums[group].items())
            print(f"    {group:24} {'  '.join(shares)}   of {n}", flush=True)


def searchers(
    case: Case, words: Ledger, local: Ledger | None, embedder: Embedder | None, *, alone: bool
) -> Iterator[tuple[str, Search]]:
    """Give what searches a case, each recorded as it is its turn."""
    yield "langledger", ours(words, case, record(words, case))
    if local is not None:
        ids = record(local, case)
        local.flush()
        yield "langledger, local model", ours(local, case, ids)
    if alone:
        return
    yield "BM25", bm25(case)
    if case.talk is not None:
        yield "recipe", recipe(case.talk, None)
        if embedder is not None:
            yield "recipe, local model", recipe(case.talk, embedder)
    yield "PostgreSQL plainto", full_text(words, case, any_word=False)
    yield "PostgreSQL OR", full_text(words, case, any_word=True)


def measure(
    name: str,
    given: argparse.Namespace,
    words: Ledger,
    local: Ledger | None,
    embedder: Embedder | None,
) -> None:
    make, k = SETS[name]
    tallies: dict[str, Tally] = defaultdict(Tally)
    cases = 0
    for case in islice(make(given.shared), given.cases.get(name)):
        cases += 1
        case.name = f"{name}-{case.name}"
        case.asked = case.asked[: given.questions]
        for label, search in searchers(case, words, local, embedder, alone=given.alone):
            tallies[label].add(case, search, k)
        if given.store and embedder is not None:
            for label, search in postgres_store(words.dsn, case, embedder):
                tallies[label].add(case, search, k)
    print(f"\n{name}: {cases} cases")
    for label, tally in tallies.items():
        tally.report(label)


def _cases(text: str) -> tuple[str, int]:
    name, _, most = text.partition("=")
    if name not in SETS or not most.isdecimal():
        raise argparse.ArgumentTypeError(f"SET=NUMBER with a set of {', '.join(SETS)}")
    return name, int(most)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument(
        "--cases", nargs="+", type=_cases, default=[], help="SET=NUMBER of first cases"
    )
    parser.add_argument("--questions", type=int, help="only the first of each case")
    parser.add_argument("--local", action="store_true", help="ours with the local model too (slow)")
    parser.add_argument(
        "--store", action="store_true", help="also PostgresStore and langmem (slow)"
    )
    parser.add_argument("--vectors", type=Path, help="file to keep vectors in between runs")
    parser.add_argument("--alone", action="store_true", help="without the peers")
    parser.add_argument("--data-dir", type=Path, required=True)
    given = parser.parse_args()
    given.cases = dict(given.cases)
    embedder = None
    if given.local or given.store:
        embedder = Embedder(Kept(given.vectors)) if given.vectors else resolve("local")
    with ExitStack() as opened:
        start = partial(Ledger.from_conn_string, data_dir=given.data_dir)
        words = opened.enter_context(start(schema="quality_words", embeddings="off"))
        local = None
        if given.local:
            local = opened.enter_context(start(schema="quality_local", embeddings=embedder))
        for name in given.sets:
            measure(name, given, words, local, embedder)


if __name__ == "__main__":
    main()
