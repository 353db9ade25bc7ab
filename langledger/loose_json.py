"""The JSON in what a model answered, however it is wrapped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["json_values"]

_LONGEST = 50_000  # characters
_MOST_OPENINGS = 200  # brackets that begin no JSON; prose has a few, a runaway answer only these
_OPENING = re.compile(r"[\[{]")


def json_values(text: str) -> Iterator[Any]:
    """Yield the JSON values in a text, the outermost only; prose around them is passed over.

    Each bracket that begins none costs a reading of what follows, so their number is bounded; one
    nested too deep to be read is the end.
    """
    text = text[:_LONGEST]
    decoder, at, failed = json.JSONDecoder(), 0, 0
    while failed < _MOST_OPENINGS and (opening := _OPENING.search(text, at)):
        try:
            value, at = decoder.raw_decode(text, opening.start())
        except RecursionError:
            return
        except ValueError:
            at, failed = opening.end(), failed + 1
            continue
        yield value
