"""From terms to an order."""

from __future__ import annotations

from dataclasses import MISSING, fields
from uuid import UUID

from langledger.repository.candidates import piece_of
from langledger.repository.query import read_query
from langledger.repository.ranking import (
    PROSE,
    TERMS,
    Boosts,
    Extent,
    Piece,
    asked_terms,
    chosen_terms,
    covered,
    files_of,
    first_order,
    rescored,
    weights_of,
)

EXTENT = Extent(files=50, chunks=500.0, size=60.0, tokens=600.0, common={"self": 0.9, "data": 0.3})


def piece(path: str, number: int, *bits: int, test: bool = False, factor: float = 1.0) -> Piece:
    return Piece(
        path=path,
        blob=UUID(int=1),
        number=number,
        symbol=1,
        start_line=1,
        end_line=9,
        tokens=80,
        size=60,
        file_tokens=600,
        is_test=test,
        language="python",
        has=sum(1 << bit for bit in bits),
        in_path=0,
        factor=factor,
    )


def scored(pieces: list[Piece], weights: list[float], boosts: Boosts | None = None) -> list[str]:
    first_order(pieces, weights, EXTENT, boosts or Boosts())
    order = sorted(pieces, key=lambda one: -one.score)
    return [f"{one.path}:{one.number}" for one in order]


def test_the_first_line_and_rare_terms_are_what_is_looked_for() -> None:
    asked = asked_terms(read_query("Flush loses keys\n\nself data flush window"))
    assert asked["flush"] > asked["window"]
    assert chosen_terms(asked, EXTENT, 2)[0] == "flush"
    assert "self" not in chosen_terms(asked, EXTENT, len(asked) - 1)


def test_terms_beyond_the_most_telling_ones_weigh_nothing() -> None:
    terms = [f"t{number}" for number in range(50)]
    pieces = [piece("a.py", number, *range(number, 50)) for number in range(50)]
    weights = weights_of(terms, dict.fromkeys(terms, 1.0), pieces, EXTENT)
    assert sum(weight > 0 for weight in weights) == TERMS
    assert weights[0] > weights[10] > 0


def test_a_term_that_no_chunk_has_weighs_nothing() -> None:
    weights = weights_of(["a", "b"], {"a": 1.0, "b": 1.0}, [piece("a.py", 0, 0)], EXTENT)
    assert weights[0] > 0 == weights[1]


def test_a_chunk_gains_by_its_file() -> None:
    same = [piece("a.py", 0, 0, 1), piece("a.py", 1, 0), piece("b.py", 0, 0)]
    assert scored(same, [1.0, 1.0]) == ["a.py:0", "a.py:1", "b.py:0"]
    assert [path for path, _ in files_of(same)] == ["a.py", "b.py"]


def test_prose_counts_less_than_code() -> None:
    assert scored([piece("a.md", 0, 0, factor=0.5), piece("b.py", 0, 0)], [1.0])[0] == "b.py:0"


def test_code_that_shows_how_to_use_code_is_prose() -> None:
    row = {field.name: 0 for field in fields(Piece) if field.default is MISSING}
    row = {key: value for key, value in row.items() if key != "scores"}
    for path, factor in (("docs/shop.py", PROSE), ("a/examples/b.py", PROSE), ("a/doc.py", 1.0)):
        assert piece_of({**row, "path": path, "language": "python"}).factor == factor


def test_what_a_question_names_comes_on_top() -> None:
    boosts = Boosts()
    boosts.add_file("b.py", 0.4)
    boosts.add_pieces("b.py", 0.4, [0])
    pieces = [piece("a.py", 0, 0), piece("b.py", 0, 0), piece("b.py", 1, 0)]
    assert scored(pieces, [1.0], boosts)[0] == "b.py:0"


def test_how_often_a_term_stands_counts_on_the_second_look() -> None:
    pieces = [piece("a.py", 0, 0), piece("b.py", 0, 0)]
    files = first_order(pieces, [1.0], EXTENT, Boosts())
    assert pieces[0].score == pieces[1].score
    counts = {("b.py", 0): {0: 5.0}}
    rescored(pieces, counts, [1.0], extent=EXTENT, files=files, boosts=Boosts())
    assert pieces[1].score > pieces[0].score


def test_the_best_test_does_not_set_the_scale() -> None:
    pieces = [piece("tests/a.py", 0, 0, 1, test=True), piece("a.py", 0, 0)]
    scored(pieces, [1.0, 1.0])
    assert pieces[1].score == 1.0


def test_how_much_of_a_question_a_chunk_holds() -> None:
    assert covered(piece("a.py", 0, 0, 2), [1.0, 2.0, 1.0, 0.0]) == {"terms": 2.0, "share": 0.5}
