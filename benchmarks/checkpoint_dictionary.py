"""Train the dictionary that entries are compressed with, from the project's own text.

    python benchmarks/checkpoint_dictionary.py [--out langledger/entries/dictionary_1.bin]

A dictionary that was released is never changed: stored entries need the one they were written
with. A better one gets the next number. Nothing but text of this project goes in, so that the
file is ours to ship.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import zstandard
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger.entries.codec import dump_message

ROOT = Path(__file__).resolve().parent.parent
SIZE = 64 * 1024
PIECE = 1500
SEED = 20251129

# What people and agents write to each other, in the words of this project.
SAID = (
    "Please look at the failing test and tell me what is wrong before you change anything.",
    (
        "I have read the file and I understand the problem: the function returns too early when "
        "the list is empty."
    ),
    "Now let me run the tests to see whether the change works as expected.",
    "All tests pass. Let me also check that there are no other places which use the old name.",
    "The error message says that the module cannot be found, so I will look at how it is imported.",
    "You should not use the global variable there; pass the value as an argument instead.",
    (
        "Can you add a new option to the command line, with a default value, and document it in "
        "the README?"
    ),
    (
        "I would like to keep the public interface as it is, because other people already depend "
        "on it."
    ),
    "First I will search the code base for all uses of this method, then update them one by one.",
    (
        "There are several ways to do this. The simplest is to create a new class that wraps the "
        "existing one."
    ),
    (
        "The following changes were made: the configuration is now read once, the connection is "
        "closed at the end."
    ),
    "Here is a summary of what has been done so far and what is still left to do.",
    "If the server does not respond within thirty seconds, the request should be tried again.",
    "It looks like the database was not updated. Let me check the logs for more information.",
    "Thank you, that works. The next step is to write the documentation and an example.",
    (
        "Why does this happen only when there is more than one user? Could it be a race between "
        "two processes?"
    ),
    (
        "We decided to store each message once, since most of the data is the same from one step "
        "to the next."
    ),
    "This will be called from the main loop every time a new event is received from the client.",
    "I think we need to make sure that the value is never null before it is used in the query.",
    (
        "Let me know if you want me to go ahead with this, or whether you would rather have a "
        "different approach."
    ),
    (
        "The user asked for a report of the results, with the number of errors and the time that "
        "each step took."
    ),
    (
        "Note that the order of the items in the list is not guaranteed to be the same between "
        "two calls."
    ),
    (
        "For example, when the first argument is a string and the second one is a number, an "
        "error is raised."
    ),
    "Today the weather is good and we could go to the city with our friends and family after work.",
    (
        "The company sells its products in many countries and has about five thousand people "
        "around the world."
    ),
    (
        "In this section we will show how to install the package, create a project and start the "
        "application."
    ),
    (
        "She said that they had been living in the house for a long time, and that they were "
        "going to move."
    ),
)
TOOLS = ("read_file", "write_file", "edit_file", "run_command", "search", "list_files", "fetch_url")
PATHS = ("src/main.py", "tests/test_app.py", "README.md", "package.json", "src/utils/helpers.ts")


def own_text() -> list[str]:
    """Pieces of this project's code, tests and documents."""
    files = [
        file
        for folder in ("langledger", "tests", "docs", "benchmarks", "examples")
        for kind in ("*.py", "*.md", "*.sql")
        for file in sorted((ROOT / folder).rglob(kind))
    ]
    texts = [file.read_text(encoding="utf-8") for file in files]
    return [text[at : at + PIECE] for text in texts for at in range(0, len(text), PIECE)]


def listing(rng: random.Random) -> str:
    """What commands print: listings, searches, test runs, JSON."""
    rows = [
        f"-rw-r--r-- 1 user user {rng.randrange(100, 90000):>6} Nov 29 "
        f"{rng.randrange(24):02}:{rng.randrange(60):02} {rng.choice(PATHS)}"
        for _ in range(8)
    ]
    found = [
        f"{rng.choice(PATHS)}:{rng.randrange(1, 400)}:    "
        f"def {rng.choice(TOOLS)}(self, path: str) -> None:"
        for _ in range(6)
    ]
    ran = [
        "============================= test session starts ==============================",
        f"collected {rng.randrange(2, 90)} items",
        "tests/test_app.py ..........F....                                        [100%]",
        "E       AssertionError: assert None == 'value'",
        f"1 failed, {rng.randrange(2, 90)} passed in {rng.random() * 9:.2f}s",
        "Traceback (most recent call last):",
        f'  File "/home/user/{rng.choice(PATHS)}", line {rng.randrange(1, 400)}, in <module>',
        "ModuleNotFoundError: No module named 'requests'",
        "Process exited with code 1",
    ]
    records = [
        {
            "id": rng.randrange(10**6),
            "name": rng.choice(TOOLS),
            "type": "function",
            "description": rng.choice(SAID),
            "status": rng.choice(("ok", "error", "active")),
            "created_at": "2025-11-29T12:00:00Z",
            "url": "https://example.com/api/v1/items",
            "enabled": True,
            "tags": [],
            "parent": None,
        }
        for _ in range(4)
    ]
    dumped = [json.dumps(records), json.dumps(records, indent=2)]
    return "\n".join(rng.choice([rows, found, ran, dumped]))


def messages(rng: random.Random) -> list[BaseMessage]:
    """Messages as chat models and tools make them, filled with text of this project."""
    made: list[BaseMessage] = []
    for number, text in enumerate([*own_text(), *(listing(rng) for _ in range(150))]):
        talk = " ".join(rng.sample(SAID, 6))
        call = {
            "name": rng.choice(TOOLS),
            "args": {"path": rng.choice(PATHS), "command": "python -m pytest -q"},
            "id": f"call_{rng.getrandbits(64):016x}",
            "type": "tool_call",
        }
        usage = {"input_tokens": number * 31, "output_tokens": number, "total_tokens": number * 32}
        made += [
            HumanMessage(talk if number % 3 else text),
            AIMessage(
                talk,
                tool_calls=[call],
                usage_metadata=usage,
                response_metadata={"finish_reason": "tool_calls", "model_name": "a-model"},
            ),
            ToolMessage(text, tool_call_id=call["id"], name=call["name"]),
            AIMessage([{"type": "text", "text": talk}, {"type": "tool_use", **call}]),
        ]
    return made


def main() -> None:
    """Write the dictionary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "langledger/entries/dictionary_1.bin")
    out = parser.parse_args().out
    samples = [dump_message(message)[1] for message in messages(random.Random(SEED))]
    trained = zstandard.train_dictionary(SIZE, samples, level=6)
    out.write_bytes(trained.as_bytes())
    print(
        f"{out}: {len(trained)} bytes from {len(samples)} samples, {sum(map(len, samples))} bytes"
    )


if __name__ == "__main__":
    main()
