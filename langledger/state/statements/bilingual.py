"""The words of the trade in English, where a text says them in Chinese.

A task begun in one language is spoken of in the other. Only what names a thing that is worked on
is translated: enough to tell which task a message means, no more.
"""

from __future__ import annotations

import re

from langledger.state.statements.likeness import features

__all__ = ["in_english"]

_TERMS = {
    "登录": "login",
    "登陆": "login",
    "注册": "register signup",
    "密码": "password",
    "会话": "session",
    "权限": "permission",
    "认证": "authentication auth",
    "鉴权": "authentication auth",
    "账号": "account",
    "账户": "account",
    "用户": "user",
    "页面": "page",
    "首页": "home homepage",
    "前端": "frontend",
    "后端": "backend",
    "界面": "interface ui",
    "表单": "form",
    "按钮": "button",
    "样式": "style css",
    "菜单": "menu",
    "图标": "icon",
    "标志": "logo",
    "图表": "chart",
    "地图": "map",
    "图片": "image",
    "视频": "video",
    "缩略图": "thumbnail",
    "上传": "upload",
    "下载": "download",
    "导出": "export",
    "导入": "import",
    "搜索": "search",
    "检索": "search retrieval",
    "索引": "index",
    "排序": "sort",
    "分页": "pagination",
    "数据库": "database",
    "迁移": "migration",
    "备份": "backup",
    "缓存": "cache",
    "队列": "queue",
    "消息": "message",
    "通知": "notification",
    "邮件": "email mail",
    "邮箱": "email mail",
    "日志": "log logging",
    "监控": "monitoring",
    "告警": "alert",
    "部署": "deploy deployment",
    "发布": "release",
    "配置": "config",
    "接口": "api endpoint",
    "文档": "documentation",
    "单元测试": "unit",
    "爬虫": "crawler",
    "解析": "parser parse",
    "编译": "compiler compile",
    "支付": "payment",
    "订单": "order",
    "购物车": "cart",
    "发票": "invoice",
    "报表": "report",
    "库存": "inventory stock",
    "客户": "customer",
    "合同": "contract",
    "价格": "price pricing",
    "优惠券": "coupon",
    "评论": "comment",
    "聊天": "chat",
    "翻译": "translation",
    "网站": "website site",
    "博客": "blog",
    "文章": "article",
    "脚本": "script",
    "命令行": "cli",
    "插件": "plugin",
    "服务器": "server",
    "客户端": "client",
    "容器": "container docker",
    "镜像": "image",
    "调度": "scheduler schedule",
    "定时任务": "cron schedule",
    "限速": "rate limit",
    "限流": "rate limit",
    "加密": "encryption",
    "令牌": "token",
    "机器人": "robot bot",
    "模型": "model",
    "训练": "training",
    "向量": "vector",
    "算法": "algorithm",
    "性能": "performance",
    "内存": "memory",
    "并发": "concurrency",
}
_WORDS = {term: features(english).words for term, english in _TERMS.items()}
_ANY = re.compile("|".join(sorted(_TERMS, key=len, reverse=True)))


def in_english(text: str) -> frozenset[str]:
    """Return the words of the trade that a text says in Chinese, as ``features`` has English."""
    return frozenset(word for term in _ANY.findall(text) for word in _WORDS[term])
