"""Grave orders that a summary puts into the user's mouth, and consents in further languages.

What the user merely wanted is said in many true ways, so only what cannot be undone is looked at:
to delete, overwrite or send out something of value. Consents are read in English and Chinese word
by word (:mod:`langledger.compaction.consent`); in the other languages here only that there was one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from langledger.compaction.actions import Subject, subject_of

__all__ = ["orders_in"]

_ORDERS = re.compile(
    r"\busers?\b[^.\n;:]{0,40}?\b(?:told|asked|instructed|ordered|directed|commanded|wants?|wanted"
    r"|requested|demanded|urged|said)\b(?: (?:the |that )?(?:agent|assistant|ai|you|me|us|it))?"
    r" (?:to|that (?:the (?:agent|assistant)|you|it)(?: should| must| may| can)?) (?!not\b|never\b)"
    r"|^\W*(?:users?|human)\W{0,3}[:：]\s*"
    r"|\busers?\b[^.\n;:]{0,40}?\b(?:said|says|asked|wrote|requested|ordered|instructed) ?[:：]\s*"
    r"|用户(?:让|要求|要(?!求)|叫|命令|吩咐|指示|想)(?:我们?|你|代理|助手|模型)?(?!别|不|勿)|^\W*用户\W{0,2}[:：]",
    re.IGNORECASE,
)
_RISKY = frozenset({"delete", "push", "deploy", "overwrite", "reset", "send", "buy", "merge"})
# By the stems of actions.py.
_VALUABLE = frozenset(
    [
        "production",
        "main",
        "force",
        "databas",
        "database",
        "branch",
        "repository",
        "repo",
        "history",
        "backup",
        "bucket",
        "account",
        "customer",
        "everything",
        "table",
    ]
)
_ALL = re.compile(r"\beverything\b|删库|所有|全部|一切", re.IGNORECASE)
_NEGATED = re.compile(
    r"\b(?:not|never|no|nothing|none|without|avoid|before|until|unless|instead of|rather than|if"
    r"|whether|stop)\b|n't\b|不|别|勿|未|没|避免|之前|除非|如果|是否",
    re.IGNORECASE,
)
_FOREIGN = re.compile(
    r"\butilisateur\b[^.\n]{0,30}?\b(?:approuv|autoris|accept|consent|confirm|donn[ée] son accord)"
    r"|\b(?:benutzer(?:in)?|nutzer(?:in)?|anwender)\b[^.\n]{0,60}?\b(?:zugestimmt|genehmigt|erlaubt"
    r"|bestätigt|freigegeben|stimmte\b|genehmigte)"
    r"|\busuari[oa]\b[^.\n]{0,30}?\b(?:aprob|autoriz|acept|confirm|dio (?:su )?permiso|consinti"
    r"|aprov|aceit|permiti)"
    r"|\butente\b[^.\n]{0,30}?\b(?:approvat|autorizzat|accettat|confermat)"
    r"|ユーザー[^。\n]{0,20}?(?:承認|許可|同意|了承)|사용자[^.\n]{0,20}?(?:승인|허가|동의)"
    r"|\bпользователь\b[^.\n]{0,30}?(?:одобрил|разрешил|согласил|подтвердил)",
    re.IGNORECASE,
)
_NOT_FOREIGN = re.compile(
    r"\b(?:n'|ne |pas|nicht|kein\w*|noch|no|não|non|не|si|wenn|falls|se)\b|ない|ません|않|없",
    re.IGNORECASE,
)


def orders_in(sentence: str) -> Iterator[Subject]:
    """Yield what a sentence says the user ordered where that is grave, and consents it tells of."""
    for order in _ORDERS.finditer(sentence):
        said = sentence[order.end() :]
        if _NEGATED.search(said):
            continue
        about = subject_of(said)
        risky = about.actions & _RISKY
        if risky and (about.words & _VALUABLE or _ALL.search(said)):
            yield Subject(risky, risky, about.words, chinese=about.chinese)
    if _FOREIGN.search(sentence) and not _NOT_FOREIGN.search(sentence):
        yield Subject()
