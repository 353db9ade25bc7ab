"""What answers a question of the agent's, and what leaves it open."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from tests.unit.state.folding import run

YES_OR_NO = "Should the exporter keep the old column names?"
REGION = "Which region should the bucket be in?"


@pytest.mark.parametrize(
    ("question", "reply", "what"),
    [
        (YES_OR_NO, "yes", f"{YES_OR_NO} — yes"),
        (YES_OR_NO, "no", f"{YES_OR_NO} — no"),
        (YES_OR_NO, "only in v1", f"{YES_OR_NO} — only in v1"),
        (YES_OR_NO, "yes but in lower case", f"{YES_OR_NO} — yes but in lower case"),
        (REGION, "eu-west-1", f"{REGION} — eu-west-1"),
        ("Do you want tabs or spaces?", "spaces", "Do you want tabs or spaces? — spaces"),
        ("导出要不要包含已删除的用户？", "不要", "导出要不要包含已删除的用户？ — 不要"),
        (YES_OR_NO, "great question", None),
        (YES_OR_NO, "my boss says yes", None),
        (YES_OR_NO, "yes but wait", None),
        (REGION, "good question", None),
        (REGION, "dont know yet, go on with the rest", None),
        ("导出要不要包含已删除的用户？", "好问题", None),
    ],
)
def test_yes_no_or_a_choice_answers_and_a_remark_leaves_the_question_open(
    question: str, reply: str, what: str | None
):
    state = run(HumanMessage("Go on."), AIMessage(question), HumanMessage(reply))
    assert [d.what for d in state.decisions] == [what] * (what is not None)
    assert [q.status for q in state.open_questions] == ["expired" if what else "active"]
