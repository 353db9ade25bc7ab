from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langledger.recall.analysis import analyse, is_whole, telling, without_asking


def terms(text: str) -> set[str]:
    return set(analyse(text).counts)


@pytest.mark.parametrize("question", ["user", "getUserById", "get_user_by_id", "GETUSERBYID"])
def test_a_camel_case_name_is_found_by_its_words_and_spellings(question: str) -> None:
    assert terms(question) & terms("call getUserById(7)")


def test_acronyms_stay_together() -> None:
    assert {"pars", "html", "respons"} <= terms("parseHTMLResponse")


@pytest.mark.parametrize(
    "question", ["UserService.get_by_id", "get_by_id", "UserService", "user service"]
)
def test_a_dotted_name_is_found_by_its_parts(question: str) -> None:
    assert terms(question) & terms("see UserService.get_by_id for it")


@pytest.mark.parametrize(
    "question", ["src/auth/login.py:42", "src/auth/login.py", "login.py", "auth"]
)
def test_a_path_is_found_by_its_parts(question: str) -> None:
    assert terms(question) & terms("at src/auth/login.py:42 it fails")


def test_identifiers_that_share_words_differ_as_wholes() -> None:
    one, other = terms("parameter-301-61"), terms("parameter-3016-1")
    assert not {term for term in one & other if is_whole(term)}


def test_what_follows_a_colon_is_no_part_of_the_name() -> None:
    assert "=work-item-301-61" in terms("work-item-301-61:DONE|receipt=receipt-99")


@pytest.mark.parametrize("question", ["队列", "端口错配", "docker 部署", "端", "Worker 队列"])
def test_chinese_is_found_by_characters_and_pairs(question: str) -> None:
    document = "Worker/Server 队列端口错配导致任务无人消费，docker 部署失败"
    assert terms(question) & terms(document)


def test_words_are_found_in_other_forms() -> None:
    assert terms("rotate the refresh tokens") & terms("rotating a refreshed token") == {
        "rotat",
        "refresh",
        "token",
    }


def test_full_width_letters_are_letters() -> None:
    assert terms("ＡＰＩ") == terms("API")


def test_a_blob_does_not_become_a_thousand_terms() -> None:
    assert len(terms("QUJD" * 5000)) <= 2


def test_a_clipped_word_leaves_no_letter() -> None:
    assert terms("Ana's dog, I'm sure, didn't bark") == {"ana", "dog", "sure", "bark"}


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("How many lengths?", {"length"}),
        ("排云殿门票多少钱", {"排", "云", "殿", "门", "票", "钱", "排云", "云殿", "殿门", "门票"}),
        ("什么", {"什么"}),
    ],
)
def test_words_that_ask_are_not_searched(question: str, rest: set[str]) -> None:
    assert terms(without_asking(question)) == rest


def test_a_question_of_pairs_leaves_out_their_characters_and_particles() -> None:
    assert telling(analyse("颐和园的门票").counts) == ["颐和", "和园", "门票"]
    assert telling(analyse("了解").counts) == ["了解"]
    assert telling(analyse("的").counts) == []


@given(st.text(max_size=400))
def test_any_text_has_terms_that_a_lexeme_can_be(text: str) -> None:
    analysis = analyse(text)
    for term in analysis.counts:
        assert term
        assert len(term) <= 130
        assert not term.startswith("<")
        assert "\x00" not in term
    assert analysis == analyse(text)


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_text_is_found_by_any_of_its_lines(one: str, other: str) -> None:
    assert terms(one) <= terms(f"{one}\n\n{other}")


@pytest.mark.parametrize("text", ["3,285 euros", "for 3,285.50.", "(3,285)", "EUR 3285"])
def test_a_number_is_the_same_however_its_digits_are_grouped(text: str) -> None:
    assert "3285" in terms(text)


@pytest.mark.parametrize("text", ["3,2855", "13285", "1.3,285", "v3,285", "3, 285"])
def test_what_only_looks_grouped_is_no_number(text: str) -> None:
    assert "3285" not in terms(text)
