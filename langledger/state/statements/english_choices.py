"""What a choice of the user's looks like in English: decisions, corrections, bare orders."""

from __future__ import annotations

from langledger.state.statements.grammar import Rule

__all__ = ["BARE", "CORRECTIONS", "DECISIONS"]

_VAGUE = (
    r"(?:it|this|that|so|them|these|those|one|both|all)(?:\s+(?:now|then|please|first))?\s*[.!]*\Z"
)

_WORD = r"[`\"']?[\w@-][\w./+#@:-]*[`\"']?"
_MORE = (
    r"(?: (?!(?:to|and|or|that|which|if|when|until|before|after|while|with|you|i|we|please|then"
    r"|instead|because|since)\b)[\w./+#'`-]+)"
)
_NAMED = rf"{_WORD}{_MORE}{{0,3}}"
_WHERE = rf"(?: (?:for|as|in|on|with|at|from|under) {_NAMED})?"
_END = (
    r"(?: (?:for now|for this|please|then|instead|everywhere|throughout|here|only|too|again))*"
    r"(?:\s*[,;:—–]\s*\S.*|\s+(?:because|since|so that|as (?:it|we|they)|not|rather than"
    r"|instead of|over)\b.*)?[.!\s]*\Z"
)
_NUMBER = (
    r"[`\"']?v?\d[\w.,:%]*[`\"']?(?: (?:percent|s|secs?|seconds?|mins?|minutes?|hours?|days?|weeks?"
    r"|months?|ms|[kmg]i?b|bytes|lines|char(?:acter)?s|tokens|items|rows|workers|threads|retries"
    r"|(?:per|a) \w+))?"
)
_NO_NAME = (
    r"(?:it|this|that|these|those|them|one|both|all|any|your|my|his|her|whatever|more|less|caution"
    r"|care|cases?|common sense|only|up|of|to|in|on|with"
    r"|the (?:above|following|same|other|latest|attached|below|tools?|browser|links?"
    r"|search|terminal|shell|rest|way))"
)
_NOT_KEPT = (
    r"(?:going|up|me|us|you|an|calm|track|quiet|on|off|away|out|everything|things?|everyone|talking"
    r"|\w+ing|at|looking|in|it|this|that|these|those|them|your|my|doing|to|as|trying|notes?|pace)"
)
_SETTING = (
    r"(?:timeouts?|ttls?|limits?|ports?|sizes?|intervals?|delays?|retries|lengths?|widths?"
    r"|thresholds?"
    r"|levels?|versions?|windows?|budgets?|quotas?|caps?|rates?|periods?|workers|threads|replicas)"
)
_CODE = r"[`\"']?[\w-]*(?:[._/][\w-]|(?-i:[A-Z]{2}))[\w./-]*[`\"']?"
_ORDINAL = (
    r"(?:the (?:first|second|third|fourth|last|former|latter|other)|(?:option|approach|variant"
    r"|number|plan) \w+)(?: (?:one|option|approach|variant|solution|way|version|idea|proposal))?"
)
_CHOICE = r"(?:(?-i:[A-Z])[\w.+#-]*|[`\"']\S+|(?:[\w-]+ )?v?\d[\w.]*)"
_TICKET = r"(?-i:(?!UTF|ISO|SHA|AES)[A-Z][A-Z0-9]{1,9}-\d+)\b"
_ACTS = (
    r"(?:push|commit|deploy|merge|publish|release|rebase|squash|amend|force-push|refactor|reformat)"
)

