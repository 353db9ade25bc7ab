"""The orders that stand between commas of a Chinese sentence, each as a sentence of its own."""

from __future__ import annotations

import re

from langledger.state.statements.chinese import CHINESE
from langledger.state.statements.traditional import SIMPLIFIED

__all__ = ["clauses"]

_COMMA = re.compile(r"[，；;](?=\s*\S)|,(?=\s*[\u3400-\u9fff])")
_ORDER = re.compile(
    r"\s*(?:(?:顺便|另外|还有|记得)?(?:以后|今后)+(?=[别別不])[^，。]|"
    r"(?:但是?|而且|并且|同时|也|并|请|千万)*(?:不要(?!用)|[别別](?!用|的|人|处)|勿|请勿|切勿|不得"
    r"|不许"
    r"|不准|禁止|严禁|务必|必须))"
)
# What an order goes on with, or depends on.
_REASON = re.compile(
    r"\s*(?:否则|因为|由于|以免|免得|防止|避免|会|这样|不然|也(?:不|别|禁)|包括|除了|除非|直到)"
)
_CONDITION = re.compile(
    r"(?:时|的时候|之?前|之?后|期间|过程中|里面?|内|上|中|每[次个].*|都|也|代码|测试|任何.*)\s*\Z"
    r"|\A\s*(?:如果|若|当|在|除了|除非|只要|凡是|为了|因为|由于|今后|以后|从现在)"
)


def clauses(sentence: str) -> list[str]:
    """Return the orders and bans within a sentence, and what is left of it, in order.

    ``把支付模块迁移到 v3，不要修改 billing.py，完成后测试`` is a task with a ban in its middle.
    A sentence that asks or supposes, one that is an order from its beginning, and a ban that
    depends on the clause before it stay whole.
    """
    parts = _COMMA.split(sentence)
    if not parts[1:] or _orders(parts[0]) or CHINESE.doubtful(sentence):
        return [sentence]
    found: list[list[str]] = [[]]
    ordered = False
    for before, part in zip(["", *parts], parts, strict=False):
        if _orders(part) and before and not _CONDITION.search(before.translate(SIMPLIFIED)):
            found.append([part])
            ordered = True
        elif ordered and not _REASON.match(part.translate(SIMPLIFIED)):
            found.append([part])
            ordered = False
        else:
            found[-1].append(part)
    return ["，".join(group).strip() for group in found if group]


def _orders(part: str) -> bool:
    return _ORDER.match(part.translate(SIMPLIFIED)) is not None
