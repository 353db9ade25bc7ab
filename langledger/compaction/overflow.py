"""Refusals of a request that does not fit the model's window, told from every other error.

LangChain's integrations raise ``ContextOverflowError`` where they recognise one. The others,
and servers behind an OpenAI-compatible address, say it in words; these are the words of OpenAI,
Azure, Anthropic, Google, Bedrock, Mistral, Groq, xAI, Cohere, Moonshot, Qwen, GLM, GitHub Models,
watsonx, Cerebras, NVIDIA, SambaNova, vLLM, SGLang, TGI, llama.cpp, Ollama and LM Studio.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.exceptions import ContextOverflowError

from langledger.errors import LangLedgerError

__all__ = ["Overflow", "is_overflow", "overflow_of", "room_below"]

_SAID = re.compile(
    r"context_length_exceeded|exceed_context_size|model_context_window_exceeded"
    r"|request_too_large|string_above_max_length"
    r"|maximum (?:context|prompt|model) length|longer than the (?:maximum model|model'?s context)"
    r"|exceeds? (?:the |this |its )?(?:model'?s? |maximum |available )*context"
    r"|(?<!path )(?<!name )(?<!file )(?:input|prompt|request|conversation) (?:is|was)"
    r" too (?:long|large) "
    r"|(?<!path )(?<!name )(?<!file )(?:input|prompt|request) is too (?:long|large)\b"
    r"|(?:input|prompt) token count\b.*(?:exceeds|only supports up to)"
    r"|too many (?:total )?input tokens"
    r"|number of input tokens (?:\d+ )?(?:cannot )?exceed|input tokens exceeded"
    r"|model'?s? context (?:length|window) is (?:only )?\d"
    r"|n_keep: ?\d+ ?>= ?n_ctx|requested token count exceeds"
    r"|inputs?.? must have less than \d+ tokens|context (?:the )?overflows"
    r"|input length and .?max_tokens.? exceed|exceed(?:s|ed)? (?:the )?context (?:limit|window)"
    r"|context window exceeds|inputs?.? tokens \+ .?max_new_tokens.? must be"
    r"|too large for model with \d+ maximum context|range of input length should be"
    r"|exceeded model token limit|prompt exceeds max(?:imum)? length"
    r"|tokens in the prompt (?:cannot )?exceed|greater than the context length"
    r"|reduce the length of the (?:messages|prompt|input)"
    r"|超[过出][^。\n]{0,12}上下文|(?:prompt|提示词|上下文) ?(?:长度)?超[长过出]"
    r"|context size (?:has been |is |was )?exceeded|prompt too long \(\d"
    r"|input length (?:\(?\d+(?: tokens)?\)? )?exceeds (?:the )?maximum allowed"
    r"|maximum supported sequence length"
    r"|code['\"]: ?['\"]?1261\b|^1261$",  # Zhipu's, in a client's text and as its error's code
    re.DOTALL | re.MULTILINE,
)
# Another reason than size, whatever the text says: credentials, missing things, rates.
_OTHER_STATUS = frozenset({401, 402, 403, 404, 408, 409, 429})
_RATE = re.compile(r"tokens per (?:min|day|hour)|\btpm\b|rate.?limit|quota")
_DEPTH = 8
_READ = 20_000

_NUMBER = r"(\d[\d,_]*)"
_LIMITS = [
    re.compile(text.replace("N", _NUMBER))
    for text in (
        r"(?:context|prompt|model) (?:length|window)(?: is| of|:) (?:only )?N",
        r"only supports up to N",
        r"n_ctx: N",
        r"exceeds the maximum N",
        r"> N maximum",
        r"tokens allowed \(?N",
        r"context (?:size|length) \(N",
        r"n_ctx['\"]?: ?N",
        r"with N maximum context",
        r"must be <= N",
        r"token limit: ?N",
        r"length should be \[\d+, N\]",
        r"max input tokens: N",
        r"must have less than N tokens",
        r"cannot exceed N",
        r"(?:exceeds? the|configured) limit of N",
        r"maximum allowed (?:token size|length) \(?N",
        r"tokens, max N\b",
        r"maximum supported sequence length is just N",
        r"while limit is N",
        r"total tokens limit N",
    )
]
_REQUESTED = [
    re.compile(text.replace("N", _NUMBER))
    for text in (
        r"(?:requested|resulted in|contains|request has|given:?) (?:about )?N(?: input)? tokens",
        r"too long: N",
        r"(?:input|prompt) token count(?: of| is|:)? \(?N",
        r"n_keep: ?N",
        r"prompt has N tokens",
        r"(?:request|input|prompt) \((?:length )?N",
        r"input length \(?N",
        r"too long \(N tokens",
        r"requires a sequence length of N",
        r"n_prompt_tokens['\"]?: ?N",
        r"\(requested: N\)",
        r"tokens\. given: N",
        r"received N",
        r"number of input tokens N",
        r"keep the first N tokens",
        r"current length is N",
    )
]
# Input and output together against the window: what the output takes is not the input's.
_SHARED = [
    re.compile(re.sub(r"\b(ASKED|OUTPUT|WINDOW|TOTAL)\b", r"(?P<\1>\\d[\\d,_]*)", text), re.DOTALL)
    for text in (
        r"ASKED \+ OUTPUT > WINDOW",
        r"OUTPUT > WINDOW - ASKED",
        r"must be <= WINDOW\b.{1,3}given: ASKED .inputs. tokens and OUTPUT\b",
        r"passed ASKED input tokens and requested OUTPUT .{1,80}?length is (?:only )?WINDOW tokens",
        r"length is WINDOW tokens.{1,40}requested OUTPUT output tokens\D{1,60}ASKED input tokens",
        r"length of WINDOW tokens.{1,40}total of \d+ tokens: ASKED tokens \D+OUTPUT tokens for",
        r"length is WINDOW tokens.{1,40}about TOTAL tokens \(ASKED of [^)]+?, OUTPUT in the",
        r"length is WINDOW tokens.{1,40}requested \D{0,6}TOTAL [^)]+? OUTPUT \w+ the (?:comp|out)",
    )
]


@dataclass(frozen=True, slots=True)
class Overflow:
    """What a refusal tells.

    Attributes:
        limit: Most tokens of input the provider takes, by its own count; None where it does
            not say.
        requested: Tokens of the request, likewise.
        window: Most tokens of input and output together, likewise.
    """

    limit: int | None = None
    requested: int | None = None
    window: int | None = None


def is_overflow(error: BaseException) -> bool:
    """Tell whether a provider refused a request because it does not fit the window."""
    return overflow_of(error) is not None


def overflow_of(error: BaseException) -> Overflow | None:
    """Return what a provider's refusal of too large a request tells; None for any other error.

    The errors that caused it, and those of a group, are looked at too. Errors of our own tree,
    of credentials and of rate limits never are one.
    """
    for cause in _causes(error):
        if isinstance(cause, LangLedgerError):
            return None
        text = _text(cause)
        if isinstance(cause, ContextOverflowError) or (_SAID.search(text) and _may_be(cause, text)):
            return _told(text)
    return None


def room_below(told: Overflow, counted: int) -> int:
    """Return the size by our count that the next try must stay under.

    Args:
        told: What the refusal tells.
        counted: Size of the refused call by our count.

    Returns:
        Less than ``counted`` in the measure the provider told, else half of it: there is one try.
    """
    if told.limit is None:
        return max(counted // 2, 1)
    share = told.limit / (told.requested or counted)
    return min(counted, max(int(counted * share), 1))


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting = [error]
    for cause in waiting:  # grows as it is gone through
        yield cause
        if len(waiting) < _DEPTH:
            inner = cast("BaseExceptionGroup[Any]", cause).exceptions if _is_group(cause) else ()
            waiting += [*inner, *([cause.__cause__] if cause.__cause__ else [])]


def _is_group(error: BaseException) -> bool:
    return isinstance(error, BaseExceptionGroup)


def _text(error: BaseException) -> str:
    """Return all that an error says, in lower case: its text, code, type and body."""
    parts = [str(error), getattr(error, "code", ""), getattr(error, "type", "")]
    parts += [getattr(error, "body", ""), getattr(error, "message", ""), type(error).__name__]
    return "\n".join(str(part)[:_READ] for part in parts if part).lower()


def _may_be(error: BaseException, text: str) -> bool:
    return _status(error) not in _OTHER_STATUS and not _RATE.search(text)


def _status(error: BaseException) -> int | None:
    response: Any = getattr(error, "response", None)
    if isinstance(response, Mapping):  # of botocore
        fields = cast("Mapping[str, Any]", response)
        status = fields.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        status = getattr(response, "status_code", None)
    found = (getattr(error, "status_code", None), getattr(error, "code", None), status)
    return next((code for code in found if isinstance(code, int)), None)


def _told(text: str) -> Overflow:
    if together := next((m for p in _SHARED if (m := p.search(text))), None):
        return _input_share({name: _whole(digits) for name, digits in together.groupdict().items()})
    limit = next((_whole(m[1]) for p in _LIMITS if (m := p.search(text))), None)
    requested = next((_whole(m[1]) for p in _REQUESTED if (m := p.search(text))), None)
    return Overflow(limit or None, requested or None, limit or None)


def _input_share(told: Mapping[str, int]) -> Overflow:
    """Return what is left to the input where the output was asked for with it."""
    output, window = told["OUTPUT"], told["WINDOW"]
    asked = told["ASKED"] if "ASKED" in told else told["TOTAL"] - output
    return Overflow(max(window - output, 1), max(asked, 0) or None, window)


def _whole(digits: str) -> int:
    return int(digits.replace(",", "").replace("_", ""))
