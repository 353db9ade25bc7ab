"""Patterns for what users say in English. Tuned for precision: a doubtful sentence is none."""

from __future__ import annotations

from langledger.state.statements.english_choices import BARE, CORRECTIONS, DECISIONS
from langledger.state.statements.english_revoked import ALLOWED, REVOKED
from langledger.state.statements.grammar import Grammar, Rule

__all__ = ["ENGLISH"]

_BARE = r"(?:,?\s+(?:just|please|also|really|ever|actually|at all|only|simply),?)*+"
_NOT_ORDERS = (
    r"worry|bother|mind|care|get me wrong|think|know|see|understand|believe|recall|remember|like"
    r"|feel|have|need|seem|mean|trust|you|we|they|i\b|hesitate|panic|be (?:afraid|sorry|shy)|sweat"
    r"|gonna|going|would|will|was|were|had|been|have been|in my"
    r"|seen|heard|met|done|tried|felt|saw|knew|thought"
    r"|give up|ask again|ask me why|say|love|agree|expect|quite|even know|work\b|exist"
    r"|tell me|laugh|cry|judge|ask\W*\Z|get (?:what|why|how|the|this|that|it)\b|follow\W*\Z"
    r"|follow why"
)
# What "never" and "always" report of: what was, what is done by something, how something is.
_REPORTED = (
    r"(?:(?!(?:embed|exceed|proceed|succeed|feed|seed|speed)\b)\w+ed|(?!alias\b)\w+[^\Wsui]s"
    r"|(?!(?:ping|bring|string)\b)\w+ing|went|got|gave|came|ran|broke|became|took|made|wrote|lost"
    r"|found|left|kept|slow|fast|null|none|empty|undefined|nan|zero|true|false|wrong|right|broken"
    r"|flaky|late|early|busy|down|up|red|green|same|on|off|in|at|about|one|when|since|because|the"
    r"|an?|my|our|his|her|their|this|these|those)\b"
)
_DOING = (
    r"using|adding|writing|changing|creating|touching|committing|running|editing|putting|making"
    r"|pushing|removing|deleting|guessing|assuming|asking|inventing|mocking|importing|generating"
)
_NO_THINGS = (
    r"(?:emojis?|comments|mocks?|(?:new |external |third[- ]party |extra |additional |more )"
    r"?(?:dependenc\w+|librar\w+|packages|abstractions?|files?|flags?|config\w*)|console\.?logs?"
    r"|prints?|abbreviations|breaking changes|force[- ]push\w*|backwards? compat\w*|type: ignore"
    r"|any types?|globals?|magic numbers|hard-?cod\w+|jargon|markdown|shortcuts|hacks"
    r"|inline styles|try/except|fallbacks?|(?:deprecation |import )?alias(?:es)?|wrappers?|shims?"
    r"|singletons?|orms?|polyfills?|feature flags?|telemetry|analytics)"
)
_SUBJECT = (
    r"(?:you|all|every|each|any|new|your|our|the|code|tests?|commits?|files?|names?|functions?"
    r"|classes|comments?|messages?|docs?|documentation|branches|variables?|errors?|prs?|we)"
)
_LANGUAGE = (
    r"(?:english|german|french|spanish|italian|portuguese|russian|chinese|japanese|korean|mandarin"
    r"|dutch|polish|turkish|arabic|hindi)"
)

