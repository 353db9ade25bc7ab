"""The tasks of a thread: which one a message belongs to, and one state for each.

A task is given (``task_id``) or noticed: the user names a new one or returns to one, or a long
message shares next to no telling word with what was said and touched so far. Switching parks the
state of the task that was worked on; switching back restores it. Orders and definitions hold for
every task.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from langledger.state.records import WorkingState
from langledger.state.statements.bilingual import in_english
from langledger.state.statements.likeness import features
from langledger.state.text import one_line

__all__ = ["belongs_to", "switched", "with_topic"]

MAX_TOPIC = 600
MAX_TASKS = 50

_NEW = re.compile(
    r"\A\W*(?:(?:ok(?:ay)?|great|thanks?(?: you)?|now|so|alright|good|done|and|next)[,.!]?\s+)*"
    r"(?:(?:a |the )?(?:new|next|different|another|separate|unrelated) (?:task|topic|subject|issue"
    r"|project|request|job|ticket)\b\s*[:,.—–-]|next up\s*[:：—–-]"
    r"|switching (?:gears|topics|tasks)\b"
    r"|let'?s (?:switch|move on|go on|turn) to"
    r" (?:(?:a |an )?(?:different|another|new|separate|unrelated)\b|something (?:else|different"
    r"|new)\b)"
    r"|let'?s (?:do|work on|try) something (?:else|different|new)\b(?! (?:here|there|with|for"
    r"|in)\b)"
    r"|(?:moving )?on to (?:the next|another|a (?:new|different|separate)) (?:task|one|thing|issue"
    r"|topic|ticket)\b"
    r"|(?:here(?:'s| is)|i have|i've got) (?:a|an|the|your|another)"
    r" ?(?:new|next|different|separate|unrelated)? (?:task|assignment|ticket|topic)\b"
    r"|(?:please )?(?:work on|take|start|begin)(?: on)? (?:the next|another|a (?:new|different"
    r"|separate)) (?:task|issue|ticket|topic|project|assignment)\b"
    r"|(?:on to|now) (?:for )?(?:something (?:completely |entirely |totally )?(?:different|else))\b"
    r"|unrelated(?:ly)?[,:]"
    r"|change of (?:topic|subject)\b|(?:forget|leave) (?:all )?that (?:for now)?[,.]"
    r" (?:new|next)\b)"
    r"|\A(?:好的?|嗯|那么?|接下来|现在|行)?[，,。！]?\s*(?:我们)?(?:换个|换一个"
    r"|开始(?:做)?(?:一个)?新的?|新的?|下一个|下个|另一个|另外一个)"
    r"(?:话题|任务|需求|课题|工作|问题)(?:[，,：:。！吧]|\Z)|\A下一[个件项][：:]",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\A\W*(?:(?:ok(?:ay)?|great|thanks?|now|so|alright|good|and|let'?s|can we|please)[,.!]?\s+)*"
    r"(?:(?:go(?:ing)?|get(?:ting)?|come|coming|switch(?:ing)?|return(?:ing)?|turn) back to|back to"
    r"|return(?:ing)? to|resume|pick up|continue with)\s+(?P<en>.{3,160})"
    r"|\A(?:好的?|嗯|那么?|现在|行)?[，,。！]?\s*(?:我们)?(?:回到"
    r"|继续(?:做)?(?:之前|刚才|原来)的?|接着(?:做)?(?:之前|刚才"
    r"|原来)的?|切回)(?P<zh>.{2,60})",
    re.IGNORECASE,
)
# To what was done before, by no name; what began the thread is not what was done last.
_BEFORE = re.compile(
    r"(?:the |my |our |that )?(?:(?P<first>first|original|initial|very first)|previous|prior"
    r"|earlier"
    r"|former|other|old|last) (?:task|topic|thing|one|issue|ticket|work|subject|job)\b"
    r"|(?:what|where) (?:we|you|i) (?:did|were|had|stopped|left|worked|was)\b"
    r"|(?:(?P<zh_first>最初|最早|最开始|第一个)|上一?个?|之前|刚才|原来|前一个|先前)"
    r"的?(?:那个)?(?:任务|话题|工作|事情?|问题|需求)",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    # an event of a host, or a command's prompt; what a tag wraps that names the work is read
    r"\A\s*<(?!(?:pr_description|issue|issue_description|task|problem_statement|uploaded_files"
    r"|user_query|request)>)|\A\W*(?:operation stopped by|another \w+ session sent|\[request )"
    r"|\A\W*(?:and|also|but|yes|yep|no|it|that|this|these|those|then|ok|okay|alright|so|still|um+"
    r"|hm+|oh|ah|sorry|well|commit|push"
    r"|again|continue|go on"
    r"|keep|same|the (?:above|same|rest)|there|he|she|they|why|any|other|what about|how about)\b"
    r"|\A\W*(?:还|也|但|是的|不|这|那|它|然后|继续|再|同样)",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[A-Za-z][\w-]*>")
# A ticket that the message is about; a pull request may be the one this task made.
_TICKET = re.compile(
    r"\A\W*(?i:(?:please|can you|could you|now|next|ok(?:ay)?)[,.!]?\s+)*"
    r"(?i:(?:address|fix|look (?:at|into)|check(?: out)?|work on|implement|resolve|handle|take|do"
    r"|start(?: on)?|see|solve|修复|处理|看一?下)\s*)?"
    r"[\[(]?(?P<ticket>https?://[^/\s]+/(?P<owner>[^\s\])]+?)/(?P<project>[^/\s\])]+)/(?:-/)?"
    r"(?:issues?|discussions|work_items|tickets?)/[\w-]+"
    r"|(?P<key>(?!(?:UTF|SHA|ISO|HTTP|RFC|CVE|PEP|UTC|GMT|AES|RSA|GPT|MD|MP|IEEE|ANSI|CP|TLS|SSL"
    r"|UUID|CRC"
    r"|COVID|BASE|ES|PY|WIN|LATIN|ERR|ERROR|EXIT|CODE)-)[A-Z][A-Z0-9]{1,9})-\d{1,6}\b(?!-))"
)
_REFERS = re.compile(
    r"\b(?:everything|once more|as (?:before|discussed)|(?:we|you) just)\b|再一遍|刚才|以上|全部",
    re.IGNORECASE,
)
# What is said of any work with code, stemmed as features are; it tells no task from another.
_OF_ANY_WORK = frozenset(
    word
    for words in (
        "add agent bug build call chang check class code command commit config correct creat",
        "current data default describ descript error exampl exist fail file find fix follow func",
        "get handl help implement input issu key lin list look mak message name need new output",
        "pass plan pleas problem project proper pull push read remov repo request requir run set",
        "show solv start support test try type updat user valu version want way work",
        "一个 代码 修复 文件 测试 功能 添加 实现 修改 帮我 问题 运行 项目 检查",
    )
    for word in words.split()
)
_FOREIGN_WORDS, _FOREIGN = 12, 0.1
_LONG_WORDS, _LONG_FOREIGN = 20, 0.12  # the more is said, the less of it is said by chance
_KNOWN_WORDS = 40
_RETURNS = 0.5
_AT_HOME, _TELLING_WORDS, _TRADE_WORDS = 0.4, 4, 3
_NEAR = 0.25
_TITLE_WORDS = 2  # without which what was said before is a greeting
_LOOKED_AT = 600  # characters of a message
_MOST_NAMES = 200
_SEPARATORS = re.compile(r"[/_.-]")


def belongs_to(state: WorkingState, text: str, source: int) -> str | None:
    """Return the task a user message belongs to.

    Args:
        state: The state before it.
        text: What the user typed.
        source: Seq of its entry, after which a new task is named.
    """
    start = text[:_LOOKED_AT]
    if state.other_tasks and (found := _returned_to(state, start)) is not None:
        return found or None
    begun = _has_work(state)
    told = len(features(state.task_title).words) >= _TITLE_WORDS and _NEW.match(start)
    if not (begun or told):
        return state.task_id
    if _NEW.match(start) or _names_other(state, start) or _is_foreign(state, start):
        return f"task-{source}"
    return state.task_id


def switched(
    state: WorkingState, task_id: str | None, *, title: str = "", given: bool = True
) -> WorkingState:
    """Return the state of another task of the thread, this one's kept beside it.

    The first task that a thread is given takes over what was said before it had one; one that was
    noticed does not.
    """
    if task_id == state.task_id:
        return state
    parked = dict(state.other_tasks)
    fresh = state.task_id is None and not _has_work(state)
    if given and fresh and (task_id or "") not in parked:
        return state.model_copy(update={"task_id": task_id, "task_title": title})
    parked[state.task_id or ""] = state.model_copy(update={"other_tasks": {}})
    found = parked.pop(task_id or "", None) or WorkingState(task_id=task_id, task_title=title)
    while len(parked) > MAX_TASKS:
        parked.pop(next(iter(parked)))
    shared: dict[str, Any] = {
        name: getattr(state, name)
        for name in (
            "failures_told",
            "cwd",
            "shell_cwd",
            "shell_position",
            "pending",
            "last_action",
            "conventions",
            "definitions",
            "heard",
            "merged",
        )
    }
    return found.model_copy(update={**shared, "other_tasks": parked}).snapshot()


def with_topic(state: WorkingState, text: str) -> None:
    """Add the words of a text to what the task is about; changes the state."""
    line = one_line(text, 500)
    for word in features(line).words | in_english(line):
        state.topic[word] = state.topic.get(word, 0) + 1
    if len(state.topic) > MAX_TOPIC:
        kept = sorted(state.topic.items(), key=lambda i: ("://" not in i[0], -i[1], i[0]))
        state.topic = dict(kept[: MAX_TOPIC // 2])


def _returned_to(state: WorkingState, text: str) -> str | None:
    """Return the parked task that a message says to return to, or is about; None: none."""
    found = _BACK.match(text)
    if found is None:
        of_ticket = _of_ticket(state, text)
        return _at_home_in(state, text) if of_ticket is None else of_ticket
    named = found["en"] or found["zh"]
    if before := _BEFORE.match(named):
        others = [*state.other_tasks]
        return others[0 if before["first"] or before["zh_first"] else -1]
    fits = (
        (fit, key)
        for key, other in state.other_tasks.items()
        if (fit := _fit(named, other)) >= _RETURNS and fit > _fit(named, state)
    )
    return max(fits, key=lambda fit: fit[0], default=(0.0, None))[1]


def _fit(named: str, state: WorkingState) -> float:
    """Return how much of what is named a task was called or about, in either language."""
    title = state.task_title
    known = features(title).words | in_english(title) | state.topic.keys()
    sides = (features(named).words, in_english(named))
    return max((len(words & known) / len(words) for words in sides if words), default=0.0)


def _of_ticket(state: WorkingState, text: str) -> str | None:
    """Return the parked task in which the ticket was spoken of that a message begins with."""
    found = _TICKET.match(text)
    if found is None or _knows(state, found["ticket"]):
        return None
    others = state.other_tasks.items()
    return next((key for key, other in others if _knows(other, found["ticket"])), None)


def _at_home_in(state: WorkingState, text: str) -> str | None:
    """Return the parked task whose words a message speaks, and not those of the current one."""
    if _GOES_ON.match(text):
        return None
    plain = _SEPARATORS.sub(" ", _TAG.sub(" ", text))
    for words, least in ((_telling(plain), _TELLING_WORDS), (in_english(plain), _TRADE_WORDS)):
        if len(words) < least or _share(words, state) > _foreign_share(words):
            continue
        shares = ((_share(words, other), key) for key, other in state.other_tasks.items())
        best = max(shares, default=(0.0, ""))
        # a long message that is no part of this task is rather of one it is near than of a new one
        if best[0] >= (_NEAR if len(words) >= _FOREIGN_WORDS else _AT_HOME):
            return best[1]
    return None


def _is_foreign(state: WorkingState, text: str) -> bool:
    """Whether a long message has next to no telling word of the task so far."""
    if len(state.topic) < _KNOWN_WORDS or _GOES_ON.match(text) or _REFERS.search(text):
        return False
    words = _telling(_TAG.sub(" ", text))
    foreign = len(words) >= _FOREIGN_WORDS and _share(words, state) <= _foreign_share(words)
    return foreign and _share(in_english(text), state, none=0.0) <= _FOREIGN


def _foreign_share(words: frozenset[str]) -> float:
    """Return how many of some words a task may know that they are foreign to."""
    spelled = sum(word.isascii() for word in words)  # a Chinese word is several pairs
    return _LONG_FOREIGN if spelled >= _LONG_WORDS else _FOREIGN


def _names_other(state: WorkingState, text: str) -> bool:
    """Whether a message begins with a ticket of a project that the task so far has not named.

    The next ticket of the same project may well go on with the same files.
    """
    found = _TICKET.match(text)
    if found is None or not state.topic:
        return False
    if key := found["key"]:
        known = any(word.startswith(f"{key.lower()}-") for word in state.topic)
        return not known and _share(_telling(text[found.end() :]), state, none=0.0) < _AT_HOME
    named = f"{found['owner']}/{found['project']}".lower()
    own = features(_SEPARATORS.sub(" ", found["project"])).words
    places = " ".join((*state.topic, state.cwd or "", *islice(state.files_read, _MOST_NAMES)))
    return named not in places.lower() and not own <= features(_SEPARATORS.sub(" ", places)).words


def _knows(state: WorkingState, ticket: str) -> bool:
    return bool(features(ticket).words & state.topic.keys())


def _telling(text: str) -> frozenset[str]:
    words = features(one_line(text, _LOOKED_AT)).words - _OF_ANY_WORK
    return frozenset(word for word in words if len(word) > 2 or not word.isascii())


def _share(words: frozenset[str], state: WorkingState, *, none: float = 1.0) -> float:
    """Return how many of some words, ``none`` of no words, a task said or touched by name."""
    names = (path.rpartition("/")[2] for path in (*state.files_touched, *state.files_read))
    paths = " ".join(islice(names, _MOST_NAMES))
    known = state.topic.keys() | features(_SEPARATORS.sub(" ", paths)).words
    return len(words & known) / len(words) if words else none


def _has_work(state: WorkingState) -> bool:
    return bool(
        state.files_touched
        or state.commands
        or state.task_progress
        or state.decisions
        or state.files_read
    )
