"""Whether what a model answered can stand for the messages it was to summarise.

Models have answered with nothing, with a refusal, with the next step of the work, with the
gateway's error page, with the transcript or with the prompt itself, and each has replaced
a history somewhere. The checks are for precision: a good summary may tell of errors and
refusals, so most checks look at how an answer begins, and only at short ones that cite
no entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage

from langledger.compaction.grounds import Grounds
from langledger.compaction.transcript import HEADER, readable_text, reasoning_text
from langledger.tokens import count_text

__all__ = ["MOST_OVER", "check_summary"]

MOST_OVER = 4
"""How many times as long as it was asked for a summary may be; it is cut at a sentence then."""

_LEAST_BYTES = 24  # of UTF-8; a text of less says nothing
_SHORT = 120  # tokens
_FEW_WORDS = 40
_SMALL_SOURCE = 200  # tokens; a summary of so little may be somewhat longer than it

# Each begins an answer.
_REFUSAL = re.compile(
    r"""^\W*(?:
    (?:i'm|i\ am|we're)\ (?:\w+\ )?(?:sorry|unable\ to|not\ able\ to)
    | (?:sorry|apologies|my\ apologies)\b[\ ,.]*(?:but|i|we|this|that)\b
    | i\ (?:can(?:not|'t)|could(?:n't|\ not)|won't|will\ not|must\ decline|do(?:n't|\ not)\ have)
      \b.{0,60}?\b(?:help|assist|comply|fulfil|summar|discuss|engage|that\ request|this\ request
        |your\ request|conversation|transcript|the\ messages|the\ content)
    | as\ an?\ (?:ai|(?:large\ )?language\ model)\b
    | (?:the\ |this\ |previous\ )*conversation\ (?:was|is)\ too\ long
    | there(?:\ is|'s)\ (?:nothing|no\ (?:conversation|transcript|content|history))
      \ (?:to|here|in|was)\b
    | (?:please|could\ you|can\ you)\ (?:please\ )?(?:provide|share|paste|give|send)\b
    | (?:很|非常)?抱歉 | 对不起 | 作为(?:一个|一名)?(?:AI|人工智能|语言模型) | 请(?:您|你)?提供
    | (?:我)?(?:无法|不能|没办法)(?:帮|协助|提供|回答|总结|概括|处理您|处理你|访问对话|满足)
    )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_ERROR = re.compile(
    r"""^\W*(?:
    (?:(?:api|internal|server|http|request)\ )*(?:error|exception)\b
      \W{0,4}(?:code\W{0,4})?(?:\d{3}\b|:)
    | (?:[45]\d\d\ )?(?:too\ many\ requests|bad\ gateway|unauthorized|forbidden|bad\ request
      |internal\ server\ error|service\ unavailable|gateway\ time-?out|payload\ too\ large)
    | (?:\w+\.)*\w*(?:error|exception):\ | rate\ limit\ (?:exceeded|reached)
    | (?:the\ )?(?:service|model)\ is\ (?:temporarily\ |currently\ )?(?:unavailable|overloaded)
    | request\ timed\ out | context[ _]length[ _]exceeded
    | 错误[:：] | 请求(?:失败|超时) | 服务(?:暂时)?不可用
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_ERROR_PAGE = re.compile(
    r"^\s*(?:<!doctype html|<html\b|<\?xml|traceback \(most recent call last\)"
    r"|\{\s*[\"'](?:error|errors|detail)[\"']\s*:)",
    re.IGNORECASE,
)
_CONTINUES = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|sure|now|great|right|next)\b[,.! ]*)*(?:let me|i'll|i will|i'm going to) "
    r"(?:now |next |first |also |go ahead and )*"
    r"(?:run|check|look|read|edit|fix|continue|start|open|create|update|search|proceed|try|add|make)\b"
    r"|^\W*(?:好的?[,，。 ]*)?(?:让我|我来|我将|我会|接下来我)(?:先|再|继续|开始)?"
    r"(?:运行|检查|查看|读取|修改|修复|继续|打开|创建|更新|搜索)",
    re.IGNORECASE,
)
_CALL_SYNTAX = re.compile(
    r"^\W*(?:<(?:\w+:)?(?:tool_call|function_calls|invoke|function=)|\[TOOL_CALLS?\]"
    r"|\{\s*\"(?:name|tool|function|tool_calls)\"\s*:)"
)
_INSTRUCTION = re.compile(
    r"""^\W*(?:
    you\ (?:keep\ the\ record|(?:will\ be|are|have\ been)\ given
      |are\ an?\ .{0,80}?(?:summar|compact|record|assistant))
    | (?:write|create|provide|produce|give)\ (?:\w+\ ){0,4}(?:summary|record|account|recap)\b
      .{0,160}?\b(?:transcript|conversation|messages|history|session)\b
    | summari[sz]e\ (?:the|this)\ .{0,60}?(?:transcript|conversation|messages|history|session)
    | parts\ of\ one\ record,\ in\ order | the\ record\ so\ far;\ carry\ over
    | end\ of\ the\ transcript\.\ write
    | 请(?:总结|概括)(?:以上|以下|上述|这段|本次)? | 你(?:负责|需要)(?:总结|记录)
    )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_TURN = re.compile(
    r"^\W{0,4}(?:human|user|assistant|ai|system|tool(?: result)?|用户|助手|工具)\W{0,4}?[:：]",
    re.IGNORECASE,
)
# A number in brackets that is a link is a pull request's, not an entry's.
_REFS = re.compile(r"\[(#\d{1,18}(?:\s*[,;–-]\s*#?\d{1,18})*)\](?!\()")
_LAST_CHARACTER = re.compile(r"[.!?。！？…:;)\]}>\"'`*|』」）】]\s*$")

_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_STOPPED = frozenset({"content_filter", "refusal", "safety", "prohibited_content", "blocklist"})


def check_summary(
    answer: BaseMessage | str,
    *,
    source_tokens: int,
    max_tokens: int,
    known_refs: AbstractSet[int] | None = None,
    grounds: Grounds | None = None,
) -> str | None:
    """Say why an answer cannot be used as a summary.

    Args:
        answer: What the model answered.
        source_tokens: Size of what was to be summarised.
        max_tokens: The most tokens that were asked for; see :data:`MOST_OVER`.
        known_refs: The seqs that it may cite as ``[#n]``; None: citations are not checked.
        grounds: What its claims may rest on; None: they are not checked.

    Returns:
        The reason, in a few words; None where it can be used.
    """
    message = AIMessage(answer) if isinstance(answer, str) else answer
    text = readable_text(message).strip().replace("’", "'")
    if not text:
        return _why_empty(message)
    tokens = count_text(text)
    return (
        _check_stop(message, text, tokens, max_tokens)
        or _check_beginning(text, short=tokens <= _SHORT and not _REFS.search(text))
        or _check_calls(message, tokens)
        or _check_size(tokens, source_tokens, max_tokens)
        or _check_echo(text)
        or _check_refs(text, known_refs)
        or (grounds.problem(text) if grounds is not None else None)
    )


def _why_empty(answer: BaseMessage) -> str:
    if isinstance(answer, AIMessage) and (answer.tool_calls or answer.invalid_tool_calls):
        return "only tool calls"
    content = cast("object", answer.content)
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    kinds = {cast("Mapping[str, Any]", b).get("type") for b in blocks if isinstance(b, Mapping)}
    hidden = kinds & {"thinking", "redacted_thinking", "reasoning"}
    return "only thinking" if hidden or reasoning_text(answer).strip() else "empty"


def _check_stop(answer: BaseMessage, text: str, tokens: int, max_tokens: int) -> str | None:
    """Find an answer that was stopped; one that was cut off near its end is still of use."""
    reason = _stop_reason(answer.response_metadata)
    if reason in _STOPPED:
        return f"stopped by the provider ({reason})"
    if reason not in _CUT_OFF:
        return None
    chinese = sum("一" <= char <= "鿿" for char in text)
    if len(text.split()) + chinese // 2 < _FEW_WORDS:
        return "cut off after a few words"
    if tokens < max_tokens and not _LAST_CHARACTER.search(text):
        return "cut off in mid sentence, before its length"
    return None


def _stop_reason(metadata: Mapping[str, Any]) -> str:
    keys = ("finish_reason", "stop_reason", "stopReason", "done_reason")
    details = metadata.get("incomplete_details")
    found = [metadata.get(key) for key in keys]
    if isinstance(details, Mapping):
        found.append(cast("Mapping[str, Any]", details).get("reason"))
    return next((value.lower() for value in found if isinstance(value, str) and value), "")


def _check_beginning(text: str, *, short: bool) -> str | None:
    if _ERROR_PAGE.search(text) or (short and _ERROR.search(text)):
        return "an error message"
    if _CALL_SYNTAX.search(text):
        return "tool calls written as text"
    if short and _REFUSAL.search(text):
        return "a refusal"
    if short and _CONTINUES.search(text):
        return "the next step of the work"
    if len(text.encode("utf-8", "replace")) < _LEAST_BYTES:
        return "too short to say anything"
    return None


def _check_calls(answer: BaseMessage, tokens: int) -> str | None:
    called = isinstance(answer, AIMessage) and (answer.tool_calls or answer.invalid_tool_calls)
    return "tool calls in place of a summary" if called and tokens <= _SHORT else None


def _check_size(tokens: int, source_tokens: int, max_tokens: int) -> str | None:
    if tokens > MOST_OVER * max_tokens:
        return f"{tokens} tokens, more than {MOST_OVER} times the {max_tokens} asked for"
    if tokens > max(source_tokens, min(source_tokens * 2, _SMALL_SOURCE)):
        return f"{tokens} tokens, longer than its source of {source_tokens}"
    return None


def _check_echo(text: str) -> str | None:
    if len(HEADER.findall(text)) > 1:
        return "the transcript itself"
    if _INSTRUCTION.search(text):
        return "the instruction itself"
    lines = [line for line in text.splitlines() if line.strip()]
    turns = sum(bool(_TURN.search(line)) for line in lines)
    if turns >= 4 and turns * 2 > len(lines) and not _REFS.search(text):
        return "a dialogue, not a summary"
    return None


def _check_refs(text: str, known: AbstractSet[int] | None) -> str | None:
    if known is None:
        return None
    cited = {int(number) for group in _REFS.findall(text) for number in re.findall(r"\d+", group)}
    unknown = sorted(cited - known)
    if not unknown:
        return None
    return f"it cites entries that were not summarised: {', '.join(f'#{n}' for n in unknown[:5])}"