_CONVENTIONS = (
    Rule(
        "convention",
        rf"(?:do not|don'?t|never(?!{_BARE}\s+{_REPORTED})|avoid(?! (?:looks|is|seems|sounds)\b)"
        rf"|please refrain from){_BARE}\s+"
        rf"(?!(?:{_NOT_ORDERS})\b)"
        r"(?!forget)[a-z`\"]",
        0.9,
    ),
    Rule(
        "convention",
        r"(?:stop|quit) (?!(?:being|doing|complaining|joking|lying|wasting|trying)\b"
        r"|making (?:excuses"
        rf"|fun|jokes))\w+ing\s+\S|no more (?:{_DOING})\s+\S",
        0.9,
    ),
    Rule("convention", r"(?:don'?t|do not|never) forget (?:to|that|the)\b", 0.85),
    Rule(
        "convention",
        r"always\s+(?!(?:get|got|have|had|been|the case|wanted|thought|fail|feel|love|like"
        r"|enjoy|nice|good|great|happy|glad|fun|lovely|a|an|here|there|something|someone)\b)"
        rf"(?!{_REPORTED})[a-z]",
        0.9,
    ),
    Rule(
        "convention",
        r"(?:make sure|be sure|ensure)(?! (?:that )?i\b)(?:,? (?:that|to|you))?\s+\S+\s+\S+",
        0.8,
    ),
    Rule(
        "convention",
        r"(?:from now on|going forward|from here on|in (?:the )?future|for (?:all )?future \w+"
        r"|at all times|under no circumstances|whatever you do)\b.{6,}",
        0.95,
    ),
    Rule(
        "convention",
        r"(?!(?:i|we|you|he|she|it|they|this|that|the|there|these|those|my|your)\b)[a-z][^?]{6,}"
        r"\b(?:from now on|going forward|from here on)[.!]?\Z",
        0.9,
    ),
    Rule(
        "convention",
        r"(?:answer|reply|respond|speak|talk)(?: to me)?(?: back)? (?:only )?in"
        rf" {_LANGUAGE}(?: please| only| again| now)*[.!]?\Z",
        0.85,
    ),
    Rule(
        "convention",
        r"(?:every time|each time|whenever"
        r"|before (?:you|each|every|any)|after (?:you(?! (?:finish|are (?:done|finished)))"
        r"|each|every|any))"
        r"\b[^,]{3,80},\s*(?:please\s+)?(?:always|never|run|use|check|add|do not|don'?t"
        r"|ask|make sure"
        r"|update|write|you must|you should)\b",
        0.9,
    ),
    Rule(
        "convention",
        r"(?:when|whenever|if) (?:you \w+|\w+ing)\b[^,?]{2,80},\s*(?:please\s+)?(?:alway"
        r"s|never|use|make sure|do not|don'?t|ask me|stop and|run)\s+\S{3,}",
        0.85,
    ),
    Rule(
        "convention",
        r"you (?:must|have to|should (?:always|never)|shall|may not|must not|mustn'?t|"
        r"are (?:not )?allowed to|can only|should only|may only|are forbidden to|should not|"
        r"shouldn'?t|(?:cannot|can'?t)(?= (?:use|run|edit|change|modify|commit|push|access|touch"
        r"|call|install|write|add|rely|assume|delete|remove|skip|merge)\b)) (?!be\b|see|believe"
        r"|expect|try (?:it|this)|admit|agree|love|laugh|hand it|have (?:\w+ed|been|done|seen|made"
        r"|broken|left|lost"
        r"|written|taken|gone|run|forgotten|had|got|misread|known|gotten|meant|put|set|cut)\b)\w",
        0.85,
    ),
    Rule(
        "convention",
        rf"{_SUBJECT}\b[^,.:]{{0,50}}\b(?:must|should) (?:always|never|not|only|stay|remain"
        r"|be (?:kept|written|named|prefixed|in (?:english|chinese|snake|camel|kebab)))\b",
        0.8,
    ),
    Rule(
        "convention",
        r"(?!(?:it|this|that|these|those|they|he|she|i|there|if"
        r"|when)\b)[`\w./-]+(?: [`\w./-]+){0,3}"
        r" (?:must|may|shall) (?:not|never) be (?:used|touched|changed|edited|modified|removed"
        r"|deleted"
        r"|renamed|committed|pushed|merged|logged|printed|stored|imported|installed|called|exposed"
        r"|skipped|reformatted|published)\b",
        0.85,
    ),
    Rule(
        "convention",
        rf"(?:all )?(?:commit messages?|comments?|docs|documentation|answers?|replies|code"
        rf"|messages?|names?|(?:variable|function|class|branch) names?) (?:always |only )?"
        rf"in {_LANGUAGE}(?: please| only)*[.!]?\Z",
        0.85,
    ),
    Rule(
        "convention",
        r"(?:your|each|every|all) (?:response|answer|reply|commit|test|function|change|pr|file)"
        r"s?\b[^,.:]{0,40}\b(?:must|should|has to|have to|needs? to)\b",
        0.8,
    ),
    Rule(
        "convention",
        r"(?:only use|use only|use)\s+[^,.;]{1,60}?,?\s+(?:instead of|rather than|not|over)\s+\S",
        0.9,
    ),
    Rule(
        "convention",
        r"(?:prefer(?! not to say\b)|stick (?:to|with)|adhere to|conform to|comply with)\s+[\w`\"]",
        0.85,
    ),
    Rule(
        "convention",
        r"only (?:use|change|edit|touch|modify|run|write|commit|import)\s+[\w`\"]",
        0.85,
    ),
    Rule(
        "convention",
        r"(?:i always want|i never want|(?:i(?:'d| would)|we(?:'d| would)?) (?:always|never)"
        r"\s+(?:want|use|write|commit|put|name|do|run|push|merge|import))\b",
        0.8,
    ),
    Rule(
        "convention",
        r"(?:i|we) (?:do not|don'?t|never) want (?:to (?:see|have)|you to|any|a|an|the"
        r"|that)\b.{4,}",
        0.85,
    ),
    Rule(
        "convention",
        r"(?:i|we)(?:'d| would)? (?:strongly |much )?prefer (?!not to say|to wait"
        r"|(?:that|this|it)\W*\Z)(?:that|you|to (?:use|keep|have|see|avoid|write)|not|using|when|if"
        r"|we|it|no|\S+ (?:over|to|instead of|rather than))\b.{2,}",
        0.8,
    ),
    Rule(
        "convention",
        r"(?:our|the|one|a|new|another|house|general|overriding"
        r"|project) (?:\w+ )?(?:convention|rule|policy|directive|guideline)s?\s*(?:(?:is|are)\s+(?="
        r"(?:that|to|not to|never|always|no(?! longer)|we|you|all|every|each|any|only|max\w*"
        r"|at most"
        r"|at least|use|do not|don'?t|tabs|spaces|snake|camel|kebab|\d+)\b|[`\"'(]"
        r"|\S*\w[_./-]\w|(?-i:[A-Z])[\w.]|\w+ing\b)|(?:here )?(?:is|are)?\s*:)\s*\S",
        0.9,
    ),
    Rule("convention", r"(?:rule|convention|policy|requirement|constraint)\s*:\s*\S.{5,}", 0.85),
    Rule(
        "convention",
        rf"no {_NO_THINGS}\b(?!.*\b(?:found|needed|left|remain|were|was|are|is|yet|from)\b)",
        0.85,
    ),
    Rule(
        "convention",
        r"keep (?:the |your |all |it |them |every |each |existing |commit |answers?"
        r"|responses?|functions?|files?|public |code|signatures?|api)[^,;]{0,80}?\b(?:short"
        r"|small|concise|brief|simple|minimal|as[- ]is|unchanged|intact|stable|compatible"
        r"|under \d+|below \d+|private|pure|terse|in sync|alphabetical|sorted"
        r"|consistent)\b",
        0.8,
    ),
    Rule(
        "convention",
        r"(?:leave|keep) [^,.;]{2,60} (?:alone|untouched|unchanged|as[- ](?:it )?is|intact)\b",
        0.85,
    ),
)

