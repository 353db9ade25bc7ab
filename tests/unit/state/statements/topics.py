"""Conversations that change their topic without saying so, in English and Chinese."""

from __future__ import annotations

LOGIN = [
    (
        "Build the login page: a form with e-mail and password, a remember-me checkbox "
        "that keeps the session cookie for thirty days, and rate limiting for each "
        "address."
    ),
    (
        "I wrote the login form, the session cookie with its thirty days, argon2 hashing "
        "of the password and a limit of five attempts a minute for each address. The "
        "remember checkbox stores a token in the sessions table; expired sessions are "
        "refused by the middleware, and logging names the account but never the token. "
        "Tests cover wrong passwords, locked accounts, expired cookies and a forged "
        "token."
    ),
    "The lock-out message should not tell whether the account exists.",
    (
        "The lock-out message is now the same for known and unknown accounts, and the "
        "test compares both responses byte for byte."
    ),
]
OTHERS = [
    (
        "Our nightly invoice export to the accounting department produces duplicate rows "
        "whenever a customer has two billing addresses; group them by tax number and send"
        " the CSV to finance."
    ),
    (
        "The Kubernetes readiness probe of the thumbnail worker times out under load "
        "because ImageMagick blocks; raise its CPU quota, move resizing to a sidecar, and"
        " graph the latency in Grafana."
    ),
    (
        "Write a short blog article for our company website introducing the spring "
        "release, mention dark mode, keyboard shortcuts and faster startup, in a friendly"
        " tone."
    ),
    (
        "Summarise the quarterly revenue figures of the northern vineyards and compare "
        "barrels exported in spring with the shipments of autumn."
    ),
    (
        "Rewrite the Dockerfile of the geocoder so that the image shrinks below 200 MB: "
        "multi-stage, slim base, no compilers left, wheels cached between layers."
    ),
    (
        "Can you migrate our Jenkins pipelines to GitHub Actions? Matrix over Linux and "
        "macOS, artifacts kept for seven days, nightly schedule, Slack notification for "
        "the ops channel."
    ),
    (
        "Draw an architecture diagram in Mermaid of the warehouse robots: scanners, "
        "conveyor belts, the MQTT broker and the stock ledger."
    ),
    (
        "Plan my trip to Lisbon in October: three nights, museums, vegetarian "
        "restaurants, trains from Porto."
    ),
]
GOES_ON = [
    (
        "The remember checkbox is ticked by default in Firefox, but not in Safari; make "
        "both unticked and write that into the tests."
    ),
    (
        "Also log failed attempts with the address, but hash it with the daily salt so "
        "that nobody can be tracked across days."
    ),
    (
        "Now write documentation for the endpoints, with examples in curl and Python, and"
        " describe the error codes."
    ),
    (
        "Please add French and German translations of all messages, with plural forms, "
        "and a fallback to English."
    ),
    (
        "Traceback (most recent call last): File login.py, line 40, in verify: "
        "argon2.exceptions.VerifyMismatchError"
    ),
    (
        "I get a 500 on staging when the cookie is malformed, it should be 401 and the "
        "cookie deleted"
    ),
    (
        "Review everything once more for accessibility: labels, focus order, contrast, "
        "screen readers, keyboard navigation."
    ),
    (
        "rename the middleware module to auth_guard and move it below app/security, keep "
        "imports sorted"
    ),
]
RETURNS = [
    ("The login form needs a link for a forgotten password, next to the remember-me checkbox."),
    "Session cookies should be SameSite=Strict on the login page.",
    "back to the login page",
    "login.py: the password field must not be cached",
]
LOGIN_ZH = [
    ("帮我写登录页面：邮箱和密码表单，记住我复选框，会话 cookie 保留三十天，每个地址限速。"),
    (
        "登录表单已经写好，会话 cookie 保留三十天，密码用 argon2 哈希，每个地"
        "址每分钟最多五次尝试。记住我复选框会把令牌存进会话表；过期会话由中间件拒绝，日志只记"
        "录账号，不记录令牌。测试覆盖了错误密码、锁定账号、过期 cookie 和伪造令牌。"
    ),
    "锁定提示不要透露账号是否存在。",
    "锁定提示对存在和不存在的账号现在完全一样，测试会逐字节比较两种响应。",
]
OTHERS_ZH = [
    (
        "每晚导出给财务部的发票，只要客户有两个开票地址就会出现重复行，请按税号合并，然后把表"
        "格发给会计。"
    ),
    (
        "缩略图服务的就绪探针在高负载下超时，因为图片处理阻塞了线程，请提高处理器配额，并在监"
        "控面板里画出延迟曲线。"
    ),
    ("给公司官网写一篇介绍春季新版本的文章，提到深色模式、快捷键和更快的启动速度，语气亲切一些。"),
    "把仓库机器人的架构画成图：扫描枪、传送带、消息代理和库存账本。",
    "统计北方葡萄园本季度的收入，对比春季出口的橡木桶和秋季的发货量。",
    "帮我安排十月去里斯本的行程：住三晚，看博物馆，吃素食餐厅，从波尔图坐火车过去。",
]
GOES_ON_ZH = [
    "记住我复选框在火狐里默认勾选，在苹果浏览器里没有，请统一为不勾选，并写进测试。",
    "失败的登录尝试也要记录地址，但要用每日的盐做哈希。",
    "再写一份接口文档，给出命令行和脚本的例子，说明各个错误码。",
    ("预发环境里 cookie 格式错误时返回 500，应该返回 401 并删除 cookie"),
]
RETURNS_ZH = [
    "登录表单旁边要加一个忘记密码的链接，放在记住我复选框下面。",
    "会话 cookie 在登录页面要设置成严格模式。",
    "回到登录页面",
    "继续之前的登录页面",
]
