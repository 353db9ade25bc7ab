"""What a clause is about: the actions in it and what they are done to, in English or Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Subject", "has_chinese", "subject_of"]

_ENGLISH = {
    "delete": "delete remove drop wipe erase purge destroy truncate",
    "push": "push",
    "deploy": "deploy release publish ship rollout",
    "merge": "merge",
    "overwrite": "overwrite",
    "reset": "reset revert rollback",
    "migrate": "migrate",
    "stop": "stop kill shutdown terminate disable",
    "restart": "restart reboot",
    "install": "install upgrade downgrade",
    "send": "send email",
    "buy": "buy purchase pay",
    "rename": "rename move",
    "commit": "commit",
    "run": "run execute",
    "change": "change modify update edit fix refactor rewrite",
    "make": "write add create implement build",
}
_NOUNS = {
    "deletion": "delete", "deletions": "delete", "removal": "delete", "destruction": "delete",
    "deployment": "deploy", "rollout": "deploy", "publication": "deploy", "migration": "migrate",
    "migrations": "migrate", "reversion": "reset", "termination": "stop", "shutdown": "stop",
    "installation": "install", "purchase": "buy", "payment": "buy", "execution": "run",
    "modification": "change", "modifications": "change", "implementation": "make",
    "creation": "make",
}  # fmt: skip
_PAST = {
    "sent": "send", "ran": "run", "overwritten": "overwrite", "overwrote": "overwrite",
    "written": "make", "wrote": "make", "built": "make", "paid": "buy", "bought": "buy",
}  # fmt: skip
_CHINESE = {
    "delete": "删除 删掉 删了 删库 移除 清空 清除 清掉 销毁 删",
    "push": "推送 推到 推上",
    "deploy": "部署 上线 发布",
    "merge": "合并 合入",
    "overwrite": "覆盖",
    "reset": "回滚 重置 还原 撤销",
    "migrate": "迁移",
    "stop": "停止 关闭 禁用 停用 停掉 关掉",
    "restart": "重启",
    "install": "安装 升级",
    "send": "发送",
    "buy": "付款 购买",
    "rename": "重命名 改名 移动",
    "commit": "提交",
    "run": "运行 执行 跑",
    "change": "修改 更改 修复 改动 更新 重构 改",
    "make": "编写 添加 新增 创建 实现 写",
}
_MILD = frozenset({"change", "make", "run"})
# What makes an action graver must be in the user's words too.
_GRAVE = frozenset({"production", "main", "force"})
_THINGS = {
    "生产环境": "production", "生产": "production", "线上": "production", "主分支": "main",
    "主干": "main", "强制": "force", "数据库": "database", "文件": "file", "日志": "log",
    "测试": "test", "分支": "branch", "方案": "plan", "计划": "plan", "代码": "code",
    "缓存": "cache", "配置": "config", "服务": "service", "接口": "api", "临时": "temporary",
}  # fmt: skip
_ALIASES = {
    "db": "database", "prod": "production", "live": "production", "master": "main",
    "temp": "temporary", "tmp": "temporary", "forced": "force", "dir": "directory",
}  # fmt: skip
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """a an the this that these those it its them they he she we you your our my me i us all any
    some both each every everything anything of to in on at by for from with without into onto off
    over under up out and or nor but as is are was were be been being do does did done has have had
    can could may might must shall should will would not no yet still yes ok okay sure please go
    ahead now then also just only so such same than there here what which who how why when user
    users agent assistant approved approve approval consent consented authorised authorized
    authorise authorize permission confirmed confirm agreed agree allowed allow permitted accepted
    accept given gave obtained received granted said explicitly earlier later already again first
    last next let lets want wants need needs like get got per about more proceed proceeding
    continue doing wait well don t s re""",
    )
)
_COMMON_CHINESE = re.compile(
    r"用户|同意|批准|确认|授权|允许|许可|认可|已经|进行|操作|可以|一下|代理|助手|不要|现在|然后|需要|任何"
    r"|[的了把将对该这那个些请已吧吗呢啊也都就先再和与及是在到给我你您他它们不别没要让被由]"
)
_OPTION = re.compile(
    r"(?:\b(?:option|choice|variant|alternative|proposal|plan|answer)\s+|方案|选项)"
    r"\(?([a-h]|[1-9])\)?(?![\w'’])(?!\.\d)"
)
_TWO_WORDS = re.compile(r"\b(roll|shut)(?:s|ing|ed)? (back|out|down)\b")
_WORD = re.compile(r"[a-z0-9]+")
_RUN = re.compile(r"[一-鿿]+")


def _forms() -> tuple[dict[str, str], dict[str, str]]:
    """Return the words that ask for an action, and those that tell that it was done."""
    asks, done = dict(_NOUNS), dict(_PAST)
    for action, words in _ENGLISH.items():
        for word in words.split():
            stem = word.removesuffix("e")
            doubled = stem + stem[-1]
            asks |= dict.fromkeys((word, f"{word}s", f"{word}es"), action)
            asks |= dict.fromkeys((f"{stem}ing", f"{doubled}ing", f"{word[:-1]}ies"), action)
            done |= dict.fromkeys((f"{stem}ed", f"{doubled}ed", f"{word[:-1]}ied"), action)
    return asks, done


_ASKED, _DONE = _forms()
_ACTION_OF = {word: action for action, words in _CHINESE.items() for word in words.split()}
_CHINESE_ACTION = re.compile("|".join(sorted(_ACTION_OF, key=len, reverse=True)))
_CHINESE_THING = re.compile("|".join(sorted(_THINGS, key=len, reverse=True)))


@dataclass(frozen=True, slots=True)
class Subject:
    """What a text is about.

    Attributes:
        actions: The actions it names, in any form.
        asked: Those in a form that asks for them, and does not tell that they were done.
        words: What else it names: words, and of Chinese ones that are not known the bigrams.
        grave: Those of the words that make an action graver.
        chinese: Whether it is Chinese.
    """

    actions: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    chinese: bool = False

    def __bool__(self) -> bool:
        return bool(self.actions or self.words)

    @property
    def grave(self) -> frozenset[str]:
        """Those of the words that make an action graver."""
        return self.words & _GRAVE

    @property
    def size(self) -> int:
        """How many words it names besides actions."""
        return _count(self.words)

    def shared(self, other: Subject) -> int:
        """Return how many words two texts share."""
        return _count(self.words & other.words)

    def in_other_words(self, other: Subject) -> bool:
        """Whether one is in Chinese words that are not known, and the other in English."""
        words = next((s.words for s in (self, other) if s.chinese), frozenset[str]())
        return self.chinese != other.chinese and any(map(has_chinese, words))

    def differs(self, other: Subject) -> bool:
        """Whether it asks for what another names too, but of other things."""
        apart = self.words and other.words and not self.shared(other)
        return bool(self.asked & other.actions and apart) and not self.in_other_words(other)

    def mild(self, action: str) -> bool:
        """Whether an action is so general that others say it in other words."""
        return action in _MILD


def has_chinese(text: str) -> bool:
    """Whether a text has Chinese characters."""
    return _RUN.search(text) is not None


def subject_of(text: str) -> Subject:
    """Return what a text is about."""
    low = _TWO_WORDS.sub(r"\1\2", text.lower().replace("n't", " not"))
    options = {f"option {mark}" for mark in _OPTION.findall(low)}
    low = _OPTION.sub(" ", low)
    found = {_ACTION_OF[match[0]] for match in _CHINESE_ACTION.finditer(low)}
    words = options | {_stem(_THINGS[match[0]]) for match in _CHINESE_THING.finditer(low)}
    rest = _CHINESE_THING.sub(" ", _CHINESE_ACTION.sub(" ", low))
    for run in _RUN.findall(_COMMON_CHINESE.sub(" ", rest)):
        words |= {run[at : at + 2] for at in range(max(len(run) - 1, 1))}
    english = _WORD.findall(low)
    asked = found | {_ASKED[word] for word in english if word in _ASKED}
    done = {_DONE[word] for word in english if word in _DONE}
    words |= {_stem(w) for w in english if not {w} & (_ASKED.keys() | _DONE.keys() | _COMMON)}
    return Subject(
        frozenset(asked | done), frozenset(asked), frozenset(words), chinese=has_chinese(text)
    )


def _stem(word: str) -> str:
    word = _ALIASES.get(word, word)
    if word in _GRAVE:
        return word
    for end in ("ing", "s"):
        if len(word) > len(end) + 2 and word.endswith(end) and not word.endswith("ss"):
            word = word.removesuffix(end)
            break
    return _ALIASES.get(word, word).removesuffix("e") if len(word) > 3 else word


def _count(words: frozenset[str]) -> int:
    """Count words; two bigrams that overlap are of one Chinese word."""
    bigrams = sum(has_chinese(word) for word in words)
    return len(words) - bigrams + -(-bigrams // 2)
