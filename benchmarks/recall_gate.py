"""How well the gate tells what is worth injecting: recall kept against false injections.

    python benchmarks/recall_gate.py ../shared --data-dir NEW_FOLDER [--local]

Kept is a question of a set whose answer stands in the top 5. False are questions of the other sets
asked in the wrong thread (off the topic), and small talk. Printed are the shares at the threshold,
a curve, and weights fitted on all sets and on all but one, tried on that one.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from recall_cases import Asked, Case
from recall_peers import Kept, record
from recall_quality import SETS

from langledger import Ledger
from langledger.recall import Embedder, Gate, resolve
from langledger.recall.gate import THRESHOLD

_SETS = ("exact", "sessions", "kdconv", "lines", "dialogues", "memorybank", "people")
SIGNALS = ("coverage", "evidence", "identifier", "agreement", "nearness")
TALK = (
    "hi", "thanks", "hello there", "ok", "PHRASE_THAT_DOES_NOT_APPEAR_QQQQ", "how are you today?",
    "what is the weather like on Mars?", "tell me a joke", "What is the capital of France?",
    "你好", "今天天气怎么样？", "continue", "please go on", "yes do it", "looks good to me",
)  # fmt: skip


@dataclass
class Verdict:
    """One question and what the gate said."""

    name: str
    kind: str  # kept, false, talk
    confidence: float
    signals: list[float]


def verdicts(ledger: Ledger, cases: list[tuple[str, Case]]) -> Iterator[Verdict]:
    rng = random.Random(1)
    for name, case in cases:
        ids = record(ledger, case)
        ledger.flush()
        place = {entry: index for index, entry in reversed(list(enumerate(ids)))}
        foreign = [one for other, c in cases if other != name for one in _some(c.asked, 3, rng)]
        for kind, asked in (("kept", case.asked), ("false", foreign)):
            for one in _some(asked, 25, rng):
                found = ledger.search(one.question, thread_id=case.name)
                hits = [(place[hit.entry_id], hit.text) for hit in found.hits]
                if kind == "false" or one.measure(hits)[one.enough]:
                    yield _verdict(name, kind, found.gate)
        for text in TALK:
            yield _verdict(name, "talk", ledger.search(text, thread_id=case.name).gate)


def _some(asked: list[Asked], n: int, rng: random.Random) -> list[Asked]:
    return rng.sample(asked, min(n, len(asked)))


def _verdict(name: str, kind: str, gate: Gate) -> Verdict:
    signals = [gate.signals.get(signal, 0.0) for signal in SIGNALS]
    return Verdict(name, kind, gate.confidence, signals)


def fitted(found: list[Verdict], *, false: float) -> np.ndarray:
    """Return weights of a logistic regression; bias last.

    Each set weighs the same, and what is injected falsely as often as ``false`` says.
    """
    found = [
        one for one in found if one.confidence
    ]  # of the rest, such as small talk, a rule tells
    x = np.array([[*one.signals, 1.0] for one in found])
    y = np.array([one.kind == "kept" for one in found], float)
    groups = [(one.name, one.kind == "kept") for one in found]
    weight = np.array([(1 if group[1] else false) / groups.count(group) for group in groups])
    weight /= weight.sum()
    ridge = np.diag([1e-3] * len(SIGNALS) + [1e-6])
    theta = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ theta))
        gradient = x.T @ (weight * (p - y)) + ridge @ theta
        theta -= np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + ridge, gradient)
    return theta


def shares(found: list[Verdict], theta: np.ndarray | None = None) -> dict[str, np.ndarray]:
    return {
        kind: np.array([_confidence(one, theta) for one in found if one.kind == kind])
        for kind in ("kept", "false", "talk")
    }


def _confidence(one: Verdict, theta: np.ndarray | None) -> float:
    if theta is None or not one.confidence:
        return one.confidence
    return float(1 / (1 + np.exp(-np.dot(theta, [*one.signals, 1.0]))))


def report(label: str, found: list[Verdict], theta: np.ndarray | None = None) -> None:
    by = shares(found, theta)
    kept = by["kept"]
    told = [f"{kind} {(by[kind] >= THRESHOLD).mean():.3f} of {len(by[kind])}" for kind in by]
    at = float(np.quantile(kept, 0.05))
    false = np.concatenate([by["false"], by["talk"]])
    print(f"{label:22} {'  '.join(told)}   at 95 % kept: {(false >= at).mean():.3f} injected")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("shared", type=Path)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(_SETS), choices=list(SETS))
    parser.add_argument("--most", type=int, default=10, help="cases of a set")
    parser.add_argument("--false", type=float, default=5.0, help="weight of a false injection")
    parser.add_argument("--local", action="store_true", help="with the local model")
    parser.add_argument("--vectors", type=Path, help="file to keep vectors in between runs")
    given = parser.parse_args()
    cases = [
        (name, case)
        for name in given.sets
        for case in islice(SETS[name][0](given.shared), given.most)
    ]
    embedder = resolve("local") if given.local else None
    if given.local and given.vectors:
        embedder = Embedder(Kept(given.vectors))
    with Ledger.from_conn_string(
        data_dir=given.data_dir, schema="gate", embeddings=embedder or "off"
    ) as ledger:
        found = list(verdicts(ledger, cases))
    for name in given.sets:
        report(name, [one for one in found if one.name == name])
    report("all", found)
    by = shares(found)
    for cut in (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9):
        print(
            f"  threshold {cut}: "
            + "  ".join(f"{k} {(v >= cut).mean():.3f}" for k, v in by.items())
        )
    weights = fitted(found, false=given.false).round(2).tolist()
    print("fitted:", dict(zip((*SIGNALS, "bias"), weights, strict=True)))
    for name in given.sets:
        some = [one for one in found if one.name == name]
        rest = [one for one in found if one.name != name]
        report(f"held out {name}", some, fitted(rest, false=given.false))


if __name__ == "__main__":
    main()
