"""What a small model adds to the patterns, and what it gets wrong.

    python benchmarks/state_model.py [--model openai:smollm2-135m] [--sessions N] [--batches N]
        [--seconds N] [TRANSCRIPTS]

Reads the spoken part of recorded sessions in batches as the background extractor does, asks the
model through the same code, and prints what was taken in, what was refused and why.
`python -m tests.support.small_model_server PORT` starts a small local model, which is found by
OPENAI_BASE_URL=http://127.0.0.1:PORT/v1 and OPENAI_API_KEY=none.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from langchain.chat_models import init_chat_model

from langledger.operations import run
from langledger.replay.session import load_session
from langledger.state.extract import model as extraction
from langledger.state.extract.model import Extractor
from langledger.state.extract.prompt import Spoken, questions_for, spoken_of
from langledger.state.fold import StateFold
from langledger.state.records import KINDS
from langledger.state.statements.likeness import same


def batches(messages: list[tuple[int, Any]], characters: int) -> Iterator[Spoken]:
    """Yield what was said, in parts that a small model can read."""
    taken: list[tuple[int, Any]] = []
    for item in messages:
        taken.append(item)
        if spoken_of(taken).size >= characters:
            yield spoken_of(taken)
            taken = []
    if taken and spoken_of(taken).size:
        yield spoken_of(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("transcripts", type=Path, nargs="?", default=Path("../shared/transcripts"))
    parser.add_argument("--model", default="openai:smollm2-135m")
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--characters", type=int, default=3000)
    parser.add_argument("--seconds", type=int, default=300, help="the most for an answer")
    options = parser.parse_args()
    model = init_chat_model(
        options.model, temperature=0, max_tokens=400, max_retries=0, timeout=options.seconds
    )
    extractor = Extractor(model=model)
    totals: Counter[str] = Counter()
    started = time.perf_counter()
    files = sorted(options.transcripts.glob("claude-code/*.jsonl"))[: options.sessions]
    for path in files:
        messages = [(e.index, e.message) for e in load_session(path).messages if e.shown]
        fold = StateFold()
        for seq, message in messages:
            fold.add(message, seq)
        state = fold.state
        for number, spoken in enumerate(batches(messages, options.characters)):
            if number == options.batches:
                break
            totals["batches"] += 1
            try:
                asked = extractor.ask(model, questions_for(spoken, state))
                proposals = run(asked, cast("Any", None))
            except Exception as error:  # noqa: BLE001 - what the extractor would log
                totals[f"failed: {type(error).__name__}"] += 1
                continue
            if proposals is None:
                totals["unreadable answers"] += 1
                continue
            totals["proposals"] += len(proposals)
            for index, proposal in enumerate(proposals):
                reason = extraction._refused(proposal, state, spoken)
                totals["unsure"] += not proposal.sure
                if reason is not None:
                    totals[f"refused: {reason}"] += 1
                    continue
                said = extraction._said(proposal, state, spoken, index)
                known = any(
                    same(getattr(said, "what", ""), s.what)
                    for kind in KINDS
                    for s in state.statements(kind)
                )
                totals["taken in, known already" if known else "taken in, new"] += 1
                told = f"{proposal.kind}: {proposal.what} | why {proposal.why} | {proposal.quote}"
                print(f"{path.stem[:28]} {told}"[:400])
    for name, count in sorted(totals.items()):
        print(f"{name}: {count}")
    print(f"seconds a batch: {(time.perf_counter() - started) / max(totals['batches'], 1):.1f}")


if __name__ == "__main__":
    main()
