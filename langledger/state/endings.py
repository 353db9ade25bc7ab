"""How a command ended, by the words of its output, where no exit code tells.

A program that tests, checks or builds sums its work up in lines of its own, and those are what
counts: a test that passed may well have logged an error before. Words that decide nothing decide
nothing: it is better not to know than to take a failure for done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langledger.state.records import CommandKind

__all__ = [
    "BAD",
    "CHECKS",
    "COMMITTED",
    "PUSHED",
    "REJECTED",
    "SUMMARY",
    "TROUBLE",
    "ended_by_words",
    "says_failed",
]

CHECKS: tuple[CommandKind, ...] = ("test", "build", "lint")

_LONGEST = 400  # characters of a line that are read
_LAST = 3  # lines at the end of an output, where a program tells that it gave up

SUMMARY = re.compile(
    r"(?:^|\W)\d+ (?:tests? )?(?:pass(?:ed|ing)?|fail(?:ed|ing)?|errors?|failures?|problems?"
    r"|issues?)\b|\bfail(?:ed|ures?)?: *\d|^test result:|^\s*tests?:? +\d"
    r"|^[\Wℹ]{0,3}(?:pass|fail) \d+$|^(?:FAILED|FAIL|PASS|OK)\b|^ok\s+\S"
    r"|all checks passed|success: no issues"
    r"|build (?:succeeded|success(?:ful)?|failed)|\bno (?:errors|issues|problems)(?: were)? found"
    r"|all tests passed|\d+ files? (?:reformatted|left unchanged|already formatted|unchanged)"
    r"|^checked \d+ files? in\b|^\s*Finished\b.* target|successfully (?:built|tagged|compiled)"
    r"|\bbuilt in [\d.]+ ?m?s|compiled successfully"
    r"|^\W*Result: (?:PASS|FAIL)|全部(?:测试)?通过"
    r"|(?:测试|检查|编译|构建)(?:全部)?(?:通过|成功|失败)"
    r"|通过[:： ]*\d|失败[:： ]*\d",
    re.IGNORECASE,
)
"""The lines by which tests, checks and builds tell how they ended."""

BAD = re.compile(
    # counts, in all the orders in which they are written
    r"(?:^|\W)(?!0+ )\d+ (?:tests? |previous )?(?:failed|failing|fail|errors?|failures?|issues)\b"
    r"|(?:^|\W)(?!0+ )\d+ problems?\b(?! \(0 errors)"
    r"|\b(?:fail(?:ed|ures?|ing)?|errors?) ?[:=] *[1-9]\d*(?![\d:]|\.\d|\w)"
    r"|\bfailed [1-9]\d*(?:,|$)"
    r"|^[\Wℹ]{0,3}fail [1-9]\d*$|^\s*not ok \d|[1-9]\d* ?[个项条](?:测试|用例)?(?:失败|错误)"
    r"|失败[:： ]*[1-9]"
    # verdicts
    r"|^(?:\[ERROR\]\s*)?(?-i:FAIL(?:ED|URES?)?)\b|^--- FAIL|^\W*Failed! |\bresult: fail"
    r"|(?<!\d )(?:build|compilation|tests?) failed\b|build failure"
    r"|compilation (?:aborted|terminated)|build stopped|would (?:be reformatted|reformat)\b"
    r"|(?<!未)(?:测试|检查|编译|构建|打包|安装|部署|运行|执行|提交|推送|命令)(?:执行)?失败"
    # what compilers, linters and runners put before a message that fails the whole
    r"|\berror (?:TS|CS|C|LNK|MSB)\d+|\berror\[\w+\]|^\S+:\d+:\d+: (?!warning|note|info)"
    r"|\S\(\d+(?:,\d+)?\): error\b|\bmake(?:\[\d+\])?: \*\*\* |\bnpm (?:ERR!|error)"
    r"|collect2: error|ld returned [1-9]"
    r"|^\s*[✖✗✘✕×] (?!\d+ problems? \(0 errors)",
    re.IGNORECASE,
)
"""Of those, and of their messages, the ones that only a failure has."""

_BAD_TOO = re.compile(  # says so, and nothing of what it was
    r"\b(?:task|job|lint|command|checks?) failed\b|exit(?:ed)?(?: with)?(?: exit)?"
    r" (?:code|status)[:= ]+[1-9]|\bELIFECYCLE\b|non-zero (?:code|exit)",
    re.IGNORECASE,
)

_ERROR_LINE = re.compile(r"^\s*(?:\S+: )?(?:fatal )?error(?:\[\w+\])?:", re.IGNORECASE)
TROUBLE = re.compile(
    r"error|fail|exception|panic|fatal|not found|denied|refused|timed out|no such file"
    r"|错误|异常|失败|拒绝|超时|找不到|无法",
    re.IGNORECASE,
)
"""What hardly stands in the last lines of a program that did what it was to do."""

COMMITTED = re.compile(r"^\[[\w./@-]+ (?:\(root-commit\) )?[0-9a-f]{7,}\] ")
PUSHED = re.compile(r"^\s*[+* ]*(?:[0-9a-f]{7,}\.\.\.?[0-9a-f]{7,}|\[new \w+\])\s+\S+ -> ")
REJECTED = re.compile(r"^\s*! \[(?:remote )?rejected\]")
_NOT_COMMITTED = re.compile(
    r"^\s*(?:error|fatal): |^nothing (?:added )?to commit|permission denied|authentication failed",
    re.IGNORECASE,
)
_STOPPED_IN_MIDST = re.compile(
    r"^CONFLICT \(|^Automatic merge failed|^(?:error: )?could not apply|^Aborting\b", re.IGNORECASE
)
# What a shell or a program says where it could not begin: its name, a colon, and why.
_COMPLAINT = re.compile(
    r"^(?:[\w./-]*sh: (?:line )?(?:\d+: )?)?[\w.+/-]+: .*(?:command not found|not found"
    r"|no such file or directory|permission denied|cannot \w+|operation not permitted"
    r"|is a directory|not a directory|没有那个文件或目录|未找到命令|权限不够)"
    r"|^(?:zsh|\(eval\))(?::\d+)?: (?:command not found|no such file)",
    re.IGNORECASE,
)
_FILE_TOOL = re.compile(r"^(?:\S*/)?(?:cp|mv|rm|rmdir|mkdir|touch|ln|chmod|sed|patch|tee|git): ")
_FRAME = re.compile(r'^\s+File "[^"]*", line \d+')
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?::|$)")
# The last line of a program that gave up.
_GAVE_UP = re.compile(
    r"^(?:[│|] )?(?:\S+: )?(?:fatal|panic|denied|(?:fatal )?error)\b(?: from server| \d+)?"
    r"(?: \([^)]*\))?(?: at line \d+)? ?:"
    r"|^(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception)\b(?::|$)|\(\w+(?:Error|Exception)\)$"
    r"|^(?:curl|wget|ssh|scp|rsync|docker|kubectl|pip|git|node|\S*python[\d.]*): "
    r"|^(?:(?:command |operation )?(?:aborted|timed out|cancell?ed)|segmentation fault|killed)\b"
    r"|^(?:\w+ ){0,3}(?:deploy\w*|build|push|install\w*|migration|upload|publish) failed\b"
    r"|^(?:[\w./-]+ ){1,4}failed(?::| because\b| with\b)|^错误[:：]",
    re.IGNORECASE,
)
# What a program that broke down leaves, wherever it stands; and what may have been got over.
_BROKE_DOWN = re.compile(
    r"^thread '[^']*' panicked|^PHP Fatal error|^Exception in thread \"main\"|^Node\.js v\d"
    r"|^panic: |: +\d+ (?:Killed|Aborted|Segmentation fault)\b"
)
_STUMBLED = re.compile(r"^Traceback \(most recent call last\)|^HTTP/[\d.]+ [45]\d\d\b")
_NO_TROUBLE = re.compile(
    r"\b(?:0|no|zero|without(?: any)?) (?:errors?|fail(?:ed|ures?)|exceptions?)\b|没有错误|无错误",
    re.IGNORECASE,
)
# How tools that are no shell say that they did not do what they were to do.
_SAID_FAILED = re.compile(
    r"^\W{0,3}(?:error|fatal|exception|failed|failure|timed out|timeout)\b ?(?:[:!]|$)"
    r"|^\W{0,3}(?:[\w-]+ ){1,3}(?:failed|timed out)(?:[:!.,]| with\b| after\b|$)"
    r"|^(?:HTTP(?:/[\d.]+)? )?[45]\d\d [A-Z]|^Traceback \("
    r"|^(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception):"
    r"|^(?:permission|access) denied|^(?:could not|cannot|unable to|failed to) \w"
    r"|^\W{0,3}\S{0,8}(?<!未)(?:失败|超时|错误[:：]|被拒绝)|^(?:无法|不能)",
    re.IGNORECASE,
)
_JSON_FAILED = re.compile(
    r'\s*\{\s*"errors?"\s*:\s*(?!null|""|false|\[\s*\]|\{\s*\})|\s*\{[^{}]{0,400}'
    r'(?:"(?:success|ok)"\s*:\s*false|"status"\s*:\s*(?:"(?:error|failed|failure)"|[45]\d\d\b))',
    re.IGNORECASE,
)


def says_failed(text: str) -> bool:
    """Whether the result of a tool that is no shell says that the call did not work.

    Args:
        text: Of a tool that does something; what one that looks something up returns is what
            it found.
    """
    lines = [line[:_LONGEST] for line in text.strip().splitlines()]
    told = (line for line in (*lines[:1], *lines[-1:]))
    return any(map(_SAID_FAILED.search, told)) or _JSON_FAILED.match(text) is not None


def ended_by_words(lines: Sequence[str], kind: CommandKind, *, masked: bool) -> bool | None:
    """Return whether a command whose exit code is not known went well; None: undecided.

    Args:
        lines: The last ones of its output, without what a host puts around it.
        kind: What the command is for.
        masked: A filter may have left out what would tell.
    """
    lines = [line[:_LONGEST] for line in lines]
    if kind in CHECKS:
        return _check(lines, kind)
    if kind == "commit":
        return _commit(lines, masked=masked)
    if masked:
        return None
    if kind == "inspect":  # what it prints is what it found
        return not lines or not all(map(_COMPLAINT.search, lines))
    if kind == "edit":
        return not (_gave_up(lines) or any(map(_FILE_TOOL.search, lines[-1:])))
    return _other(lines)


def _check(lines: Sequence[str], kind: CommandKind) -> bool | None:
    """What sums up decides, and what gave up at the end; a test logs errors that it expects."""
    if _is_bad(lines):
        return False
    good = max((at for at, line in enumerate(lines) if SUMMARY.search(line)), default=-1)
    rest = lines[good + 1 :]
    if _gave_up(rest) or (kind != "test" and any(map(_ERROR_LINE.search, rest))):
        return False
    return None if good < 0 or _hints_at_trouble(rest) else True


def _commit(lines: Sequence[str], *, masked: bool) -> bool | None:
    """What git says counts; a subject that speaks of errors is only a subject."""
    stopped = (REJECTED, _NOT_COMMITTED, _STOPPED_IN_MIDST)
    if any(of.search(line) for line in lines for of in stopped):
        return False
    if any(COMMITTED.search(line) or PUSHED.search(line) for line in lines):
        return True
    if _is_bad(lines):  # a hook's
        return False
    return None if masked or _hints_at_trouble(lines[-_LAST:]) else True


def _other(lines: Sequence[str]) -> bool | None:
    last = lines[-_LAST:]
    broken = any(of.search(line) for line in lines for of in (_BROKE_DOWN, _STOPPED_IN_MIDST))
    if broken or _gave_up(lines) or _is_bad(last):
        return False
    return None if _hints_at_trouble(last) or any(map(_STUMBLED.search, lines)) else True


def _hints_at_trouble(lines: Sequence[str]) -> bool:
    return any(TROUBLE.search(_NO_TROUBLE.sub("", line)) for line in lines)


def _is_bad(lines: Sequence[str]) -> bool:
    return any(BAD.search(line) or _BAD_TOO.search(line) for line in lines)


def _gave_up(lines: Sequence[str]) -> bool:
    """Whether the last line is that of a program that could not begin or go on."""
    if not lines:
        return False
    last, above = lines[-1], lines[-_LAST - 1 : -1]
    raised = _RAISED.match(last) is not None and any(map(_FRAME.match, above))
    return raised or any(of.search(last) for of in (_COMPLAINT, _GAVE_UP))