_QUESTIONS = (
    Rule(
        "question",
        r"(?:open question|question for later|still open|to be (?:decided|clarified"
        r"|determined|discussed)|tbd|undecided|unresolved)\b\s*[:—-]?\s*\S.{3,}",
        0.9,
    ),
    Rule(
        "question",
        r"(?!if\b|when\b|while\b).{0,80}\b(?:is|are|remains?) (?:still )?(?:tbd"
        r"|undecided|to be (?:decided|determined|clarified)|an open question|up for (?:debate"
        r"|discussion)|unresolved)\b",
        0.9,
    ),
    Rule(
        "question",
        r"(?:we|i) (?:still )?(?:need|have|must) to (?:decide|figure out|agree on"
        r"|settle|clarify|determine|find out)\s+(?:whether|which|how|what|who|where|when|if|on"
        r"|the|about)\b.{3,}",
        0.85,
    ),
    Rule(
        "question",
        r"(?:we|i) (?:haven'?t|have not|did ?n[o']t|do ?n[o']t) (?:yet )?(?:decided?"
        r"|settled?|agreed?|figured out|know yet)\b.{4,}",
        0.85,
    ),
)

_DEFINITIONS = (
    Rule(
        "definition",
        r"(?:when|if|whenever) (?:i|we) (?:say|write|talk about"
        r"|speak of) [\"'`“]?(?P<term>[\w /.-]{1,40})[\"'`”]?,?"
        r" (?:i|we) (?:always )?mean (?!(?:it|that|this|(?P=term))\b)\S.{2,}",
        0.9,
    ),
    Rule(
        "definition",
        r"(?!.*\b(?:i|we) (?:get|got|see|saw)\b)[\"“][^\"“”]{1,40}[\"”] = [\w\"'`“][^=]*\s[^=]{2,}",
        0.85,
    ),
    Rule("definition", r"by [\"'`“]?[\w /.-]{1,40}[\"'`”]?,? (?:i|we) mean\s+\S.{3,}", 0.9),
    Rule(
        "definition",
        r"(?:an? |the |our )?[\"'`“][^\"'`”]{1,40}[\"'`”] (?:means|stands for|refers to"
        r"|is short for|is our (?:name|term|word) for|is defined as)\s+\S.{3,}",
        0.9,
    ),
    Rule(
        "definition",
        r"(?!(?:this|that|it|which|what|who|and|so|he|she|they|i|we|there)\b)(?:an? "
        r"|the |our )?[\w.-]+(?: [\w.-]+){0,2} (?:stands for|refers to|is short for"
        r"|is our (?:name|term|word) for|is defined as)\s+\S.{3,}",
        0.8,
    ),
)

