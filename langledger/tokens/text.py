"""Exact counting and cutting of text, in tokens of OpenAI's ``o200k_base``.

Every count in langledger is made in this one unit. It is exact for the models of
OpenAI since GPT-4o and within some tens of percent for others, which
:class:`~langledger.tokens.calibration.Calibration` takes out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toktok import batch_count, truncate

from langledger.errors import ConfigurationError

__all__ = ["count_text", "count_texts", "cut_text", "truncate_text", "well_formed"]

_ENCODING = "o200k_base"
# Starting the native threads costs about 10 ms, more than counting this many characters does; even
# one takes as long as a thousand tokens do, so what is little is counted on the thread we are on.
_PARALLEL_CHARS = 2_000_000
_LITTLE_CHARS, _LITTLE_TEXTS = 20_000, 12
_ALL = 2**62  # tokens
# The longest token of the vocabulary, in characters: a run of 128 spaces.
_LONGEST_TOKEN = 128


def count_text(text: str) -> int:
    """Count the tokens of a text; special-token strings count as the ordinary text they are."""
    return count_texts([text])[0]


def count_texts(texts: Sequence[str]) -> list[int]:
    """Count the tokens of each text, of many in one native call.

    Args:
        texts: Any strings. A lone surrogate, which no request can carry, counts as U+FFFD.

    Returns:
        One count a text, in order.
    """
    try:
        return _counts(texts)
    except UnicodeEncodeError:
        return _counts([well_formed(text) for text in texts])


def _counts(texts: Sequence[str]) -> list[int]:
    chars = sum(map(len, texts))
    if chars <= _LITTLE_CHARS and len(texts) <= _LITTLE_TEXTS:
        return [truncate(text, _ALL, _ENCODING)[1] for text in texts]
    return batch_count(texts, _ENCODING, threads=0 if chars > _PARALLEL_CHARS else 1)


def well_formed(text: str) -> str:
    """Join surrogate pairs to the character they mean and replace lone surrogates by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def cut_text(text: str, max_tokens: int) -> str:
    """Return the beginning of a text, ending at a token, with at most ``max_tokens``."""
    try:
        head = _head(text, max_tokens)
    except UnicodeEncodeError:
        return cut_text(well_formed(text[: (max_tokens + 1) * _LONGEST_TOKEN]), max_tokens)
    # A beginning can split otherwise than the whole did, at its last word alone.
    while (count := count_text(head)) > max_tokens:
        head = head[: -(count - max_tokens)]
    return head


def _head(text: str, max_tokens: int) -> str:
    length = (max_tokens + 1) * 8
    while True:
        head, total = truncate(text[:length], max_tokens, _ENCODING)
        if total > max_tokens or length >= len(text):
            return head
        length *= 4


def truncate_text(text: str, max_tokens: int) -> str:
    """Keep the beginning and the end of a text that is too long, with a note between them.

    Two thirds of what is kept is the beginning. Where there is no room for the note
    the beginning alone is kept.

    Args:
        text: The text; it comes back as it is where it fits.
        max_tokens: The most tokens the result has.

    Raises:
        ConfigurationError: ``max_tokens`` is negative.
    """
    if max_tokens < 0:
        raise ConfigurationError(f"max_tokens is {max_tokens}; a budget of tokens cannot be < 0")
    total = count_text(text)
    if total <= max_tokens:
        return text
    text = well_formed(text)
    room = max_tokens - count_text(_note(total))
    while room > 2:
        shortened = _head_and_tail(text, room, total)
        excess = count_text(shortened) - max_tokens
        if excess <= 0:
            return shortened
        room -= excess
    return cut_text(text, max_tokens)


def _head_and_tail(text: str, room: int, total: int) -> str:
    head = cut_text(text, room - room // 3)
    tail = _longest_tail(text[len(head) :], room // 3)
    return f"{head}{_note(total - room)}{tail}"


def _note(left_out: int) -> str:
    return f"\n[... {left_out} tokens left out ...]\n"


def _longest_tail(text: str, max_tokens: int) -> str:
    longest = min(len(text), max_tokens * _LONGEST_TOKEN)
    length = _bisect(longest, lambda n: count_text(text[-n:]) <= max_tokens)
    return text[-length:] if length else ""


def _bisect(high: int, fits: Callable[[int], bool]) -> int:
    """Return the largest length that fits, near enough where counts are not monotone; 0 fits."""
    low, step = 0, 64
    # Most tails are short beside `high`, so bracket from below before halving.
    while low + step < high and fits(low + step):
        low, step = low + step, step * 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
