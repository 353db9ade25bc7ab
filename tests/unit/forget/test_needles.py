"""What was forgotten is looked for in the values of checkpoints, in either serialisation."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from langledger.entries.codec import dump_value
from langledger.forget.entries import _Needles

SAID = 'Anna said "so",\nand half of \ud83d it'


@pytest.mark.parametrize("beside", [1, 2**70], ids=["as msgpack", "as exact JSON"])
@pytest.mark.parametrize("text", [SAID, SAID.replace("\ud83d", "\ud83d\ude00"), "Ännchen ❤ " * 9])
def test_a_text_is_found_whatever_it_holds(text: str, beside: int) -> None:
    needles = _Needles.of([HumanMessage(text)])
    assert needles.stand_in(dump_value({"notes": [text], "beside": beside})[1])
    assert not needles.stand_in(dump_value({"notes": [text[1:]], "beside": beside})[1])
