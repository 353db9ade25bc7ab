"""From rows to an order, without a database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langledger.entries.compression import compress
from langledger.recall.gate import judge
from langledger.recall.joining import joined, shown
from langledger.recall.phrases import pairs_of, phrase_shares
from langledger.recall.scoring import Question, ranked

SPACE = UUID(int=1)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def row(ref: int, text: str, **more: Any) -> dict[str, Any]:
    made = {
        "space": SPACE,
        "ref": ref,
        "part": 0,
        "role": "human",
        "created_at": NOW,
        "importance": 0.5,
        "tags": [],
        "metadata": {},
        "body": compress("bytes", text.encode()),
        "words": 1.0,
        "wholes": 0.0,
        "has": 1,
        "around": 0,
        "cosine": None,
        "last_at": None,
        "weights": [2.0],
        "units": 100.0,
    }
    return made | more


QUESTION = Question(["port"])


def order(*rows: dict[str, Any], wanted: int = 5) -> list[int]:
    return [one.ref for one in ranked(rows, QUESTION, wanted=wanted)]


def test_equal_scores_have_one_order() -> None:
    rows = [row(10 * n, f"text {n} " + "z" * n) for n in range(1, 6)]
    assert order(*rows) == order(*reversed(rows)) == [50, 40, 30, 20, 10]


def test_a_replaced_statement_stands_after_its_replacement() -> None:
    older = row(1, "My favourite player is Ronaldo", words=2.0)
    newer = row(9, "Actually my favourite player is Messi now", words=1.8)
    found = ranked([older, newer], QUESTION, wanted=5)
    assert [one.ref for one in found] == [9, 1]
    assert found[1].replaced_by == 9


def test_a_replaced_statement_in_chinese() -> None:
    older = row(1, "数据库端口是5432", words=2.0)
    newer = row(2, "数据库端口现在改为6432", words=1.9)
    assert order(older, newer) == [2, 1]


@pytest.mark.parametrize(
    ("said", "later"),
    [
        ("The port is 8080.", "The port is now 9090."),
        ("端口是 8080。", "端口改为 9090。"),
        ("Use port 8080 for the proxy.", "Use port 9090 instead."),
        ("The database is MySQL.", "The database is now Postgres."),
        ("数据库是 MySQL。", "数据库换成 Postgres。"),
    ],
)
def test_a_subject_of_one_word_is_enough(said: str, later: str) -> None:
    assert order(row(1, said, words=2.0), row(2, later, words=1.9)) == [2, 1]


@pytest.mark.parametrize(
    ("said", "later"),
    [
        ("The tests need a server.", "Fix the tests now"),
        ("The tests must use pytest.", "The tests are now green."),
        ("Thanks, the port is 8080.", "Actually, thanks!"),
        ("The port is 8080.", "Actually show me the port"),
        ("The port of the proxy is 8080.", "The port of the metrics is now 9090."),
        ("Use port 8080 for the proxy.", "Now use port 9090 for the metrics."),
        ("端口是 8080。", "现在看看端口"),
        ("The port is 8080.", "The port is 9090."),
    ],
)
def test_one_word_in_common_is_not(said: str, later: str) -> None:
    found = ranked([row(1, said, words=2.0), row(2, later, words=1.9)], QUESTION, wanted=5)
    assert [one.replaced_by for one in found] == [None, None]


def test_an_agent_takes_nothing_back_by_one_word() -> None:
    older = row(1, "The port is 8080.", words=2.0)
    newer = row(2, "The port is now 9090.", words=1.9, role="ai")
    assert order(older, newer) == [1, 2]


def test_another_subject_replaces_nothing() -> None:
    older = row(1, "The proxy listens on port 8080", words=2.0)
    newer = row(2, "We now write tests in the evening", words=0.5)
    assert [one.replaced_by for one in ranked([older, newer], QUESTION, wanted=5)] == [None, None]


@pytest.mark.parametrize(
    ("said", "later"),
    [
        (
            "Use port 9000 for the proxy listener.",
            "Do we need a changelog entry for the proxy listener port change?",
        ),
        ("代理端口是 9000。", "代理端口现在改为多少了呢"),
    ],
)
def test_a_question_replaces_nothing(said: str, later: str) -> None:
    found = ranked([row(1, said, words=2.0), row(9, later, words=1.9)], QUESTION, wanted=5)
    assert [one.replaced_by for one in found] == [None, None]


def test_copies_are_folded_and_named() -> None:
    rows = [row(n, "The port is 8080.") for n in (1, 2, 3)]
    found = ranked(rows, QUESTION, wanted=5)
    assert [(one.ref, sorted(one.same)) for one in found] == [(3, [1, 2])]


def test_a_copy_that_differs_in_a_number_is_kept() -> None:
    text = "The service listens on port {} of the host and answers with json to all who ask it so"
    assert len(order(row(1, text.format(8080)), row(2, text.format(8081)))) == 2


def test_a_requirement_does_not_fade() -> None:
    old = NOW - timedelta(days=242)
    rule = row(1, "Never log passwords", tags=["requirement"], importance=0.9, created_at=old)
    talk = [row(n, f"we log on day {n}", words=0.9) for n in range(2, 52)]
    assert order(rule, *talk)[0] == 1


def test_age_moves_by_a_tenth_at_most() -> None:
    old = row(1, "an old text about ports", words=1.3, created_at=NOW - timedelta(days=3650))
    assert order(old, row(9, "a new text on ports"))[0] == 1
    close = row(1, "an old text about ports", words=1.1, created_at=NOW - timedelta(days=3650))
    assert order(close, row(9, "a new text on ports"))[0] == 9


def test_what_was_used_lately_is_young_again() -> None:
    old = NOW - timedelta(days=100)
    used = row(1, "one about ports", created_at=old, last_at=NOW)
    new, other = row(9, "ports", words=0.1), row(2, "two of ports", created_at=old)
    assert order(used, other, new) == [1, 2, 9]
    assert order(used, other) == [2, 1], "nothing is newer, so that neither has faded"


def test_moments_of_a_day_do_not_tell_equal_texts_apart() -> None:
    said = [row(1, "one about ports", created_at=NOW), row(2, "two of ports", words=0.999)]
    later = said[1] | {"created_at": NOW + timedelta(hours=20)}
    assert order(*said) == order(said[0], later) == [1, 2]


def test_meaning_finds_what_has_no_word() -> None:
    found = order(
        row(1, "端口是多少", words=0.0, has=0, cosine=0.9),
        row(2, "some text", words=0.05, cosine=0.7),
        row(3, "other text", words=0.0, has=0, cosine=0.71),
    )
    assert found[0] == 1


def test_nothing_is_injected_for_a_question_nobody_answers() -> None:
    assert not judge([], QUESTION).inject
    weak = ranked([row(1, "x", words=0.0, has=0, cosine=0.8)], QUESTION, wanted=5)
    assert not judge(weak, QUESTION).inject
    assert judge(weak, Question([])).reasons


@given(st.permutations(list(range(1, 9))), st.integers(1, 30))
def test_the_order_of_rows_does_not_matter(refs: list[int], wanted: int) -> None:
    rows = {
        n: row(n, f"number {n} of them", words=float(n % 3), cosine=0.7 + n % 4 / 10)
        for n in range(1, 9)
    }
    assert order(*(rows[n] for n in refs), wanted=wanted) == order(*rows.values(), wanted=wanted)


def test_a_shorter_text_with_every_term_stands_before_a_longer_one() -> None:
    ideal = 2.0  # the weight of the term
    short, long = row(1, "port", words=1.1 * ideal), row(2, "port " * 9, words=1.02 * ideal)
    assert order(short, long) == [1, 2]


def test_of_variants_of_a_command_the_one_with_the_words_side_by_side_is_first() -> None:
    asked = "mise run lint && mise"
    question = Question(["port"], pairs=pairs_of(asked))
    rows = [
        row(1, "mise run lint && mise run test 2>&1 | tail -25"),
        row(2, "mise run test:ci 2>&1 | tail -5"),
        row(3, "mise run fmt && lint"),
    ]
    found = ranked(rows, question, wanted=5)
    assert (found[0].ref, round(found[0].scores["phrase"], 2)) == (1, 1.0)


def test_phrases_of_any_script() -> None:
    texts = ["Der Schlüssel_Name, öffnet das Tor", "grep -rn 'café' src", "a b"]
    assert phrase_shares(texts, pairs_of("schlüssel name öffnet")) == [1.0, 0.0, 0.0]
    assert phrase_shares(texts, pairs_of("RN CAFÉ")) == [0.0, 1.0, 0.0]
    assert phrase_shares(texts, pairs_of("nowhere else")) == phrase_shares(texts, []) == [0.0] * 3


def test_a_call_gives_way_to_the_result_that_repeats_it() -> None:
    call = row(3, "bash\ncommand: ls -la\ndescription: Look", role="ai", words=2.0)
    result = row(4, "bash command: ls -la description: Look\ntotal 7", role="tool", words=1.5)
    other = row(2, "ls -la was said", words=1.8)
    found = ranked([call, result, other], QUESTION, wanted=5)
    assert [(one.ref, one.same) for one in found] == [(4, [3]), (2, [])]
    assert order(call, other) == [3, 2]
    assert order(call, result | {"ref": 30}) == [3, 30]
    assert order(row(3, "Let me look.\n\nbash ls -la", role="ai", words=2.0), result) == [3, 4]


def test_what_an_agent_says_replaces_nothing() -> None:
    older = row(1, "Let me check the validators method: sed -n 920,950p", role="ai", words=2.0)
    newer = row(9, "Actually, now the validators method is what I check", role="ai", words=1.9)
    assert order(older, newer) == [1, 9]


def test_what_hardly_bears_on_the_question_replaces_nothing() -> None:
    older = row(1, "The budget of the harbour project is 4817", words=2.0)
    newer = row(9, "The project of the harbour budget changed its name", words=0.4)
    assert order(older, newer) == [1, 9]


def test_what_has_no_vector_yet_is_judged_by_its_words() -> None:
    exact = row(1, "port 8443", words=2.0)
    near = row(2, "a harbour, full of ships", words=0.0, has=0, cosine=0.9)
    assert order(exact, near, row(3, "nothing of it", words=0.0, has=0, cosine=0.1)) == [1, 2, 3]


def test_what_is_near_does_not_pass_what_has_every_word() -> None:
    exact = row(1, "port 8443", words=2.0, cosine=0.5)
    near = row(2, "a port for ships", words=1.6, cosine=0.9)
    assert order(exact, near, row(3, "nothing of it", words=0.0, has=0, cosine=0.4)) == [1, 2, 3]


def test_a_short_turn_means_what_the_one_before_it_means() -> None:
    question = Question(["flat", "rent"])
    about = row(4, "About the flat?", words=1.0, cosine=0.9)
    answer = row(5, "Two rooms.", words=1.0, cosine=0.5)
    other = row(9, "Two left.", words=1.0, cosine=0.55)
    rows = [one | {"weights": [1.0, 1.0]} for one in (about, answer, other)]
    assert [one.ref for one in ranked(rows, question, wanted=5)][1:] == [5, 9]


@given(st.permutations(range(8)), st.sampled_from([5, 30]))
def test_nor_does_it_among_copies_of_a_call_and_its_results(places: list[int], wanted: int) -> None:
    space = UUID(int=2)
    rows = [
        row(ref, "bash make", role="ai", words=words, cosine=0.8)
        for ref, words in ((10, 1.0), (12, 1.2), (14, 0.9))
    ]
    rows += [
        row(ref, f"bash make\nthe port {ref}", role="tool", words=words, cosine=0.8)
        for ref, words in ((11, 0.5), (13, 0.6), (15, 0.65))
    ]
    rows += [row(15, "bash make\nthe port 15", role="tool", space=space), row(16, "port")]

    def told(some: list[dict[str, Any]]) -> list[Any]:
        found = ranked(some, QUESTION, wanted=wanted)
        return [(one.space, one.ref, one.score, one.same) for one in found]

    assert told([rows[place] for place in places]) == told(rows)


def test_what_answers_stands_before_what_asks() -> None:
    assert order(row(1, "The port is 8443."), row(2, "Which port is it?", words=1.1)) == [1, 2]


@pytest.mark.parametrize(
    ("said", "echo", "answer"),
    [
        (
            "The valve V3 opens at 39 bar. Remember it.",
            "I noted valve V3.",
            "V3 turns by hand on weekdays.",
        ),
        ("阀门三号在39巴打开，请记住。", "记住了，阀门三号。", "三号？手动，每周一次检查。"),
    ],
)
def test_what_only_repeats_stands_after_what_lent_it_the_words(
    said: str, echo: str, answer: str
) -> None:
    asked = Question(["valv", "v3", "open"])
    lent = {"has": 0b011, "around": [0.0, 0.0, 0.6000000238], "weights": [2.0] * 3}

    def told(*rows: dict[str, Any]) -> list[int]:
        return [one.ref for one in ranked(rows, asked, wanted=5)]

    statement = row(7, said, has=0b111, words=5.0, weights=[2.0] * 3)
    assert told(statement, row(8, echo, words=6.0, **lent)) == [7, 8]
    assert told(statement, row(8, answer, words=6.0, **lent)) == [8, 7]
    other = row(7, said, has=0b110, words=5.0, weights=[2.0] * 3)
    assert told(other, row(8, echo, words=6.0, **lent)) == [8, 7]


def test_hits_are_entries_and_show_what_else_of_them_would_be_one() -> None:
    log = [
        row(1, f"part {n} of the port log" + "x" * n, part=n, words=2.0 - n * 0.4) for n in range(4)
    ]
    said, other = row(2, "The port is 8080.", words=1.85), row(3, "No port.", words=0.9)
    found = ranked([*log, said, other], QUESTION, wanted=2)
    assert [(one.ref, one.part) for one in found] == [(1, 0), (2, 0), (3, 0)]
    page = shown(found[:2])
    assert [[unit.part for unit in hit.units] for hit in page] == [[0, 1], [0]]
    whole = [hit.units for hit in shown(found)]
    assert [[unit.part for unit in units] for units in whole] == [[0, 1, 2, 3], [0], [0]]
    little = row(1, "x", part=9, words=0.45), row(4, "Port.", words=0.3)
    first, _ = shown(ranked([*log, *little], QUESTION, wanted=2))
    assert [unit.part for unit in first.units] == [0, 1, 2, 3]


def test_units_stand_in_reading_order_with_their_call_once_and_gaps_marked() -> None:
    log = [
        row(1, f"bash make\nline {n}", part=n, role="tool", words=2.0 + n / 10) for n in (0, 2, 3)
    ]
    (hit,) = shown(ranked(log, QUESTION, wanted=1))
    assert hit.best.part == 3
    assert joined(hit.units) == "bash make\nline 0\n…\nline 2\n\nline 3"


def test_copies_that_take_all_places_hide_no_unit_that_bears_nearly_as_much() -> None:
    copies = [
        row(ref, f"bash {ref}\nthe port {ref}{n}", part=n, role="tool", words=2.0 - n * 0.1)
        for ref in (1, 2, 3)
        for n in range(2)
    ]
    page = shown(ranked(copies, QUESTION, wanted=2)[:2])
    assert [(hit.best.ref, [unit.part for unit in hit.units]) for hit in page] == [
        (3, [0, 1]),
        (2, [0, 1]),
    ]


def test_what_has_no_room_is_counted() -> None:
    long = [row(1, f"{n} " + "port " * 230, part=n, words=2.0 - n / 10) for n in range(9)]
    first, last = shown(ranked([*long, row(2, "port", words=0.3)], QUESTION, wanted=2))
    assert [unit.part for unit in first.units] == [0, 1, 2, 3, 4]
    assert (first.left_out, last.left_out) == (4, 0)


def test_a_turn_beside_one_that_bears_on_the_question_stands_before_one_alone() -> None:
    asked, answer = row(4, "About the port", words=1.5), row(5, "On the left.", words=0.8)
    alone = row(9, "The port of Hull", words=0.9)
    assert order(asked, answer, alone) == [4, 5, 9]
    assert order(asked, answer | {"ref": 7}, alone) == [4, 9, 7]


def test_a_question_that_names_something_is_answered_by_what_has_it() -> None:
    named = Question(["=port-9"])
    rows = [row(4, "port-9", wholes=1.5), row(5, "x", wholes=0.8), row(9, "y", wholes=0.9)]
    assert [one.ref for one in ranked(rows, named, wanted=5)] == [4, 9, 5]


def test_the_day_that_a_question_names_weighs_more_than_a_word() -> None:
    question = Question(["harbour", "@05-02"])
    weights = {"weights": [2.0, 2.0]}
    said = row(1, "We met there.", has=0b10, **weights)
    other = row(9, "The harbour is full.", has=0b01, words=1.3, **weights)
    assert [one.ref for one in ranked([said, other], question, wanted=5)] == [1, 9]


def test_what_somebody_else_says_stands_after_what_the_one_asked_about_says() -> None:
    question = Question(["ana", "trip"])
    weights = {"weights": [1.0, 2.0]}
    ana = row(1, "Ana: I went to Porto.", has=0b01, words=1.6, **weights)
    other = row(5, "Bo: My trip was long.", has=0b10, words=1.8, **weights)
    answer = row(9, "Have a good trip!", role="ai", has=0b10, words=1.5, **weights)
    assert [one.ref for one in ranked([ana, other, answer], question, wanted=5)] == [1, 5, 9]
    told = answer | {"around": [0.6, 0.0], "words": 1.55}
    assert [one.ref for one in ranked([ana, other, told], question, wanted=5)] == [1, 9, 5]
    nobody = [ana | {"body": compress("bytes", b"I went to Porto.")}, other]
    assert [one.ref for one in ranked(nobody, question, wanted=5)] == [5, 1]
