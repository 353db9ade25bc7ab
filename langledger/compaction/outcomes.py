"""What an extractive summary can say of calls and of their results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import cast

from langchain_core.messages import AIMessage, ToolMessage

from langledger.compaction.found import LONGEST, SPEAKS_FOR_USER, Finding, Found, Key, Section
from langledger.compaction.offload import media_in
from langledger.compaction.sentences import clip, lines_of, one_line, sentences, signature
from langledger.compaction.testlines import TestLine, TestLines, names_failed_test
from langledger.compaction.todos import NO_TODOS, Todos, todos_in, todos_of_call
from langledger.compaction.transcript import readable_text
from langledger.compaction.worth import tells_outcome, worth
from langledger.state.interventions import reviewed
from langledger.state.results import MAX_TEXT, judge, recorded_exit_code
from langledger.tokens import count_texts

__all__ = ["Call", "calls_of", "failures_left_out", "read_calls", "read_result"]

_LONGEST_COMMAND = 4_000
_MOST_PER_RESULT = 6
_MOST_LEFT_OUT = 12
_MOST_PER_REPORT = 4
_MOST_TODOS = 8  # of one result
_LOW = -5.0  # the score of a line that hardly says anything
_COMMAND_KEYS = ("command", "cmd", "script", "code")
_TARGET_KEYS = ("file_path", "path", "filename", "pattern", "query", "url", "description", "skill")
# Commands and tools that show files: "error" in what they print is source code, not an event.
_SHOWS_FILES = re.compile(
    r"^(?:cd \S+ *(?:&&|;) *)?(?:cat|head|tail|sed -n|nl|less|grep|rg|ag|find|ls|tree|awk|bat"
    r"|git (?:show|diff|log|grep|blame)|Get-Content|type)\b"
)
_READS = re.compile(
    r"read|view|open|grep|glob|search|find|list|fetch|cat|retriev|todo", re.IGNORECASE
)
_NOTABLE = re.compile(
    r"test|build|lint|check|deploy|commit|push|migrat|install|run|make", re.IGNORECASE
)

_ERROR = re.compile(
    r"^\s*(?:E\s{2,}|--- FAIL|FAIL(?:ED)?\b|\[?ERROR\b|FATAL\b|Error:|error[:\[ ]|fatal:|panic:"
    r"|npm (?:ERR!|error)|! \[(?:remote )?rejected\]|CONFLICT \(|BUILD FAIL|HTTP/[\d.]+ [45]\d\d\b"
    r"|[✗✖✕✘]|×\s|not ok \d)"
    r"|^\s*(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Failure)\b\s*(?:[:(]|$)"
    r"|:\d+(?::\d+)?:? (?:fatal )?error\b|\berror (?:TS|CS|C|E)?\d+\b|\berror\[E\d+\]"
    r"|command not found|No such file or directory|[Pp]ermission denied|[Cc]onnection refused"
    r"|\bundefined: \w|[Ss]egmentation fault|[Ee]xit(?:ed with)?(?: code| status)[: ]+[1-9]"
    r"|\btimed out\b|^[^:]{0,60}\b(?:[Dd]eploy(?:ment)?|[Bb]uild|[Ii]nstall(?:ation)?|[Pp]ush"
    r"|[Mm]igration|[Uu]pload|[Cc]onnection) failed\b|^make(?:\[\d+\])?: \*\*\* "
    r"|错误[:：]|异常[:：]|报错|失败[:：]|(?<!未)(?:测试|检查|编译|构建|部署|安装|提交|推送|执行|运行|连接|上传)失败|超时"
)
_RESULT = re.compile(
    r"\b\d+ (?:passed|failed|skipped|xfailed|errors?|failures?|passing|failing|pending)\b"
    r"|^Ran \d+ tests? in|^(?:ok|FAIL)\s+\S+\s+\d[\d.]*m?s|test result: |^Tests?:\s+.*\d"
    r"|^(?:OK|FAILED) \(|\d+ (?:problems?|vulnerabilities)\b|^TOTAL\s+\d+"
    r"|^real\s+\d+m|通过 ?\d+|\d+ ?个(?:测试|用例)"
)
_COMMITTED = re.compile(r"^\[[\w./-]+(?: \(root-commit\))? [0-9a-f]{7,40}\] ", re.MULTILINE)
_CREATED = re.compile(r"^\s*https?://\S{8,}\s*$")  # the address of what a command has created
_EXIT_ALONE = re.compile(  # the same of any command that failed
    r"^\W*(?:(?:command|process|script) )?(?:exit(?:ed)?|return ?code|finished|failed)\b"
    r"(?:\D*\d+\D*)?$|^make(?:\[\d+\])?: \*\*\* ",
    re.IGNORECASE,
)
_COMMIT = re.compile(
    r"git commit\b.*?\s-[a-zA-Z]*m\s*"
    r"(?:\"\$\(cat <<-?['\"]?\w+['\"]?\s*\n|[\"'])\s*([^\"\n]{3,200}?)['\"\n]",
    re.DOTALL,
)
# What a host writes around an output; it says nothing that the call does not.
_WRAPPING = re.compile(
    r"^\W*(?:Script (?:completed|failed|error|running\b.*)|Wall time\b.*|Output|Chunk ID:.*"
    r"|(?:Original token count|Total output lines):?.*|(?:Exit code:?|Process exited with code) 0"
    r"|Warning: truncated output\b.*|\{\"chunk_id\":.*|success|done|ok|error|undefined|null"
    r"|no output|command not found)\W*$",
    re.IGNORECASE,
)
_SHELL_PREFIX = re.compile(r"^\w+: ?(?:line )?\d+: ")
_NOT_FOUND = re.compile(r"\bcommand not found\b", re.IGNORECASE)
_STILL_RUNS = re.compile(
    r"\b(?:running in (?:the )?background|still running|Script running|session ID \d+)\b"
)
# What one run of a command may have and the next has not: where to begin, and how much to show.
_AROUND_COMMAND = re.compile(
    r"^cd \S+ *(?:&&|;) *|\s*\d?>&?\s*\S+|\s*\|\s*(?:tail|head|grep|tee|cat|less)\b[^|]*"
)
_CUT = re.compile(r"\|\s*(?:tail|head|grep|rg|awk|sed)\b")
# The line that sums a test run up.
_TOTAL = re.compile(r"\b\d+ (?:passed|failed|errors?)\b.* in [\d.]+|^Tests?:\s+.*\d total\b")
_SOME_FAILED = re.compile(r"\b[1-9]\d* (?:failed|errors?|failures?)\b")
_SUBAGENT = re.compile(
    r"(?:task|agent|sub_?agent|spawn_agent|dispatch_agent|research|explore)", re.IGNORECASE
)
_IN_SCRIPT = re.compile(r"""\bcmd"?\s*:\s*("(?:[^"\\]|\\.){1,4000}")""")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as a summary names it.

    Attributes:
        name: The tool.
        subject: What it was called on: a command, a file, a query; empty where unknown.
        seq: The entry that makes it; 0 where unknown.
        commits: The messages of the commits that its command makes, if it works.
        runs: It runs a command.
        todos: What it does to those that stand in files, if it works.
    """

    name: str
    subject: str
    seq: int = 0
    commits: tuple[str, ...] = ()
    runs: bool = False
    todos: Todos = NO_TODOS

    @property
    def label(self) -> str:
        """The tool with what it was called on, in one line."""
        return f"{self.name} `{clip(one_line(self.subject), 80)}`" if self.subject else self.name

    @property
    def run(self) -> str:
        """What two runs of the same command share; empty where unknown."""
        bare = one_line(_AROUND_COMMAND.sub("", self.subject))
        return f"{self.name} {bare}" if bare else ""


def calls_of(seq: int, message: AIMessage) -> dict[str, Call]:
    """Return the calls of a message by id."""
    return {call["id"] or "": _call(seq, call["name"], call["args"]) for call in message.tool_calls}


def _call(seq: int, name: str, arguments: Mapping[str, object]) -> Call:
    command = _command(arguments)
    commits = tuple(map(one_line, _COMMIT.findall(f"{command}\n")))
    target = command or _argument(arguments, _TARGET_KEYS)
    changes = not (command or _READS.search(name))
    todos = todos_of_call(arguments) if changes else NO_TODOS
    return Call(name, target, seq, commits, bool(command), todos)


def _command(arguments: Mapping[str, object]) -> str:
    """Return the shell command or script of a call; an editor's ``command`` is not one."""
    command = _argument(arguments, _COMMAND_KEYS) or _command_in_script(arguments.get("input"))
    is_edit = "path" in arguments or "*** Begin Patch" in command
    return "" if is_edit else command[:_LONGEST_COMMAND]


def _command_in_script(script: object) -> str:
    """Return the first command that a script of tool calls runs."""
    found = _IN_SCRIPT.search(script[:_LONGEST_COMMAND]) if isinstance(script, str) else None
    try:
        return str(json.loads(found[1])) if found else ""
    except ValueError:
        return ""


def _argument(arguments: Mapping[str, object], keys: Sequence[str]) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):  # ["bash", "-lc", "pytest -q"]
            parts = [part for part in cast("list[object]", value) if isinstance(part, str)]
            return parts[-1] if len(parts) > 1 and parts[1].startswith("-") else " ".join(parts)
    return ""


