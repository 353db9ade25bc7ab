"""What a conversation is about: whether the user changed the subject, whether it moves on. Pure.

Both are read from words alone, so that they cost no model call and come out the same each time.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, ToolMessage

from langledger.compaction.pairing import Tracked
from langledger.compaction.transcript import is_request, readable_text, request_text
from langledger.tokens.blocks import as_json

__all__ = ["Subjects", "terms"]

# Of a long message the beginning tells what it is about.
_READ = 4_000
# A request of fewer words than this of its own ("go on", "yes, do that") changes no subject.
_TELLING = 5
# A request opens another subject when a smaller share of its words is among the last that were
# used. Of 500 requests in recorded sessions 4 % do; where two sessions were joined, 57 %.
_SHARED = 0.35
_LAST = 300
_ASKED = 600
# A turn brings hardly anything new when a smaller share of its words was not there before.
_NEW = 0.12
# What was said longer ago than this many words is new again.
_REMEMBERED = 6_000

_WORD = re.compile(r"[a-z_][a-z0-9_]{2,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|\d{2,}")
_ANNOUNCED = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|thanks?|thank you|great|good|perfect|nice)\b[\s,.!;:]*)*"
    r"(?:(?:a |another |one )?(?:new|different|separate|unrelated) (?:task|topic|question|subject)"
    r"|(?:let'?s )?(?:switch|move on) to|on another (?:note|topic)|something (?:else|different)"
    r"|changing (?:the )?(?:topic|subject)|forget (?:that|about (?:that|it)))\b"
    r"|^\W*(?:好的?|谢谢|可以)?[，,。\s]*(?:换个(?:话题|任务|问题)|另外一个(?:任务|问题|话题)"
    r"|新(?:任务|话题|问题)|接下来(?:我们)?(?:换|做另))",
    re.IGNORECASE,
)
_REFERS = re.compile(
    r"\b(?:again|instead|that|this|these|those|it|its|them|above|previous|continue|go on|still"
    r"|same|also|now)\b|继续|刚才|上面|这个|那个|它|还是|再",
    re.IGNORECASE,
)
_COMMON_WORDS = (
    "the and for you are was were with that this from have has had not but can could should would "
    "will what when where which who how why all any some into out about then than there their "
    "they them its his her our your please need want make made use used using let get got also "
    "just now new one two see does did done like look first next only more most very here been "
    "being after before other same such each both few own too yes okay thanks thank"
)
_COMMON = frozenset(_COMMON_WORDS.split(" "))


def terms(text: str) -> set[str]:
    """Return the words that tell what a text is about; of Chinese, Japanese and Korean, pairs."""
    found: set[str] = set()
    for word in _WORD.findall(text[:_READ].lower()):
        if word[0] > "\u3000":
            found.update(word[i : i + 2] for i in range(max(len(word) - 1, 1)))
        elif word not in _COMMON:
            found.add(_stem(word))
    return found


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


@dataclass(slots=True)
class Subjects:
    """Follows a conversation message by message.

    Attributes:
        turns: How often the user spoke since the last compaction.
        switched_at: The request that opened another subject since then, or 0.
        stale: Turns of the model, up to the newest, that brought hardly anything new.
        reads: Whether words are read at all; counting turns needs none.
    """

    reads: bool = False
    turns: int = 0
    switched_at: int = 0
    stale: int = 0
    _subject: dict[str, None] = field(default_factory=dict[str, None])  # the newest word last
    _known: set[str] = field(default_factory=set[str])
    _recent: deque[set[str]] = field(default_factory=deque[set[str]])
    _turn: set[str] = field(default_factory=set[str])

    def add(self, item: Tracked) -> None:
        """Take in the next message."""
        message = item.message
        if is_request(message):
            self.turns += 1
        if not self.reads:
            return
        if is_request(message):
            self._ask(item.seq, request_text(message))
        elif isinstance(message, AIMessage):
            self._close_turn()
            self._say(message)
        elif isinstance(message, ToolMessage):
            self._turn |= terms(readable_text(message))

    def settle(self) -> None:
        """Begin to count anew: a compaction was made, or found to gain nothing."""
        self.turns = self.switched_at = self.stale = 0

    @property
    def stale_turns(self) -> int:
        """Turns of the model that brought hardly anything new, the one under way included."""
        return self.stale + bool(self._turn and self._is_stale(self._turn))

    def _ask(self, seq: int, text: str) -> None:
        self._close_turn()
        if self._is_other(text):
            self.switched_at, self.stale = seq, 0
            self._subject = {}
        asked = terms(text)
        self._use(asked)
        self._remember(asked)

    def _is_other(self, text: str) -> bool:
        if not self._subject:
            return False
        if _ANNOUNCED.search(text):
            return True
        asked = terms(text[:_ASKED])
        if len(asked) < _TELLING or _REFERS.search(text[:200]):
            return False
        return len(asked & self._subject.keys()) < _SHARED * len(asked)

    def _use(self, words: set[str]) -> None:
        for word in sorted(words):
            self._subject.pop(word, None)
            self._subject[word] = None
        for word in list(self._subject)[:-_LAST]:
            del self._subject[word]

    def _say(self, message: AIMessage) -> None:
        said = terms(readable_text(message))
        self._use(said)
        called = " ".join(as_json(call["args"]) for call in message.tool_calls)
        self._turn = said | terms(called)

    def _close_turn(self) -> None:
        if self._turn:
            self.stale = self.stale + 1 if self._is_stale(self._turn) else 0
            self._remember(self._turn)
            self._turn = set()

    def _is_stale(self, turn: set[str]) -> bool:
        return len(turn - self._known) < _NEW * len(turn)

    def _remember(self, words: Iterable[str]) -> None:
        fresh = set(words) - self._known
        self._known |= fresh
        self._recent.append(fresh)
        while len(self._known) > _REMEMBERED and len(self._recent) > 1:
            self._known -= self._recent.popleft()
