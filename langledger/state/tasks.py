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
from langledger.state.statements.likeness import features
from langledger.state.text import one_line

__all__ = ["belongs_to", "switched", "with_topic"]

MAX_TOPIC = 600
MAX_TASKS = 50

_NEW = re.compile(
    r"\A\W*(?:(?:ok(?:ay)?|great|thanks?(?: you)?|now|so|alright|good|done|and|next)[,.!]?\s+)*"
    r"(?:(?:a |the )?(?:new|next|different|another|separate|unrelated) (?:task|topic|subject|issue"
    r"|project|request|job)\b\s*[:,.—–-]|switching (?:gears|topics|tasks)\b"
    r"|let'?s (?:switch|move on) to"
    r" (?:a |an )?(?:different|another|new|separate|unrelated)\b|(?:on to"
    r"|now) (?:for )?(?:something"
    r" (?:completely |entirely |totally )?(?:different|else))\b|unrelated(?:ly)?[,:]"
    r"|change of (?:topic|subject)\b|(?:forget|leave) (?:all )?that (?:for now)?[,.]"
    r" (?:new|next)\b)"
    r"|\A(?:好的?|嗯|那么?|接下来|现在|行)?[，,。！]?\s*(?:换个|换一个"
    r"|开始(?:一个)?新的?|新的?|下一个|另一个|另外一个)"
    r"(?:话题|任务|需求|课题|工作)[，,：:。！]",
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
_GOES_ON = re.compile(
    r"\A\s*<|\A\W*(?:and|also|but|yes|yep|no|it|that|this|these|those|then|ok|okay|alright|so|still|um+"
    r"|hm+|oh|sorry|well|commit|push"
    r"|again|continue|go on"
    r"|keep|same|the (?:above|same|rest)|there|he|she|they|why|any|other|what about|how about)\b"
    r"|\A\W*(?:还|也|但|是的|不|这|那|它|然后|继续|再|同样)",
    re.IGNORECASE,
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
_FOREIGN_WORDS = 12
_FOREIGN = 0.1
_KNOWN_WORDS = 40
_RETURNS = 0.5
_AT_HOME, _TELLING_WORDS = 0.4, 4
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
    if not _has_work(state):
        return state.task_id
    if _NEW.match(start) or _is_foreign(state, start):
        return f"task-{source}"
    return state.task_id


def switched(state: WorkingState, task_id: str | None, *, title: str = "") -> WorkingState:
    """Return the state of another task of the thread, this one's kept beside it.

    The first task that a thread is given takes over what was done before it had one.
    """
    if task_id == state.task_id:
        return state
    parked = dict(state.other_tasks)
    if state.task_id is None and not _has_work(state) and (task_id or "") not in parked:
        return state.model_copy(update={"task_id": task_id, "task_title": title})
    parked[state.task_id or ""] = state.model_copy(update={"other_tasks": {}})
    found = parked.pop(task_id or "", None) or WorkingState(task_id=task_id, task_title=title)
    while len(parked) > MAX_TASKS:
        parked.pop(next(iter(parked)))
    shared: dict[str, Any] = {
        name: getattr(state, name)
        for name in (
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
    words = features(one_line(text, 500)).words
    for word in words:
        state.topic[word] = state.topic.get(word, 0) + 1
    if len(state.topic) > MAX_TOPIC:
        kept = sorted(state.topic.items(), key=lambda item: (-item[1], item[0]))
        state.topic = dict(kept[: MAX_TOPIC // 2])


def _returned_to(state: WorkingState, text: str) -> str | None:
    """Return the parked task that a message says to return to, or is about; None: none."""
    found = _BACK.match(text)
    if found is None:
        return _at_home_in(state, text)
    named = features(found["en"] or found["zh"]).words
    best: tuple[float, str] | None = None
    for key, other in state.other_tasks.items():
        known = features(other.task_title).words | other.topic.keys()
        fit = len(named & known) / len(named) if named else 0.0
        here = len(named & state.topic.keys()) / len(named) if named else 1.0
        if fit >= _RETURNS and fit > here and (best is None or fit > best[0]):
            best = fit, key
    return best[1] if best else None


def _at_home_in(state: WorkingState, text: str) -> str | None:
    """Return the parked task whose words a message speaks, and not those of the current one."""
    words = _telling(_SEPARATORS.sub(" ", text))
    if len(words) < _TELLING_WORDS or _GOES_ON.match(text) or _share(words, state) > _FOREIGN:
        return None
    shares = ((_share(words, other), key) for key, other in state.other_tasks.items())
    best = max(shares, default=(0.0, ""))
    return best[1] if best[0] >= _AT_HOME else None


def _is_foreign(state: WorkingState, text: str) -> bool:
    """Whether a long message has next to no telling word of the task so far."""
    if len(state.topic) < _KNOWN_WORDS or _GOES_ON.match(text) or _REFERS.search(text):
        return False
    words = _telling(text)
    return len(words) >= _FOREIGN_WORDS and _share(words, state) <= _FOREIGN


def _telling(text: str) -> frozenset[str]:
    words = features(one_line(text, _LOOKED_AT)).words - _OF_ANY_WORK
    return frozenset(word for word in words if len(word) > 2 or not word.isascii())


def _share(words: frozenset[str], state: WorkingState) -> float:
    """Return how many of some words were said in a task, or name what it touched."""
    names = (path.rpartition("/")[2] for path in (*state.files_touched, *state.files_read))
    paths = " ".join(islice(names, _MOST_NAMES))
    known = state.topic.keys() | features(_SEPARATORS.sub(" ", paths)).words
    return len(words & known) / len(words) if words else 1.0


def _has_work(state: WorkingState) -> bool:
    return bool(
        state.files_touched
        or state.commands
        or state.task_progress
        or state.decisions
        or state.files_read
    )