def read_calls(found: Found, seq: int, message: AIMessage) -> None:
    """Add what a message's calls say of themselves; a tool's bare name says nothing."""
    for call in message.tool_calls:
        name, arguments = call["name"], call["args"]
        if command := _command(arguments):
            _read_command(found, seq, command)
        elif not _READS.search(name):
            called = _call(seq, name, arguments)
            if called.subject:
                label = "The assistant called"
                found.add(Finding(Section.COMMANDS, [seq], label, called.label, 0.0, late=0.5))
            for text in called.todos.written:
                finding = Finding(Section.OPEN, [seq], f"Written by {name}", text, 2.0, late=1.0)
                found.add_todo(finding, where=called.subject)


def _read_command(found: Found, seq: int, command: str) -> None:
    notable = 0.7 * bool(_NOTABLE.search(command))
    score = 0.0 if _SHOWS_FILES.search(command) else 0.8 + notable
    text = f"`{clip(one_line(command), 160)}`"
    found.add(Finding(Section.COMMANDS, [seq], "The assistant ran", text, score, late=0.5))


def read_result(found: Found, seq: int, message: ToolMessage, call: Call | None) -> None:
    """Add what a result tells of successes and failures, and take back what it replaces."""
    call = call or Call(message.name or "a tool", "")
    failed = message.status == "error"
    _read_commits(found, message, call)
    if media := media_in(message):
        found.add(Finding(Section.WORK, [seq], _label(call), f"[{media}]", 1.5, late=1.0))
    if not failed:
        found.take_out(call.todos)
    keys: list[Key] = []
    reports = _SUBAGENT.fullmatch(call.name) is not None
    if failed or not (reports or _shows_files(message.name or call.name, call.subject)):
        keys = _read_lines(found, seq, message, call)
    if failed and not keys:
        line = next(_tool_lines(message), "failed" if call.subject else "")
        finding = Finding(Section.ERRORS, [seq], _label(call), line, 2.0, call.run, late=1.0)
        keys = _add_line(found, finding, None, call)
    keys += _read_todos(found, seq, message, call)
    if call.run and not _STILL_RUNS.search(readable_text(message)[:2_000]):
        whole = len(keys) < _MOST_PER_RESULT and not _CUT.search(call.subject)
        clean = any(found.says_good(key) for key in keys)
        found.settle(call.run, keys, whole=whole or clean)
    if reports and not failed:
        _read_report(found, seq, message, call)


