"""A summary without a model: what was said, in the words it was said in.

Deterministic, and safe to be read by a model: each line is a record of who said or did
what and ends with the entries it came from; nothing in it is an order, and only the
user's own messages are quoted as the user's.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from langchain_core.messages import BaseMessage

from langledger.compaction.digest import Digest, Request
from langledger.compaction.found import Finding, Section
from langledger.compaction.sentences import split_sentences, words
from langledger.compaction.transcript import serialise_for_summary, split_for_summary
from langledger.tokens import count_text, count_texts, cut_text
from langledger.tokens.text import well_formed

__all__ = [
    "extract_summary",
    "serialise_for_summary",
    "split_for_summary",
    "summarise_digest",
    "summarise_requests",
]

_REQUEST_SHARE = 0.5
_ANSWER_SHARE = 0.2
_RULE_SHARE = 0.12
_SPARE = 1.0  # findings of less are told where room is left
_MOST_FOR_REQUESTS = 0.9
_LEAST_PER_REQUEST = 22  # tokens that a shortened request needs to say anything
_EDGE_WEIGHT = 4  # the first and the newest request get this many times the others' room
_SAME = 0.75
_SECTION_SHARE = {Section.WORK: 0.7, Section.ERRORS: 0.35, Section.OPEN: 0.2, Section.COMMANDS: 0.3}


def extract_summary(messages: Sequence[tuple[int, BaseMessage]], *, max_tokens: int) -> str:
    """Summarise messages by their own most telling lines; see :func:`summarise_digest`.

    Args:
        messages: Each with its entry's seq, in order. Human messages with
            ``additional_kwargs["synthetic"]`` are not the user's and are left out.
        max_tokens: The most tokens the summary has.
    """
    digest = Digest()
    digest.extend(messages)
    return summarise_digest(digest, max_tokens=max_tokens)


def summarise_digest(
    digest: Digest, *, max_tokens: int, covered: Container[int] | None = None, beside: str = ""
) -> str:
    """Summarise a history by its own most telling lines.

    All user requests come first: verbatim while there is room, then shortened, the first and
    the newest last. Then come the user's answers to a tool's questions, and rules of the
    project's instruction files. What remains goes to conclusions, test results, errors, open
    points and commands by score, in the order of the conversation within each kind.

    Args:
        digest: What was read of the history.
        max_tokens: The most tokens the summary has.
        covered: The entries to tell of; None: all that were read.
        beside: What the view shows beside it; commands named there are left out.

    Returns:
        Lines that each end with their source, such as ``[#17]`` or ``[#4, #9]``; empty where there
        is nothing to say or no room to say it.
    """
    requests, answers = digest.requests(covered), digest.answers(covered)
    told = _fitting(answers, int(max_tokens * _ANSWER_SHARE))
    findings = digest.findings(covered) or ([] if told else digest.last_resort(covered))
    findings = [of for of in findings if of.section != Section.COMMANDS or of.text not in beside]
    costs = _costs(findings)
    rest = sum(cost for cost, of in zip(costs, findings, strict=True) if of.score >= _SPARE)
    asked = _request_lines(
        requests, _room_for_requests(len(requests), rest, max_tokens - sum(_costs(told)))
    )
    left = max_tokens - sum(count + 1 for count in count_texts(asked)) - sum(_costs(told))
    rules = _fitting(digest.rules(covered), min(int(max_tokens * _RULE_SHARE), left))
    chosen = _choose(findings, costs, left - sum(_costs(rules)))
    others = _one_line_a_run([findings[i] for i in sorted(chosen)])
    others.sort(key=lambda of: (of.section, of.seqs[-1]))
    droppable = [*sorted(others, key=lambda of: of.score), *reversed(rules), *told]
    return _join(asked, [*told, *rules, *others], droppable, max_tokens)


def summarise_requests(digest: Digest, *, max_tokens: int) -> str:
    """Return what the user asked; see :func:`summarise_digest`."""
    return _join(_request_lines(digest.requests(None), max_tokens), [], [], max_tokens)


def _costs(findings: Iterable[Finding]) -> list[int]:
    """Return the tokens of each line and its end; of lines that are as they were, as counted."""
    findings = list(findings)
    new = [of for of in findings if of.size[0] != _shape(of)]
    for finding, count in zip(new, count_texts(list(map(_render, new))), strict=True):
        finding.size = _shape(finding), count + 1
    return [finding.size[1] for finding in findings]


def _shape(finding: Finding) -> tuple[int, int]:
    """Return what the length of a line depends on, beside its words."""
    return len(finding.seqs) + len(finding.alike), finding.seqs[-1]


def _fitting(findings: list[Finding], room: int) -> list[Finding]:
    """Take findings by score while they fit; return them in the order they were said in."""
    costs = _costs(findings)
    taken: list[int] = []
    for index in sorted(range(len(findings)), key=lambda i: (-findings[i].score, i)):
        if costs[index] <= room:
            taken.append(index)
            room -= costs[index]
    return [findings[i] for i in sorted(taken, key=lambda i: (findings[i].seqs[-1], i))]


def _join(
    asked: list[str], chosen: list[Finding], droppable: Iterable[Finding], max_tokens: int
) -> str:
    """Join the lines; where the seams made it too long, drop the least first."""
    lines = {id(finding): _render(finding) for finding in chosen}
    candidates = iter(droppable)
    while True:
        text = "\n".join([*asked, *lines.values()])
        if count_text(text) <= max_tokens:
            return text
        least = next(candidates, None)
        if least is not None:
            del lines[id(least)]
        elif asked:
            asked.pop(len(asked) // 2)
        else:
            return ""


# --- what the user asked ---------------------------------------------------------------------


def _room_for_requests(number: int, rest: int, max_tokens: int) -> int:
    wanted = max(
        int(max_tokens * _REQUEST_SHARE), max_tokens - rest, (number + 1) * _LEAST_PER_REQUEST
    )
    return min(wanted, int(max_tokens * _MOST_FOR_REQUESTS) if rest else max_tokens)


def _request_lines(requests: list[Request], room: int) -> list[str]:
    """Write each request, shortened where they do not all fit."""
    kept, skipped = _keep_requests(requests, room)
    note = [_skipped_line(skipped)] if skipped else []
    room -= sum(count + 1 for count in count_texts(note))
    lines: list[str] = []
    for context in (True, False):
        lines = [_request_line(request, request.text, context=context) for request in kept]
        costs = [count + 1 for count in count_texts(lines)]
        if sum(costs) <= room:
            break
    else:
        shares = _shares(costs, room)
        for index, (cost, share) in enumerate(zip(costs, shares, strict=True)):
            if cost > share:
                lines[index] = _shortened(kept[index], share)
    return [line for line in (*lines[:1], *note, *lines[1:]) if line]


def _skipped_line(skipped: list[Request]) -> str:
    seqs = [seq for request in skipped for seq in request.seqs]
    return f"- The user sent {len(seqs)} more messages, not quoted here {_refs(seqs)}"


def _keep_requests(requests: list[Request], room: int) -> tuple[list[Request], list[Request]]:
    """Where there is not even a little room for each, keep the first and the newest."""
    most = max(2, room // _LEAST_PER_REQUEST - 1)
    if len(requests) <= most:
        return requests, []
    return [requests[0], *requests[-(most - 1) :]], requests[1 : -(most - 1)]


def _shares(costs: list[int], room: int) -> list[int]:
    """Divide the room: who needs less than an equal part leaves the rest to the others."""
    weights = [_EDGE_WEIGHT if i in {0, len(costs) - 1} else 1 for i in range(len(costs))]
    shares = [0] * len(costs)
    open_ones = sorted(range(len(costs)), key=lambda i: (costs[i] / weights[i], i))
    weight = sum(weights)
    for index in open_ones:
        shares[index] = min(costs[index], room * weights[index] // weight)
        room -= shares[index]
        weight -= weights[index]
    return shares


def _request_line(request: Request, text: str, *, context: bool = False) -> str:
    asked = f' when asked "{request.question}"' if context and request.question else ""
    return f'- {request.label}{asked}: "{text}" {_refs(request.seqs)}'


def _shortened(request: Request, tokens: int) -> str:
    """Keep the first sentences, and the last where a long text leads to it."""
    room = tokens - count_text(_request_line(request, "")) - 2
    if room < 4:
        return ""
    parts = split_sentences(request.text)
    kept = _leading(parts, room * 3 // 4)
    tail = parts[-1] if kept < len(parts) else ""
    text = " ".join(parts[:kept])
    if kept and tail and count_text(f"{text} … {tail}") <= room:
        return _request_line(request, f"{text} … {tail}")
    if kept and count_text(text) > room // 3:
        return _request_line(request, f"{text} …")
    return _request_line(request, f"{cut_text(request.text, room).rstrip()}…")


def _leading(parts: list[str], room: int) -> int:
    for index, cost in enumerate(count_texts(parts)):
        room -= cost + 1
        if room < 0:
            return index
    return len(parts)


# --- what was done and found -------------------------------------------------------------------


def _render(finding: Finding) -> str:
    times = [f"{len(finding.seqs)} times"] if len(finding.seqs) > 1 else []
    alike = [f"and {len(finding.alike)} more like it"] if finding.alike else []
    count = f" ({', '.join(times + alike)})" if times or alike else ""
    refs = _refs([*finding.alike, *finding.seqs])
    return well_formed(f"- {finding.label}: {finding.text}{count} {refs}")


def _refs(seqs: Sequence[int]) -> str:
    unique = sorted(set(seqs))
    shown = unique if len(unique) <= 3 else [unique[0], unique[-2], unique[-1]]
    return f"[{', '.join(f'#{seq}' for seq in shown)}]"


def _choose(findings: list[Finding], costs: list[int], room: int) -> list[int]:
    """Take findings by score while they fit; first within each section's share, then beyond.

    A sentence is left out where one that is taken says it in about the same words; a line of a
    program only where each of its words is there: two errors may differ in one name.
    """
    ranked = sorted(
        range(len(findings)), key=lambda i: (-findings[i].score, -findings[i].seqs[-1], i)
    )
    caps = {section: int(room * share) for section, share in _SECTION_SHARE.items()}
    chosen: dict[int, None] = {}
    seen: list[frozenset[str]] = []
    for limited in (True, False):
        for index in ranked:
            section, cost = findings[index].section, costs[index]
            if index in chosen or cost > room or (limited and cost > caps[section]):
                continue
            content = words(findings[index].text)
            exact = bool(findings[index].run)
            if any(content <= other if exact else _same(content, other) for other in seen):
                continue
            chosen[index] = None
            seen.append(content)
            caps[section] -= cost
            room -= cost
    return list(chosen)


def _one_line_a_run(findings: Iterable[Finding]) -> list[Finding]:
    """Tell what one run of a command said in one line, so that one failure is not told as three."""
    runs: dict[tuple[object, ...], list[Finding]] = {}
    # Findings come in the order they were said in; those of one message keep it.
    for of in sorted(findings, key=lambda of: (of.section, of.seqs)):
        runs.setdefault((of.label, *of.seqs, -1, *of.alike) if of.run else (id(of),), []).append(of)
    return [
        said[0]
        if len(said) == 1
        else replace(
            said[-1], text="; ".join(of.text for of in said), score=max(of.score for of in said)
        )
        for said in runs.values()
    ]


def _same(new: frozenset[str], known: frozenset[str]) -> bool:
    """Whether a line adds hardly a word to one that is taken, and no number or number-like name."""
    if any(char.isdigit() for word in new - known for char in word):
        return False
    return len(new & known) >= _SAME * min(len(new), len(known)) > 0
