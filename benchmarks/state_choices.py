"""How many of the written choices the patterns find, and what they take for one.

    python benchmarks/state_choices.py

The sentences are those of the tests: every other one was looked at while the rules were made, the
rest was only counted.
"""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage

from langledger.state.fold import fold
from tests.unit.state.statements.choices import CHOICES, NO_CHOICES


def stored(agent: str, text: str) -> list[str]:
    """Return what is noted of a user's reply to what an agent said."""
    said = [HumanMessage("Build the service."), AIMessage(agent), HumanMessage(text)]
    state = fold(enumerate(said))
    return [statement.what for statement in (*state.decisions, *state.conventions)]


def main() -> None:
    for name, half in (("looked at", slice(0, None, 2)), ("only counted", slice(1, None, 2))):
        choices, others = CHOICES[half], NO_CHOICES[half]
        found = sum(
            any(words.lower() in what.lower() for what in stored(agent, text))
            for agent, text, words in choices
        )
        wrong = sum(bool(stored(agent, text)) for agent, text in others)
        print(
            f"{name}: recall {found} of {len(choices)}, stored of the others {wrong} of "
            f"{len(others)}, precision {found / (found + wrong):.3f}"
        )


if __name__ == "__main__":
    main()