BARE = (
    Rule("convention", rf"(?:never|don'?t|do not)(?: ever)? {_ACTS}[.!\s]*\Z", 0.85),
    Rule(
        "decision",
        r"(?:let'?s )?(?:(?:go|revert) back to|(?:switch|move) (?:back )?to|back to) "
        rf"(?!{_TICKET}){_CHOICE}{_END}",
        0.75,
    ),
    Rule(
        "decision",
        rf"(?:let'?s )?(?:switch|move|migrate) from (?!{_NO_NAME}\b){_WORD} to"
        rf" (?!{_NO_NAME}\b){_WORD}{_END}",
        0.75,
    ),
    Rule(
        "decision",
        rf"(?:let'?s )?(?:forget|drop|scrap|ditch)(?: about)? (?!(?:the|{_NO_NAME})\b)[\w.+#-]+[,;]"
        r" (?:and |then |let'?s |we'll )*(?:use|go with|switch to|take)"
        rf" (?!(?:the|{_NO_NAME})\b){_NAMED}{_END}",
        0.8,
    ),
    Rule(
        "decision",
        r"(?:the |our |all |every )?(?!(?:you|it|this|that|he|she|they|we|i|there|people)\b)"
        rf"{_NAMED} must (?:be|stay|remain)(?: (?:at|set to|most|least|under|below|above|exactly))*"
        rf" {_NUMBER}{_END}",
        0.75,
    ),
    Rule(
        "decision",
        rf"(?:the |our |all |every |each )?(?:[\w-]+ ){{0,3}}{_SETTING} (?:should|shall|has to"
        rf"|needs to)"
        r" (?:be|stay|remain)(?: (?:at|set to|most|least|under|below|above|exactly))*"
        r"(?!.*\b(?:but|is|was|are|shows?|says|got|get|returns?|never|always|do not|don'?t)\b)"
        rf" {_NUMBER}{_END}",
        0.75,
    ),
    Rule(
        "decision",
        r"(?:max(?:imum|imal)?|min(?:imum|imal)?)"
        rf" (?:{_NUMBER}(?: [\w-]+){{0,2}}|(?:[\w-]+ ){{1,3}}(?:is |= ?|: ?|of )?{_NUMBER}){_END}",
        0.75,
    ),
    Rule(
        "decision",
        r"(?:let'?s )?switch (?:over )?to (?!(?:the|it|that|this|an?|your|my|main|master|dev\w*"
        r"|staging"
        r"|production|prod|root|branch|another|something|plan|auto|manual|basics|sleep|work|normal"
        rf"|{_NO_NAME})\b)[a-z][\w.+#-]{{2,}}{_END}",
        0.75,
    ),
    Rule(
        "decision",
        r"(?!(?:it|this|that|so|more|other|i|we|you|something|anything)\b)[\w.+#-]+(?: [\w.+#-]+)?"
        r" (?:rather than|instead of) (?!(?:it|this|that|the|\w+ing)\b)[\w.+#-]+(?: [\w.+#-]+)?"
        r"(?: please)?[.!]*\Z",
        0.75,
    ),
    Rule("decision", rf"use (?!{_NO_NAME}\b){_NAMED}{_WHERE}{_END}", 0.75),
    Rule("decision", rf"keep (?!{_NOT_KEPT}\b){_NAMED}{_WHERE}{_END}", 0.75),
    Rule(
        "decision",
        r"(?:stay|stick|remain) (?:with|on|at) (?!(?:it|that|this|track|top|task|topic|point|hold"
        rf"|budget|schedule|course|the (?:line|phone|topic|safe side)|me|us|home)\b){_NAMED}{_END}",
        0.75,
    ),
    Rule(
        "decision",
        r"(?:set|change|raise|lower|bump|increase|decrease|reduce|update|upgrade|downgrade|pin"
        rf"|limit|cap|switch) (?:[\w./`'-]+ ){{0,6}}?(?:to|at) {_NUMBER}{_END}",
        0.75,
    ),
    Rule("decision", rf"make the [\w ]{{2,30}}? {_NUMBER}{_END}", 0.7),
    Rule(
        "decision", r"make (?:it|this|that) an? \S.{1,60}(?:, not|instead of|rather than) \S.*", 0.8
    ),
    Rule("decision", rf"(?:target|support only) (?-i:[A-Z])[\w.+#]* \d[\w.]*\+?{_END}", 0.75),
    Rule(
        "decision",
        r"call (?:it|this|them) (?!(?:a|an|quits|off|again|twice|once|from|with|in|on|and|what"
        rf"|out|directly|here|back)\b){_WORD}{_END}",
        0.75,
    ),
    Rule(
        "decision",
        rf"name (?:it|this|them|the [\w-]+(?: [\w-]+)?) (?:{_CODE}|[`\"']\S+|\w+-\w+){_END}",
        0.75,
    ),
    Rule(
        "decision",
        r"(?:there(?:'s| is) )?no need for (?!apolog|thanks|worr|panic|rush|hurry|concern|alarm"
        r"|(?:that|this|it|me|you|all)\b)\S{3,}.*",
        0.75,
    ),
    Rule(
        "decision",
        r"(?:we|you) (?:don'?t|do not) need (?:an?|any|the) "
        r"(?!(?:of|more|thing|break|rush|hurry)\b)[^?]{4,60}\Z",
        0.7,
    ),
    Rule("decision", rf"let'?s (?:do|try|make|build|take) [^?]{{2,60}} instead{_END}", 0.8),
    Rule(
        "decision",
        r"let'?s (?:go for|stay (?:with|on)) (?!(?:it|that|this|lunch|dinner|breakfast|coffee"
        r"|beers?|drinks|food|an? (?:walk|run|break|drive|ride|swim|drink|coffee|hike))\b)\S.{2,}",
        0.8,
    ),
    Rule(
        "decision",
        r"let'?s leave (?!(?:it|that|this|now|early|soon|the (?:house|office))\b)[^?]{2,60}"
        r" (?:out|as (?:it )?is|in place|alone|in)\b.*",
        0.8,
    ),
    Rule(
        "decision",
        r"(?:i|we)(?:'d| would) (?:much )?rather (?:not )?(?:use|keep|have|go with|stay with|add"
        r"|avoid|ship|write)\s+(?!it\b|that\b|this\b)\S.{2,}",
        0.75,
    ),
    Rule(
        "decision",
        r"(?:i|we)(?:'d| would|'ll)? (?:prefer|like|favou?r|take|choose|vote for) "
        rf"{_ORDINAL}{_END}",
        0.8,
    ),
    Rule(
        "decision",
        r"(?!(?:here|there|what|how|where|that|this|so|as|i|yes|no|whatever|sure|such|like|all|oh"
        r"|than|because|and|but|if|who|why|when|is)\b)[\w.+#-]+(?: (?!(?:think|know|believe|guess"
        r"|hope|say|said|what|how|as|that|day|where)\b)[\w.+#-]+)? it is(?: then)?[.!]*\Z",
        0.75,
    ),
    Rule("decision", rf"{_CODE}, not {_CODE}[.!]*\Z", 0.8),
    Rule("decision", rf"not {_CODE},? (?:but )?{_CODE}[.!]*\Z", 0.8),
    Rule(
        "decision",
        r"(?!(?:it|that|this|they|everything|we|you|i|he|she|there)\b)(?:the |all |our )?[\w./`-]+"
        r"(?: [\w./`-]+){0,4} (?:should|must|needs? to|has to|have to) (?:live|move|go|sit|stay"
        r"|belong|be (?:in|under|called|named|moved|renamed)|take precedence|default to|match"
        r"|mirror|override)\s+"
        r"(?!(?:well|fine|away|now|smoothly|wrong|through|home|there)\b)"
        r"(?!.*\b(?:but (?:it|they|is|isn|does|do|was|were|there|i)|already|by now)\b)\S.{2,}",
        0.7,
    ),
    Rule(
        "convention",
        r"i (?:meant|said) (?!(?:to|that|i|it|you|we|no|yes|nothing|something|so|what|if|hi|hello"
        r"|before|earlier|well|every\w*|using|this|the (?:link|above|following|other|one|\w+ one"
        r"|\w+ (?:file|log|page|line|error|bug|test))|my|your)\b)\S.{2,}",
        0.75,
    ),
)
"""Tried last, and on sentences too short for the others: they say all in a verb and a name."""


