"""Words that stand for each other when people talk; pure.

A stemmer cannot see that ``bought`` is ``buy`` and ``youth`` the time one was ``young``, and who
asks for a film may have been told of a movie. Without vectors nothing else can. Everyday English
only; a question that names an identifier is not widened.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from langledger.recall.analysis import analyse

__all__ = ["other_forms"]

# Forms of one word that have no stem in common: verbs, then others.
_FORMS = """
become became / begin began begun / bite bit bitten / blow blew blown / break broke broken
bring brought / build built / buy bought / catch caught / choose chose chosen choice / come came
deal dealt / dig dug / draw drew drawn / dream dreamt / drink drank drunk / drive drove driven
eat ate eaten / fall fell fallen / feed fed / feel felt / fight fought / find found / flee fled
fly flew flown flight / forget forgot forgotten / forgive forgave forgiven / freeze froze frozen
give gave given / go went gone / grow grew grown growth / hang hung / hear heard / hide hid hidden
hold held / keep kept / know knew known knowledge / lay laid / lead led / learn learnt / leave left
lend lent / lie lay lain / lose lost loss / make made / mean meant / meet met / pay paid
ride rode ridden / ring rang rung / rise rose risen / run ran / say said / see saw seen
seek sought / sell sold sale / send sent / shake shook shaken / shine shone / shoot shot
show shown / shrink shrank shrunk / sing sang sung song / sink sank sunk / sit sat
sleep slept asleep / smell smelt / speak spoke spoken speech / spend spent / stand stood
steal stole stolen / stick stuck / strike struck / swear swore sworn / swim swam swum
take took taken / teach taught / tear tore torn / tell told / think thought / throw threw thrown
understand understood / wake woke woken / wear wore worn / win won / write wrote written
child children / foot feet / life lives live alive / man men / mouse mice / person people
tooth teeth / wife wives / woman women / advice advise / believe belief / dead death die
deep depth / free freedom / hot heat / high height / long length / prove proof
strong strength / warm warmth / weigh weight / wide width / young youth
angry anger / hungry hunger / beautiful beauty / healthy health / proud pride / safe safety
true truth / bored boring boredom
"""
# Words that are used for the same thing.
_SAME = """
film movie / present gift / recommend suggest advise advice / job work career / boss manager
colleague coworker / car automobile / bike bicycle / flat apartment / house home
holiday vacation trip journey travel / sick ill illness / doctor physician / kid child children
mother mom mum / father dad / buy purchase / begin start / end finish / big large huge
small little tiny / happy glad pleased / sad unhappy upset / afraid scared fear / study learn
student pupil / shop store / phone telephone mobile / photo picture photograph / help assist
repair fix / street road / fast quick / price cost / enjoy like love / favourite favorite
colour color / hobby interest / meal dinner lunch breakfast supper / company firm employer
problem trouble difficulty issue / clever smart intelligent / argue quarrel / exercise workout
television tv / exam test / sea ocean / forest woods / dish food cuisine / book novel
stress pressure / worry anxious anxiety / tired exhausted fatigue / marry wedding marriage
"""


def _groups(text: str) -> dict[str, set[str]]:
    others: dict[str, set[str]] = defaultdict(set)
    for line in text.strip().splitlines():
        for group in line.split("/"):
            stems = analyse(group).counts.keys()
            for stem in stems:
                others[stem] |= stems - {stem}
    return others


_OTHERS: Mapping[str, tuple[str, ...]] = {
    term: tuple(sorted(others)) for term, others in _groups(_FORMS.strip() + _SAME).items()
}


def other_forms(term: str) -> tuple[str, ...]:
    """Return the terms that say the same as a term of a question, in a fixed order."""
    return _OTHERS.get(term, ())
