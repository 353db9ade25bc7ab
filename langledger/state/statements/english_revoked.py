"""How users give up an order or a choice in English, or allow what they forbade."""

from __future__ import annotations

__all__ = ["ALLOWED", "REVOKED"]

REVOKED = (
    (
        r"(?:forget|ignore|drop|disregard|cancel|lift|revoke)(?: about)? (?:that|this|the last)"
        r"(?: last)? (?P<newest>rule|restriction|order|instruction|convention|decision|ban)"
        r"(?: now| again| please)?[.!]?\Z"
    ),
    (
        r"(?:forget|ignore|drop|disregard|cancel|lift|revoke) (?:the|my|our|that) (?:rule"
        r"|restriction|ban|instruction) (?:about|on|against|for) (?P<what>.{3,120}?)[.!]?\Z"
    ),
    (
        r"(?:there(?:'s| is) )?no (?:longer (?:any )?)?need to (?P<what>.{3,120}?)"
        r"(?: any ?more| any longer| now)?[.!]?\Z"
    ),
    (
        r"(?:scrap|ditch|abandon|drop) (?!(?:the|that|this|these|it|them|everything)\b)"
        r"(?P<what>[\w.+#-]{2,30}(?: v?\d[\w.]*)?)(?: support)?[.!]?\Z"
    ),
    (
        r"(?:you|we) (?:can|may|could|are (?:now )?(?:free|allowed) to)(?: now"
        r"| again)* (?P<what>.{3,120}?)(?: again| now| after all)[.!]?\Z"
    ),
    (
        r"(?:forget|ignore|drop|scrap|disregard|cancel|lift|undo"
        r"|revoke)(?: about)? (?:the |my |our |that |what i said about )+(?P<what>.{3,120}?)"
        r"(?: (?:rule|restriction|requirement|constraint|convention|decision|idea|limit|ban))?"
        r"(?: (?:now"
        r"|again|i (?:gave|mentioned|set).*|from (?:before|earlier)))?"
        r"(?:[,;] (?:it(?:['’]?s| is)|that['’]?s) (?:fine|ok(?:ay)?|allowed|good)\b.*)?[.!]?\Z"
    ),
    (
        r"(?:you|we) (?:no longer (?:need|have) to|don'?t (?:need"
        r"|have) to) (?P<what>.{3,120}?)(?: any ?more| any longer| now)?[.!]?\Z"
    ),
    (
        r"(?P<what>.{3,80}?) (?:is|are) (?:now )?(?:allowed|fine|ok|okay|permitted"
        r"|possible)(?: again| now| after all)[.!]?\Z"
    ),
    (
        r"(?P<what>[^\W_].{2,80}?)(?<!\bthis)(?<!\bthat)(?<!\bit)"
        r" (?:no longer applies|is no longer (?:needed|valid"
        r"|required)|is off the table|doesn'?t apply any ?more)[.!]?\Z"
    ),
)

ALLOWED = (r"(?:you|we) (?:can|may|are (?:now )?(?:free|allowed) to) (?P<what>.{3,120}?)[.!]?\Z",)