DECISIONS = (
    Rule(
        "decision",
        r"let'?s (?:not(?! (?:get|go|jump|rush|forget|panic|kid|worry|waste|talk|discuss|argue"
        r"|overthink)\b)|go with|use|keep(?! (?:it up|at it|calm|\w+ing)\b)|stick (?:with|to)"
        r"|switch to(?! (?:something|another|an? (?:new|different|other))\b)|drop|skip|adopt"
        r"|call(?! it (?:a day|a night|quits|off|done))"
        rf"|name|put|store|rename|have)\s+(?!{_VAGUE})(?!a look)\S.{{2,"
        r"}",
        0.8,
    ),
    Rule(
        "decision",
        r"(?:i|we)(?:'ve| have)? (?:decided|chose|chosen|agreed|settled|opted)(?: (?:to"
        r"|on|for|that|not to|against|upon))\s+(?!nothing|anything|yet)\S",
        0.9,
    ),
    Rule(
        "decision",
        r"(?:i|we)(?:'m| am|'re| are|'ll| will) (?:going (?:to (?:use|go with|keep|drop"
        r"|switch to|stick with)|with)|use|go with|stick with|adopt|drop|switch to"
        r"|support|target|ship)\s+(?!going)\S.{2,}",
        0.75,
    ),
    Rule("decision", rf"(?:go|going|went) with\s+(?!{_VAGUE})(?!the flow)\S", 0.85),
    Rule(
        "decision",
        r"(?:choose|pick|take)\s+(?:option|the (?:first|second|third|last)|approach"
        r"|variant|number)\b.*",
        0.85,
    ),
    Rule(
        "decision",
        r"(?:option|approach|variant|plan) (?:\d|[a-e]|one|two|three)\b(?=\s*(?:[,.!]"
        r"|\Z|please|(?:is|seems|sounds|looks) (?:good|fine|great|right|ok(?:ay)?|better|best)\b"
        r"(?! \w+ed\b)(?!.*\bbut\b)|it is|works (?:for (?:me|us)|best|well)))",
        0.8,
    ),
    Rule("decision", r"(?:final )?decision\s*:\s*\S.{4,}", 0.95),
    Rule(
        "decision",
        r"(?:i|we) want (?:this|it|the [\w-]+(?: [\w-]+){0,3}) to (?:be(?! (?:done|finished|ready"
        r"|over|good"
        r"|great|perfect|clear)\b)|use|stay|live|remain)\b.{3,}",
        0.7,
    ),
    Rule(
        "decision",
        r"let'?s do (?:it|this|that|these|those) (?:in|with|as|via|by|using|without|only|later"
        r"|after|before|on|next|separately)\b\s*\S?.*",
        0.75,
    ),
    Rule(
        "decision",
        r"let'?s (?:just|only|simply) (?!see\b|check\b|look\b)[^?]{4,}\bfor now\b.*",
        0.75,
    ),
    Rule(
        "decision",
        r"we (?:should|need to|must|have to) (?:only |also |always )*(?:rename|pass"
        r"|return(?! to\b)|store"
        r"|keep|drop|replace|split|inline|expose|treat|default|require|separate|reject|use)\s+"
        rf"(?!{_VAGUE})(?!(?:going|up|in mind|an eye|track)\b)\S.{{4,}}",
        0.7,
    ),
    Rule("decision", r"(?:the )?\w+ (?:it|one|version|name) (?:shall|will) be\s+\S", 0.7),
)

CORRECTIONS = (
    Rule(
        "convention",
        r"(?:use|make it|it should be|it must be|that should be|should be|call it"
        r"|name it|put it|change (?:it|that) (?:to|back)|set it to|keep it|go with"
        r"|switch (?:back )?to|rename it to|revert to)\s+\S.{1,}",
        0.8,
    ),
    Rule(
        "convention",
        rf"it'?s (?!\d[\d:.]* ?(?:[ap]m|o'clock)\b)(?:called |named )?(?:{_NUMBER}|{_CODE}"
        rf"|[`\"']\S+|(?-i:[A-Z])[\w.+#-]*){_END}",
        0.8,
    ),
    Rule(
        "decision",
        r"(?:drop|leave|make|set|put|take|remove) (?:the|our|all|a|an)\s+\S.{2,}",
        0.75,
    ),
    Rule(
        "convention",
        r"\S.{1,80}?\b(?:should|must|has to|have to) (?:be|go|live|use|stay|return|have|do|keep"
        r"|make|call|put)\s+\S.{1,}",
        0.75,
    ),
)
