"""Traditional Chinese characters of what is said about work, each with its simplified form.

The patterns are written in simplified characters. One character stands for one, so that what was
said is noted as it was spelled.
"""

from __future__ import annotations

__all__ = ["SIMPLIFIED", "respelled"]

_PAIRS = (
    "別别請请應应該该決决採采說说這这個个為为從从現现開开後后檔档務务須须會会們们對对錯错統统條条則则範范約约時时間间單单"
    "號号選选擇择換换設设調调試试測测檢检編编寫写讀读運运執执員员變变動动刪删庫库語语簡简體体優优還还過过讓让給给將将準准"
    "許许絕绝嚴严盡尽無无論论於于與与並并嗎吗麼么誰谁處处裡里裏里內内點点導导項项總总態态壞坏煩烦詢询問问題题認认確确隨随"
    "適适據据聽听顯显報报經经輸输環环邊边類类標标記记註注釋释碼码儲储連连線线網网頁页樣样實实備备傳传長长關关閉闭啟启啓启"
    "遷迁錄录夾夹沒没擔担暫暂廢废棄弃聯联構构謝谢幾几鐘钟離离發发佈布製制當当縮缩進进塊块覺觉壓压維维護护稱称區区議议訊讯"
    "視视權权專专業业門门隊队務务級级組组綁绑緩缓異异規规納纳終终結结緊紧縫缝術术協协麻麻貼贴負负責责費费資资賴赖轉转輪轮"
)
SIMPLIFIED = {ord(old): new for old, new in zip(_PAIRS[::2], _PAIRS[1::2], strict=True)}
"""By code point the simplified character."""


def respelled(part: str, simplified: str, spelled: str) -> str:
    """Return a part of a simplified text as it stands in the text that was spelled otherwise."""
    at = simplified.find(part)
    return spelled[at : at + len(part)] if at >= 0 else part