ENGLISH = Grammar(
    rules=(*_DEFINITIONS, *_QUESTIONS, *DECISIONS, *_CONVENTIONS),
    corrections=CORRECTIONS,
    bare=BARE,
    revocations=REVOKED,
    permissions=ALLOWED,
    forbidding=r"(?:please )?(?:do not|don'?t|never|avoid|stop)(?: ever)? ",
    after_ban=r"(?: any ?more| any longer| again| please)*[.!\s]*\Z",
    anew=r" (?:again|now)[.!]*\Z",
    lead=(
        r"(?:note(?:,? however,?)? that|ok(?:ay)?|k|yes|yeah|yep|also|and|pl\w{1,3}se|pls|so"
        r"|well|but|oh|hmm+|btw|fyi|actually|great"
        r"|good|perfect|thanks|thank you|sure|right|note|nb|important|remember|reminder"
        r"|one (?:more|last) thing"
        r"|then|now|first|finally|again|ah|hey|hi|sorry|additionally|furthermore"
        r"|in addition|otherwise|fine"
        r"|just|simply|for now|in general|as always|as a rule|by the way"
        r"|in this (?:repo|project|codebase|file)"
        r"|for (?:this|the) (?:repo|project|task|feature|pr)|you should|i want you to"
        r"|i need you to|i'd like you to"
        r"|could you please|can you please|i think(?= we (?:should|need to)| you should)"
        r"|(?:the |my )?idea is(?: that)?"
        r"|important note|critical|warning)"
        r"(?:\s*[,.:!;—–-]+\s*|\s+)"
    ),
    correcting=(
        r"\A(?:(?:(?:no+|nope|uhh?|hmm*)(?=\s*[,.!;:—–…-]|\s+(?:use|it|that|do|don'?t|not|the|i|we"
        r"|make|put|call|keep)\b)|wrong|not like that|that'?s (?:wrong|not (?:right|what"
        r"|correct|it))|actually|instead"
        r"|correction|(?=i (?:meant|said)\b)|rather|not what i (?:wanted|asked|meant)"
        r"|on second thought|scratch that"
        r"|change of plan|i changed my mind)\b[\s,.:!;—–…-]*)+"
    ),
    refused=(
        r"\b(?:when|if|and|or|to|the|of|with|for|that)\s*\Z|\A[^()]*\)"
        r"|[\[<{][^\]>}]*[\]>}]\W*\Z|:\s*\Z|\?[\"')\s]*\Z|\A(?:what|why|how|who"
        r"|when(?! you \w+| \w+ing| (?:i|we) (?:say|write|talk|speak)\b)"
        r"|where|which|whose|is|are|was|were|does|did|has|can|could"
        r"|would|will|should|shall|may|might|am|do (?:you|we|i|they)|if (?:we|you|i"
        r"|they) (?:ever |were |had "
        r"|could|would)|suppose|imagine|what if|maybe|perhaps|possibly|i (?:wonder"
        r"|guess|assume|suspect|hope"
        r"|wish)|not sure|unless|e\.g|for example|for instance|example|like when|ideally)\b"
        r"|\b(?:might|maybe|perhaps|could (?:also|maybe|possibly|perhaps)"
        r"|not sure (?:if|whether)|i'?m not sure"
        r"|hypothetical\w*|in theory|yesterday|last (?:week|month|year|time)|used to"
        r"|said (?:that|to)|says"
        r"|(?:they|he|she|some(?:one|body)|every(?:one|body)|people) (?:said|say|told)"
        r"|(?:we|you|they|one|it|i|he|she) could|(?<!that )(?<!which )(?<!who )would(?! (?:like"
        r"|prefer"
        r"|rather|always|never|much|love|go|use|take|choose|pick|keep|avoid|vote|favou?r"
        r"|strongly)\b)"
        r"|(?:one|some) ?day|who knows|(?:in|at|for) (?:my|our) (?:last|old|previous|former)"
        r"|(?:they|he|she) had|for some (?:\w+ )?reason|any ideas?|you (?:get|find|have) (?:the "
        r"|a |some )?(?:chance"
        r"|time"
        r"|minute|moment)"
        r"|told (?:me|us|him|her|them)|asked (?:me|us|him|her)|according to|complain\w*"
        r"|claim(?:s|ed)?|wrote"
        r"|the (?:docs?|documentation|readme|article|blog|error|message|log|output"
        r"|comment|issue|ticket"
        r"|linter|compiler|customer|client) (?:says?|states?|reads?|tells?|suggests?"
        r"|recommends?|claims?)"
        r"|joking|kidding|just curious|would (?:it|that) be|lol)\b"
        r"|[:→]\s*(?:fatal|error|panic|traceback|failed|warning|\w+error|\w+exception)\b"
    ),
    passing=(
        r"\b(?:(?:your|this|that|the) (?:fix|patch|solution|implementation|(?:pull|merge) request)"
        r"|(?:them|these|those|it|this|that) (?:as well|too)"
        r"|(?:declare|mark|report) [^.]{1,40} (?:as )?(?:complete|completed|done|finished))\b"
        r"|\b(?:want|need|like) (?:that|this|these|those) \w+\W*\Z"
        r"|\b(?:make|be) sure (?:that )?(?:it|this|that|they|everything)(?: all)? \w+\W*\Z"
        r"|\A(?:make|be) sure (?:you|to) (?:have )?(?:read|look|understand|know|see)\b"
        r"|\b(?:(?:just )?this once|this time|once)\W*\Z|\Ajust this once\b"
    ),
    instead=(
        r"(?:instead of|rather than|,\s*not)\s+(?!(?:it|that|this"
        r"|them)\b)(?P<old>[^,.;]{2,60})"
        r"|\A(?:let'?s )?(?:forget|drop|scrap|ditch)(?: about)? (?P<dropped>[\w.+#-]{2,30})[,;]"
        r"|\A(?:let'?s )?(?:switch|move|migrate) from (?P<left>[\w.+#-]{2,30}) to\b"
    ),
    changing=(
        r"\A(?:let'?s )?(?:(?:go|revert|change) back to|(?:switch|move) (?:back )?to|back to)\b"
        r"|\A(?:set|change|switch|put|turn) [^,.;]{1,40} back to\b"
        r"|\Ause [\w.+#-]+ instead[.!\s]*\Z"
    ),
    announced=(
        r"(?:open questions?|question for later|still open|tbd|to be (?:decided|clarified"
        r"|discussed))"
        r"\s*[:—–-]\s*\S.{3,}"
    ),
    clause=(
        r"(?:[,;]|\s+(?:and|but)|\s+[—–-])\s+(?:and |but |please |also )*(?=(?:don'?t"
        r"|do not|never|always|make sure)\b)"
    ),
    unfit=r"\A.{0,12}\Z",
)