def _read_commits(found: Found, message: ToolMessage, call: Call) -> None:
    """Add the commits that a call made: a call that failed or never ran made those it shows."""
    if not call.commits:
        return
    text = readable_text(message)
    verdict = judge(  # noqa: S604 - shell says what the text is of; nothing is run
        text,
        failed=message.status == "error",
        reviewed=reviewed(message),
        shell=True,
        kind="commit",
        masked=_CUT.search(call.subject) is not None,
        recorded=recorded_exit_code(message),
    )
    failed = verdict.ended is False or verdict.running or not verdict.ran
    shown = len(_COMMITTED.findall(text[:MAX_TEXT]))
    for said in call.commits[:shown] if failed else call.commits:
        label, quoted = "The assistant committed", f'"{said}"'
        found.add(Finding(Section.WORK, [call.seq], label, quoted, 2.5, late=1.0))


def _read_todos(found: Found, seq: int, message: ToolMessage, call: Call) -> list[Key]:
    """Add what is still to be done by what a result shows of files."""
    keys: list[Key] = []
    for todo in islice(todos_in("\n".join(_tool_lines(message))), _MOST_TODOS):
        label = ", ".join(filter(None, (_label(call), todo.place)))
        run = call.run if call.runs else ""  # a tool may show another part of the file next
        finding = Finding(Section.OPEN, [seq], label, todo.text, 1.0, run, late=0.7)
        keys.append(found.add_todo(finding, where=f"{todo.place} {call.subject}"))
    return keys


