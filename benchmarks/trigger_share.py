"""At which true share of the window the 72 % trigger fires, by kind of text.

    python benchmarks/trigger_share.py [--shared ../shared] [--window 16000] [--database-url DSN]

A conversation of one kind of text grows until a compaction is made; the size of the call just
before is then counted by the tokeniser itself, without our code. Three models: one with OpenAI's
o200k tokeniser that reports nothing, and two with other tokenisers (OpenAI's cl100k and Qwen's)
that report their usage, as providers do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import chain, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from counting import kinds, pieces
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from peers import PROVIDER, sides
from toktok import batch_count

from langledger import Ledger

MODELS = {"o200k, no reports": ("o200k_base", False), "cl100k, reported": ("cl100k_base", True)}
MODELS["Qwen, reported"] = ("qwen3.5", True)
SMALL = 400  # characters of a message, so that a call adds little
START = 0.5  # of the window
FRAME = 4  # what the chat template adds to a message


def size(messages: list[BaseMessage], encoding: str) -> int:
    """The truth: each text by the tokeniser, and the template's marks."""
    return sum(batch_count([str(m.content) for m in messages], encoding)) + FRAME * len(messages)


def conversation(texts: list[str], encoding: str, *, reports: bool) -> Iterator[list[BaseMessage]]:
    """Yield the history before each call of the model."""
    messages: list[BaseMessage] = []
    for number, text in enumerate(texts):
        if number % 2 == 0:
            messages.append(HumanMessage(text, id=f"h{number}"))
            yield messages
            continue
        answer = AIMessage(text, id=f"a{number}", response_metadata={"model_provider": PROVIDER})
        if reports:
            read = size(messages, encoding)
            wrote = batch_count([text], encoding)[0]
            answer.usage_metadata = {
                "input_tokens": read,
                "output_tokens": wrote,
                "total_tokens": read + wrote,
            }
        messages.append(answer)


def small(texts: list[str]) -> list[str]:
    return [text[at : at + SMALL] for text in texts for at in range(0, len(text), SMALL)]


def share(side: Any, texts: list[str], model: str, window: int) -> float | None:
    encoding, reports = MODELS[model]
    for messages in conversation(texts, encoding, reports=reports):
        true = size(messages, encoding)
        if true < START * window:  # what comes before is one history that is loaded
            continue
        if true > 4 * window:
            return None
        try:
            side.view(list(messages))
        except Exception:  # noqa: BLE001 - a peer that fails never fired
            return None
        if side.events:
            return true / window
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--window", type=int, default=16_000)
    parser.add_argument("--database-url")
    options = parser.parse_args()
    texts = {kind: small(pieces(found)) for kind, found in kinds(options.shared).items()}
    columns = zip_longest(*texts.values())
    texts["mixed"] = [text for text in chain.from_iterable(columns) if text]
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # run by root, the embedded server is another user
        data_dir = None if options.database_url else Path(folder) / "data"
        with Ledger.from_conn_string(options.database_url, data_dir=data_dir) as ledger:
            report(sides(ledger, options.window), texts, options.window)


def report(makers: dict[str, Callable[[], Any]], texts: dict[str, list[str]], window: int) -> None:
    print(f"| text | {' | '.join(f'{s}: {m}' for m in MODELS for s in makers)} |")
    print(f"|---|{'---|' * (len(MODELS) * len(makers))}")
    for kind, found in texts.items():
        cells = []
        for model in MODELS:
            for make in makers.values():
                fired = share(make(), found, model, window)
                cells.append("never" if fired is None else f"{100 * fired:.1f} %")
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
