"""The sessions a benchmark runs over: files, folders, or the ones that ship."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from langledger.demo.agents import run_with_ledger
from langledger.errors import SessionFileError
from langledger.ledger import Ledger
from langledger.replay.session import Session, SessionMessage, load_session

__all__ = ["conversation", "sessions_of"]

_SUFFIXES = {".jsonl", ".json", ".traj", ".md"}
_WHOLE = 1_000_000  # a window that the demo's session never fills


def sessions_of(
    paths: Sequence[Path], ledger: Ledger, *, tell: Callable[[str], None]
) -> Iterator[tuple[str, Session]]:
    """Yield each session with its name; without paths, the one that ships.

    A folder is searched through; what in it is no session is passed over in silence where its
    name does not look like one, else told. A file that was named among others and cannot be read
    is told.

    Args:
        paths: Files and folders.
        ledger: Where the shipped session's agent keeps its history.
        tell: Takes a line about what was left out.

    Raises:
        SessionFileError: The one file is no session, or none of the paths holds one.
    """
    if not paths:
        yield "demo", shipped_session(ledger)
    given = 0
    for file in (file for path in paths for file in _files(path)):
        try:
            session = _worked(load_session(file), file)
        except SessionFileError as error:
            if [file] == list(paths):
                raise
            tell(f"left out: {error}")
            continue
        given += 1
        yield f"{file.parent.name}/{file.stem}", session
    if paths and not given:
        raise SessionFileError(
            f"there is no session in {', '.join(map(str, paths))}; name files or folders that "
            "`langledger replay` reads"
        )


def shipped_session(ledger: Ledger) -> Session:
    """Let the demo's agent work without a compaction and return what it lived."""
    with TemporaryDirectory(prefix="langledger-bench-") as folder:
        run = run_with_ledger(
            ledger, Path(folder), window=_WHOLE, thread_id=f"bench-demo-{uuid4()}"
        )
    messages = [
        SessionMessage(index=index, message=_named(message, index))
        for index, message in enumerate(run.messages)
    ]
    return Session(format="langchain", name="demo", messages=messages)


def conversation(session: Session) -> tuple[list[BaseMessage], dict[int, str]]:
    """Return a session's messages as sides are given them, and its own summaries by place.

    System messages are left out, for agents keep them apart, and so is the usage that was
    reported to the recorded agent about another prompt.
    """
    messages: list[BaseMessage] = []
    summaries: dict[int, str] = {}
    for item in session.messages:
        if not item.shown:
            summaries[len(messages)] = item.message.text
        elif isinstance(item.message, AIMessage):
            messages.append(item.message.model_copy(update={"usage_metadata": None}))
        elif not isinstance(item.message, SystemMessage):
            messages.append(item.message)
    return messages, summaries


def _worked(session: Session, file: Path) -> Session:
    """Return a session in which a model was called.

    Raises:
        SessionFileError: It was not.
    """
    if any(isinstance(message, AIMessage) for message in conversation(session)[0]):
        return session
    raise SessionFileError(f"{file}: no model says anything in it")


def _named(message: BaseMessage, index: int) -> BaseMessage:
    """Give a message an id that is the same in each run, so that runs can be compared."""
    return message.model_copy(update={"id": f"demo-{index}"})


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.suffix in _SUFFIXES
        and not file.name.endswith(".truth.json")
        and file.name != "README.md"
        and "raw" not in file.relative_to(path).parts
    )
