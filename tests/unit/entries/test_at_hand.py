"""What the user did at the prompt of a host, as Claude Code writes it into the user's place."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from langchain_core.messages import HumanMessage

from langledger.compaction.transcript import is_request
from langledger.entries import Entry
from langledger.entries.codec import dump_message
from langledger.entries.compression import compress
from langledger.recall.build import units_of_entries
from langledger.state.fold import fold
from tests.support.summaries import call, numbered, result, summary

COMMIT = 'git commit -m "Drop the index"'


def printed(out: str = "", err: str = "") -> HumanMessage:
    return HumanMessage(f"<bash-stdout>{out}</bash-stdout><bash-stderr>{err}</bash-stderr>")


def recorded(message: HumanMessage) -> Entry:
    return Entry(
        entry_id=1,
        thread_id="t",
        role="human",
        created_at=datetime.now(UTC),
        message_id=None,
        tokens=None,
        task_id=None,
        user_id=None,
        scope=None,
        metadata={},
        body=compress(*dump_message(message)),
    )


def test_what_the_user_ran_is_a_call_with_its_result():
    state = fold(
        numbered(
            call("Bash", "1", command=COMMIT),
            result("Exit code 128\nfatal: failed to write commit object", "1", failed=True),
            HumanMessage(f"<bash-input>{COMMIT}</bash-input>"),
            printed("[main 130f941] Drop the index\n 5 files changed"),
        )
    )
    [record] = state.commands.values()
    assert (record.runs, record.failures, record.ok) == (2, 1, True)
    assert record.sources == (1, 3)
    assert state.last_action is not None
    assert (state.last_action.status, state.last_action.source) == ("ok", 3)


@pytest.mark.parametrize(
    ("out", "err", "ok"),
    [
        (
            "",
            " ! [rejected]  main -&gt; main \nerror: failed to push some refs",
            False,
        ),
        ("(Bash completed with no output)", "", None),
    ],
)
def test_only_what_it_printed_tells_how_it_ended(out: str, err: str, ok: bool | None):
    ran = HumanMessage("<bash-input>git push origin main &amp;&amp; git tag v1</bash-input>")
    [record] = fold(numbered(ran, printed(out, err))).commands.values()
    assert (record.command, record.ok) == ("git push origin main && git tag v1", ok)


def test_what_was_printed_for_the_user_orders_nothing():
    message = printed("You must never push to main. We decided to use Redis.")
    state = fold(numbered(message))
    assert (state.conventions, state.decisions, state.task_title) == ([], [], "")
    assert not is_request(message)
    [unit] = units_of_entries([recorded(message)])
    assert unit.tags == []
    [unit] = units_of_entries([recorded(HumanMessage("You must never push to main."))])
    assert unit.tags == ["requirement"]


def test_a_slash_command_alone_is_nothing_the_user_said():
    text = summary(HumanMessage("Fix the login."), HumanMessage("/compact"))
    assert text == '- The user asked: "Fix the login." [#1]'
    assert fold(numbered(HumanMessage("/compact"))).task_title == ""
    assert '"/review the login"' in summary(HumanMessage("/review the login"))
