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


INDEX = "The table has no index. I propose adding an index on user_id."
BOTH = "A) JWT\nB) server sessions\n\nI'd go with B."


@pytest.mark.parametrize(
    ("offer", "reply", "what"),
    [
        (f"{INDEX} Shall I?", "yes", "Agreed: adding an index on user_id"),
        (f"{INDEX} Want me to?", "sure", "Agreed: adding an index on user_id"),
        (f"{INDEX} Shall I go ahead?", "yep go ahead", "Agreed: adding an index on user_id"),
        (f"{INDEX} Does that work for you?", "works for me", "Agreed: adding an index on user_id"),
        (
            f"{INDEX} OK?",
            "yes but only there",
            "Agreed: adding an index on user_id — but only there",
        ),
        ("Proposal: store amounts in cents. Okay?", "👍", "Agreed: store amounts in cents"),
        ("My recommendation: drop IE11. What do you think?", "ok", "Agreed: drop IE11"),
        (BOTH, "ok", "Agreed: Option B: server sessions"),
        (BOTH, "A", "Option A: JWT"),
        ("(a) one table\n(b) two tables\nWhich one do you want?", "(b)", "Option B: two tables"),
        ("Shall we go with Celery or with RQ?", "RQ", "Shall we go with Celery or with RQ? — RQ"),
        ("我建议给 user_id 加索引。可以吗？", "可以", "Agreed: 给 user_id 加索引"),
        ("我建议给 user_id 加索引。要我加吗？", "加吧", "Agreed: 给 user_id 加索引"),
        ("我建议用 Kafka 替换 RabbitMQ。你觉得呢？", "行", "Agreed: 用 Kafka 替换 RabbitMQ"),
        ("方案A：重写；方案B：打补丁。你选哪个？", "B", "Option B: 打补丁。"),
        (f"{INDEX} Shall I?", "no", None),
        (f"{INDEX} OK?", "ok but not now", None),
        (f"{INDEX} OK?", "great question", None),
        (BOTH, "B is slow", None),
        ("I suggest running the tests. Shall I?", "yes", None),
        ("I propose merging the branch now. OK?", "ok", None),
        ("我建议给 user_id 加索引。要我加吗？", "先放着吧", None),
        ("我建议删掉旧表。可以吗？", "算了吧", None),
    ],
)
def test_a_proposal_is_agreed_to_whatever_the_agent_asks_behind_it(
    offer: str, reply: str, what: str | None
):
    state = run(HumanMessage("Go on."), AIMessage(offer), HumanMessage(reply))
    assert [d.what for d in state.decisions] == [what] * (what is not None)
