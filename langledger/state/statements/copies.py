"""What a user's message only shows: a mail, a text to translate, what a figure of a novel says.

A line or sentence that ends in a colon hands it over. It is nobody's order and tells nothing of the
user. What a colon hands over of the user's own, such as a list of rules, stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

__all__ = ["without_copies"]

_TEXT = (
    r"(?:texts?|sentences?|paragraphs?|passages?|essays?|letters?|e?-?mails?|messages?|articles?"
    r"|poems?|lyrics|stor(?:y|ies)|novels?|quot(?:e|ation)s?|tweets?|bios?|speech(?:es)?"
    r"|transcripts?|conversations?|dialog(?:ue)?s?|chats?|abstracts?|captions?|repl(?:y|ies)"
    r"|responses?|excerpts?|prompts?)"
)
_TEXT_ZH = (
    r"(?:邮件|信件?|消息|短信|回复|文章|文字|文本|内容|原文|段落|句子|话|对话|台词|评论|聊天记录"
    r"|简历|作文|故事|歌词|提示词)"
)
# What only machines print is told by other marks than a head, and orders may follow it.
_PRINTED = r"(?:logs?|outputs?|reviews?|comments?|errors?)"
_SHOWS = (
    r"\b(?:here(?:['’]s| is| are)|this is|below is|(?:i|we) (?:just )?(?:got|get|see|received))\b"
    r"[^:]{0,40}\b"
)
_EDITED = re.compile(
    r"\b(?:translate|proof-?read|rephrase|paraphrase|reword|summari[sz]e|spell-?check|grammar"
    r"|spelling)\b|翻译|润色|改写|校对|总结|概括|扩写|缩写|续写",
    re.IGNORECASE,
)
_COPIED = re.compile(
    rf"{_SHOWS}{_TEXT}\b"
    rf"|\b(?:this|the following|following|below) (?:[\w-]+ ){{0,2}}{_TEXT}\b"
    rf"|\b(?:rewrite|shorten|polish|improve|correct|reply to|respond to)\b[^:]*\b{_TEXT}\b"
    rf"|\A\W*(?:(?:the|my|an?|original|full|source|input|sample) )*{_TEXT}\s*\Z"
    r"|(?<!\bi )(?<!\bwe )\b(?:says?|said|writes?|wrote|replie[sd]|answered|told \w+|sings?"
    r"|shouts?|reads)\s*\Z"
    rf"|(?:这是|以下是|下面是|如下|收到|看到)[^：:]*{_TEXT_ZH}|(?:这段|这篇|这封|下面|以下)的?{_TEXT_ZH}"
    r"|(?<!我)(?<!我们)(?:说|写道|回复|回答|喊|唱)(?:道|了)?\s*\Z",
    re.IGNORECASE,
)
_PRINTED_HERE = re.compile(rf"{_SHOWS}{_PRINTED}\b", re.IGNORECASE)
_OWN = re.compile(
    r"\b(?:follow|obey|stick to|adhere|rules?|conventions?|guide(?:lines?)?|polic(?:y|ies)"
    r"|standards?|instructions?|requirements?|according|remember|note|keep in mind)\b"
    r"|规则|规范|约定|遵守|遵循|按照|要求|原则|记住|记下|注意",
    re.IGNORECASE,
)
_COLON = re.compile(r":(?=\s|$)|：")
_STOP = re.compile(r"[:：.!?。！？]")
_LONGEST_HEAD = 160  # characters
_HEADS = 20  # of a line; one with more is no prose
_CODE_NEXT = re.compile(
    r"(?<!\bdo )\b(?:this|that|these|code|file|test|snippet|function|example|here|it)\s*:\s*\Z",
    re.IGNORECASE,
)
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_MARKED = re.compile(r"\s*(?:```|~~~|>|<\w|\|)")
_POINT = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)、])\s*\S")
_PART = re.compile(r"\s*(?:#{1,6} \S|[A-Z][A-Z _-]{3,}:)")  # a heading, as in "INSTRUCTIONS:"
_RULE = re.compile(r"\s*(-{3,}|\*{3,}|={3,}|\"{3}|'{3})\s*\Z")


def without_copies(text: str) -> str:
    """Return a message without the texts of others that its own words hand over.

    On the line of its head such a text ends with the paragraph. Below it, it ends with the list or
    at the line across that it begins with, else at the next heading or with the message.
    """
    if _COLON.search(text) is None:
        return text
    lines, kept, at = text.split("\n"), list[str](), 0
    while at < len(lines):
        line = lines[at]
        at += 1
        end = _head_end(line)
        kept.append(line[:end] if end else line)
        if end:
            at = _paragraph_end(lines, at) if line[end:].strip() else _copy_end(lines, at)
        elif _CODE_NEXT.search(line) and not _INDENTED.match(line):
            at = _indented_end(lines, at)
    return "\n".join(kept)


def _head_end(line: str) -> int:
    """Return where the words end that hand a text of others over; 0 where a line has none."""
    for colon in islice(_COLON.finditer(line), _HEADS):
        before = line[max(0, colon.start() - _LONGEST_HEAD) : colon.start()]
        head = _STOP.split(before)[-1]
        last = not line[colon.end() :].strip()
        copied = _COPIED.search(head) or (_PRINTED_HERE.search(head) and not last)
        if _EDITED.search(head) or (copied and not _OWN.search(head)):
            return colon.end()
    return 0


def _copy_end(lines: Sequence[str], start: int) -> int:
    at = _text_from(lines, start)
    if at == len(lines) or _MARKED.match(lines[at]):
        return start  # what is marked as a quotation or as code is known by its marks
    if across := _RULE.match(lines[at]):
        ends = (n for n in range(at + 1, len(lines)) if lines[n].strip() == across[1])
        return next(ends, len(lines) - 1) + 1
    if not _POINT.match(lines[at]):
        return next((n for n in range(at + 1, len(lines)) if _PART.match(lines[n])), len(lines))
    while at < len(lines) and (_POINT.match(lines[at]) or lines[at][:1].isspace()):
        at += 1
    return at


def _paragraph_end(lines: Sequence[str], start: int) -> int:
    return next((n for n in range(start, len(lines)) if not lines[n].strip()), len(lines))


def _indented_end(lines: Sequence[str], start: int) -> int:
    """Return where a block of code ends that is told by its indentation alone."""
    at = _text_from(lines, start)
    if at == len(lines) or not _INDENTED.match(lines[at]) or _POINT.match(lines[at]):
        return start
    while at < len(lines) and (_INDENTED.match(lines[at]) or not lines[at].strip()):
        at += 1
    return at


def _text_from(lines: Sequence[str], start: int) -> int:
    return next((n for n in range(start, len(lines)) if lines[n].strip()), len(lines))