def _read_lines(found: Found, seq: int, message: ToolMessage, call: Call) -> list[Key]:
    keys: list[Key] = []
    alone: list[Finding] = []
    taken = 0
    tests = TestLines()
    for line in _tool_lines(message):
        test = tests.read(line)
        if test is not None and test.passed:
            found.passed(test.name, seq)
        if taken == _MOST_PER_RESULT:
            continue
        finding = _read_line(seq, line, call)
        if finding is not None and _EXIT_ALONE.search(line):
            alone[:] = [finding]
        elif finding is not None:
            taken += 1
            keys += _add_line(found, finding, test, call)
    if not any(section is Section.ERRORS for section, _ in keys):  # else that says why
        keys += [key for finding in alone for key in _add_line(found, finding, None, call)]
    return keys


def _read_line(seq: int, line: str, call: Call) -> Finding | None:
    """Return what a line tells."""
    if _COMMITTED.search(line) or _CREATED.search(line):
        return Finding(Section.WORK, [seq], _label(call), line, 2.5, late=1.0)
    if _RESULT.search(line):
        finding = Finding(Section.WORK, [seq], _label(call), line, 3.0, call.run, late=1.0)
        if call.run and _TOTAL.search(line):
            finding.good = not _SOME_FAILED.search(line)
        return finding
    if not _ERROR.search(line):
        return None
    low = bool(_EXIT_ALONE.search(line) or _NOT_FOUND.search(line))
    if low and not call.subject:
        return None
    # which test failed tells more than how
    score = _LOW if low else 2.5 if names_failed_test(line) else 2.0
    return Finding(Section.ERRORS, [seq], _label(call), line, score, call.run, late=1.0)


def _add_line(found: Found, finding: Finding, test: TestLine | None, call: Call) -> list[Key]:
    """Add what a line tells, and return what it goes by where a later run may take it back."""
    if finding.section is Section.ERRORS and test is not None and not test.passed:
        return [found.failed(test.name, finding)]
    if test is not None:  # a file or a package of tests
        finding.good, finding.timed = test.passed, True
        return [found.add(finding, key=f"test {test.name}")]
    if finding.good is not None:
        return [found.add(finding, key=f"total of {call.run}")]
    if _COMMITTED.search(finding.text) or _CREATED.search(finding.text):
        found.add(finding)
        return []
    key = f"{finding.text} of {call.run}" if _EXIT_ALONE.search(finding.text) else ""
    return [found.add(finding, key=key, like=_like(finding.text, call))]


def _like(line: str, call: Call) -> str:
    """Return what a line has in common with those of which the last may stand for all.

    Only lines of the same command: of two, each has its own numbers.
    """
    return f"{signature(line)} of {call.run or call.name}"


def _label(call: Call) -> str:
    return f"Output of {call.label}"


def _read_report(found: Found, seq: int, message: ToolMessage, call: Call) -> None:
    """Add what a subagent found, for where room is left."""
    said = [clip(s, LONGEST) for s in sentences(readable_text(message))]
    ranked = sorted(
        ((worth(s), -i, s) for i, s in enumerate(said) if not SPEAKS_FOR_USER.search(s)),
        reverse=True,
    )
    for score, _, sentence in ranked[:_MOST_PER_REPORT]:
        if score >= 1.0 and tells_outcome(sentence) and not sentence.startswith("[ ]"):
            value = min(0.3 + score / 10, 0.8)
            found.add(Finding(Section.WORK, [seq], _label(call), sentence, value, late=0.1))


def failures_left_out(name: str, text: str, shown: str, *, max_tokens: int) -> str:
    """Return the lines of a result that tell of failures and were cut out of it, each kind once.

    Args:
        name: The tool; of one that shows files "error" is a word of a file.
        text: The whole result.
        shown: What of it is shown.
        max_tokens: The most tokens of the lines; which tests failed goes before how.
    """
    if _READS.search(name):
        return ""
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        said = line[:LONGEST].strip()
        if _ERROR.search(said) and not _EXIT_ALONE.search(said) and said not in shown:
            kinds.setdefault(signature(said), said)
    first = sorted(kinds.values(), key=lambda said: not names_failed_test(said))
    taken: list[str] = []
    for said, size in zip(first, count_texts(first[:_MOST_LEFT_OUT]), strict=False):
        max_tokens -= size + 1
        if max_tokens >= 0:
            taken.append(said)
    return "\n".join(taken)


def _shows_files(name: str, subject: str) -> bool:
    return bool(_READS.search(name) or _SHOWS_FILES.search(subject))


def _tool_lines(message: ToolMessage) -> Iterator[str]:
    for line in lines_of(readable_text(message)):
        bare = _SHELL_PREFIX.sub("", line[:LONGEST])
        if not (_WRAPPING.search(bare) or SPEAKS_FOR_USER.search(line[:LONGEST])):
            yield line[: 2 * LONGEST]
