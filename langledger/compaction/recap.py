"""After a compaction the agent says where it stands, and the record says whether that is so.

An agent that has just lost most of its messages tends to redo what is done or to take up the wrong
end. So the view asks it to restate, in the answer it gives anyway, and what it says is held
against the working state: without a model, and for precision. What contradicts the record is
answered by one line at the end of the next view. Pure.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from langchain_core.messages import HumanMessage

from langledger.compaction.sentences import sentences
from langledger.state.records import FileRecord, LastAction, WorkingState

__all__ = ["RECAP_ASK", "Recap", "RecapWhen", "asks_recap", "check_recap", "correction_message"]

RECAP_ASK = (
    "[Begin your next answer by restating, in a few lines and from this record alone: the files "
    "already changed, the last action and how it ended, the next step. Then go on with it.]"
)
"""What the view asks for, after the record."""

RecapWhen: TypeAlias = Literal["auto", "always", "never"]

_MANY_FILES, _MANY_STEPS = 3, 2  # from here on a task is complex
_MOST_NAMED = 8
_PATH = re.compile(r"(?<![\w/.])(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}\b(?!/)", re.ASCII)
_CODE = re.compile(r"`([^`\n]{3,200})`")
_RECAP = re.compile(
    r"\b(?:chang\w+|edit\w+|creat\w+|modif\w+|wrote|written|updat\w+|so far|already|last action"
    r"|next step|done|complet\w+|where (?:i|we) stand)\b|已|修改|创建|下一步|上一步|目前|完成",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|all|several) files?\b"
    r"|[\d一二三四五六七八九十两几]+ ?个文件",
    re.IGNORECASE,
)
_PLANS = re.compile(
    r"\b(?:next(?: step)?|now|then|i'll|i will|i am going to|i'm going to|need to|have to|must"
    r"|remaining|still to|let me|todo|to do)\b|接下来|下一步|现在|还需要|我(?:将|会|要|来|先)",
    re.IGNORECASE,
)
_CREATES = re.compile(
    r"\b(?:create|write|add|implement|set up|make|build|start)\b"
    # What is added to a file, or made from it, is another thing than the file.
    r"(?:\W+(?!(?:to|in|into|inside|for|from|of|with|on)\b)\w+){0,3}?\W+$"
    r"|(?:创建|新建|编写|实现|添加|写)\W*$",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:changed|edited|created|modified|updated|wrote|written|added|fixed|refactored)\b"
    r"|已(?:经)?(?:修改|创建|更新|编写|添加)|(?:修改|创建|更新|编写|添加)了",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|never|no|without|un(?:changed|touched))\b|n't\b|未|没", re.IGNORECASE)
_LAST = re.compile(
    r"\b(?:last (?:action|step|command|thing|call|edit)|most recent(?:ly)?|i (?:have )?just)\b"
    r"|上一步|最后(?:一个|一次|一步)?(?:操作|动作|命令|执行)|刚刚|刚才",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:pass(?:es|ed)|succeed\w*|success\w*|worked|ok|green)\b|通过|成功", re.IGNORECASE
)
_BAD = re.compile(
    r"\b(?:fail\w*|error\w*|broke\w*|refused|rejected)\b|失败|出错|报错|拒绝", re.IGNORECASE
)
_OTHERS = re.compile(
    r"\b(?:others?|more|etc|rest|among|including|\d+ files)\b|等|其他|其余", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recap:
    """How an agent's restating compares with the record.

    Attributes:
        generation: The compaction that asked for it.
        answer: The entry of the answer.
        outcome: ``held``; ``absent`` where it restated nothing; ``incomplete`` where it named
            some of the changed files and not others; ``contradicted``.
        problems: What is wrong or missing, each in a few words.
    """

    generation: int
    answer: int
    outcome: Literal["held", "absent", "incomplete", "contradicted"]
    problems: tuple[str, ...] = ()

    @property
    def correction(self) -> str:
        """The line for the next call; empty where nothing is to be corrected."""
        if not self.problems:
            return ""
        return f"[Held against the record of the tool calls: {'; '.join(self.problems)}.]"


def asks_recap(when: RecapWhen, state: WorkingState, *, in_task: bool) -> bool:
    """Whether the view is to ask for a restating.

    Args:
        when: As the option says; ``auto``: of a complex task, while it is under way.
        state: The working state.
        in_task: The newest message is a tool's result, and not something the user waits for.
    """
    if when != "auto":
        return when == "always"
    finished = ("completed", "updated")  # or may be
    steps = sum(s.status not in finished and not s.archived for s in state.task_progress)
    return in_task and (len(_standing(state)) >= _MANY_FILES or steps >= _MANY_STEPS)


def check_recap(text: str, state: WorkingState, *, generation: int, answer: int) -> Recap:
    """Hold an answer against the state that the view showed.

    Args:
        text: What the agent said.
        state: The state when it was asked.
        generation: The compaction that asked.
        answer: The answer's entry.
    """
    said = [*_lines(text)]
    files = _standing(state)
    named = {path for path in files if _is_named(path, text)}
    wrong = [
        *_redone(said, state),
        *_never_changed(said, state),
        *_wrong_last_action(said, state.last_action, state),
    ]
    missing = sorted(files.keys() - named) if named and not _OTHERS.search(text) else []
    if missing:
        shown = ", ".join(missing[:_MOST_NAMED])
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        missing = [f"also changed already: {shown}{more}"]
    restates = named or wrong or any(map(_LAST.search, said)) or _COUNTED.search(text)
    if not restates and (files or not _RECAP.search(text)):
        return Recap(generation=generation, answer=answer, outcome="absent")
    outcome = "contradicted" if wrong else "incomplete" if missing else "held"
    problems = (*dict.fromkeys(wrong), *missing)
    return Recap(generation=generation, answer=answer, outcome=outcome, problems=problems)


def correction_message(recap: Recap) -> HumanMessage:
    """Return the message that follows a restating that was wrong."""
    return HumanMessage(
        recap.correction,
        id=f"langledger-correction-{recap.generation}",
        additional_kwargs={"langledger": {"origin": "correction"}},
    )


def _standing(state: WorkingState) -> dict[str, FileRecord]:
    """Return the files that stand changed."""
    return {
        path: record
        for path, record in state.files_touched.items()
        if not record.deleted and record.last_action != "restore"
    }


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from sentences(line)


def _is_named(path: str, text: str) -> bool:
    return posixpath.basename(path) in text


def _redone(said: Iterable[str], state: WorkingState) -> Iterator[str]:
    """Yield what is announced and done already."""
    there = {path: how for path, r in _standing(state).items() if (how := _made(r))}
    done = {step.step: step for step in state.task_progress if step.status == "completed"}
    open_steps = {step.step for step in state.task_progress if step.status != "completed"}
    for sentence in said:
        plan = _PLANS.search(sentence)
        if plan is None or _CHANGED.search(sentence[: plan.start()]):
            continue
        for match in _PATH.finditer(sentence, plan.end()):
            known = _path_of(match[0], there)
            if known and _CREATES.search(sentence[plan.start() : match.start()].rstrip("`'\"")):
                yield f"{known} is there already, {there[known]}"
        for step in done.keys() - open_steps:
            if _says(sentence[plan.start() :], step):
                yield f'the step "{step[:80]}" is done, see #{done[step].sources[-1]}'


def _made(record: FileRecord) -> str:
    """Return how a file came to stand whole; empty where calls only changed parts of it."""
    if record.created:
        return f"created in #{record.sources[0]}"
    # Many tools only say "ok", not whether the file was new: it was written whole all the same.
    written = [change.source for change in record.actions if change.action in ("create", "write")]
    return f"written in #{written[-1]}" if written else ""


def _says(sentence: str, step: str) -> bool:
    """Whether a sentence holds the words of a step."""
    words = set(re.findall(r"\w{3,}|[一-鿿]", step.lower()))
    low = sentence.lower()
    return len(words) >= 3 and all(word in low for word in words)


def _never_changed(said: Iterable[str], state: WorkingState) -> Iterator[str]:
    """Yield the files that are told as changed and are not known to be."""
    for sentence in said:
        claim = _CHANGED.search(sentence)
        if claim is None or _PLANS.search(sentence) or _NOT.search(sentence):
            continue
        for match in _PATH.finditer(sentence):
            base = posixpath.basename(match[0])
            known = any(posixpath.basename(path) == base for path in state.files_touched)
            read = any(posixpath.basename(path) == base for path in state.files_read)
            if read and not known:
                yield f"{match[0]} was read and not changed"


def _wrong_last_action(
    said: Iterable[str], last: LastAction | None, state: WorkingState
) -> Iterator[str]:
    for sentence in said:
        if last is None or not _LAST.search(sentence) or _PLANS.match(sentence):
            continue
        names = [match[0] for match in _PATH.finditer(sentence)]
        names += [match[1] for match in _CODE.finditer(sentence)]
        told = f"{last.tool} {last.args} {last.result}"
        known = [name for name in names if _is_known(name, state)]
        what = f"the last action was {last.tool}: {last.args[:100]} [#{last.source}]"
        if known and not any(posixpath.basename(name) in told for name in names):
            yield what
        elif last.status == "failed" and _GOOD.search(sentence) and not _BAD.search(sentence):
            yield f"{what}, and it failed"


def _is_known(name: str, state: WorkingState) -> bool:
    base = posixpath.basename(name)
    paths = (*state.files_touched, *state.files_read)
    return any(posixpath.basename(path) == base for path in paths) or any(
        name in command for command in state.commands
    )


def _path_of(name: str, records: Iterable[str]) -> str | None:
    """Return the path a name stands for: the same, or one that ends with it."""
    return next((path for path in records if path == name or path.endswith(f"/{name}")), None)
