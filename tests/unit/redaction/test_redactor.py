from __future__ import annotations

import re
import socket
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langledger.errors import ConfigurationError
from langledger.redaction import Redactor, redactor_of

# Put together here, so that no scanner takes this file for a leak.
OPENAI = "sk-" + "proj-Ab3dEfGh1jKlMn0pQrStUvWxYz0123456789"
ANTHROPIC = "sk-" + "ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AA"
DEEPSEEK = "sk-" + "0123456789abcdef0123456789abcdef"
GOOGLE = "AIza" + "SyA1234567890abcdefghijklmnopqrstuvw"
GITHUB = "ghp_" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"
GITLAB = "glpat-" + "abcdefghij1234567890"
AWS_ID = "AKIA" + "IOSFODNN7EXAMPLE"
AWS_KEY = "wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYEXAMPLEKEY"
SLACK = "xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"
HUGGING_FACE = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
ALIYUN = "LTAI" + "5tAbCdEfGhIjKlMn12"
STRIPE = "sk_" + "live_abcdefghijklmnopqrstuvwx"
SENDGRID = "SG." + "abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
KEYS = [
    OPENAI, ANTHROPIC, DEEPSEEK, GOOGLE, GITHUB, GITLAB, AWS_ID, SLACK, HUGGING_FACE, ALIYUN,
    STRIPE, SENDGRID, JWT,
]  # fmt: skip
BLOCK = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234567890abcdefghijklmnop\n"
    "q1w2e3r4t5y6u7i8o9p0\n-----END RSA PRIVATE KEY-----"
)


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "key {} here",
        "请用{}访问，谢谢",
        '{{"value":"{}"}}',
        "https://example.com/cb?code={}&x=1",
        "KEY={}\n",
        "`{}`",
    ],
)
def test_keys_of_providers(redactor: Redactor, key: str, around: str) -> None:
    text = redactor.text(around.format(key))
    assert key not in text
    assert key[8:] not in text
    before, after = around.format("\0").split("\0")
    assert text.startswith(before)
    assert text.endswith(after)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"AWS_SECRET_ACCESS_KEY={AWS_KEY}", AWS_KEY),
        (f"aws_secret_access_key = {AWS_KEY}", AWS_KEY),
        ('{"password": "hunter2", "user": "bob"}', "hunter2"),
        (r"{\"password\": \"s3cr3t!x\"}", "s3cr3t!x"),
        ('"api_key": "8f14e45fceea167a5a36dedd4bea2543"', "8f14e45fceea167a5a36dedd4bea2543"),
        ("export DB_PASSWORD=postgres", "=postgres"),
        ("MYSQL_ROOT_PASSWORD=my-secret-pw", "my-secret-pw"),
        ("PGPASSWORD=secret psql -h x", "=secret"),
        ("password: hunter2", "hunter2"),
        ("--password hunter22", "hunter22"),
        ("--api-key 1234567890abcdef1234", "1234567890abcdef1234"),
        ("client_secret: 'a1b2c3d4e5f6g7h8'", "a1b2c3d4e5f6g7h8"),
        ("X-Api-Key: 4f3c2b1a0d9e8f7a6b5c", "4f3c2b1a0d9e8f7a6b5c"),
        ("Authorization: Bearer abcdef1234567890abcdef", "abcdef1234567890abcdef"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==", "dXNlcjpwYXNzd29yZDEyMw=="),
        ("https://x.com/cb?access_token=abc123def456ghi789&x=1", "abc123def456ghi789"),
        ("postgresql://admin:s3cr3t@db.internal:5432/app", "s3cr3t"),
        ("redis://:foobared@localhost:6379/0", "foobared"),
        ("mongodb+srv://u:p%40ss@cluster0.mongodb.net", "p%40ss"),
        ("Server=db;User Id=sa;Password=Pa55w0rd!;Encrypt=true", "Pa55w0rd!"),
        ("jdbc:mysql://h/db?user=root&password=r00tpw1", "r00tpw1"),
        ("curl -u admin:hunter2 https://x.y", "hunter2"),
        ("sshpass -p 'x9y8z7' ssh a@b", "x9y8z7"),
        ("<password>s3cret99</password>", "s3cret99"),
        ("数据库密码是hunter2abc，不要外传", "hunter2abc"),
        ("数据库密码为P@ssw0rd请勿泄露", "P@ssw0rd"),
        ("密码：hunter2", "hunter2"),
        ("使用postgres://app:Tr0ub4dor&3@10.0.0.1/db连接", "Tr0ub4dor&3"),
        ("API密钥为a1b2c3d4e5f6a7b8c9d0谢谢", "a1b2c3d4e5f6a7b8c9d0"),
        ("令牌：a1b2c3d4e5f6a7b8c9d0", "a1b2c3d4e5f6a7b8c9d0"),
        ("密码是“Hunter2secret99”，然后修复", "Hunter2secret99"),
        ("密码「Hunter2x9」", "Hunter2x9"),
        ("“密码”：『Hunter2x9』", "Hunter2x9"),
        ("口令=“qwe123RTY”", "qwe123RTY"),
        ("password=“qwe123RTY”", "qwe123RTY"),
        ("the password ‘Hunter2x9’ works", "Hunter2x9"),
        ("password : « Hunter2x9 »", "Hunter2x9"),
        ("Password: „Hunter2x9“", "Hunter2x9"),
        ("口令 Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("密码 Tr0ub4dor&3，别外传", "Tr0ub4dor&3"),
        ("密码Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("root密码为 Tr0ub4dor&3。", "Tr0ub4dor&3"),
        ("密码改成了Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("密码已重置为 Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("密码(Tr0ub4dor&3)", "Tr0ub4dor&3"),
        ("the db password Tr0ub4dor&3 is old", "Tr0ub4dor&3"),
        ("Log in with the password (P4ssw0rd!x).", "P4ssw0rd!x"),
        ("Use passphrase Spring2024!now for it", "Spring2024!now"),
        ("密码（Tr0ub4dor&3）", "Tr0ub4dor&3"),
        ("访问令牌 Tr0ub4dor3xyzABC123", "Tr0ub4dor3xyzABC123"),
        ("私钥：abcDEF123456ghiJKL", "abcDEF123456ghiJKL"),
        ("凭证：Tr0ub4dor3xyz", "Tr0ub4dor3xyz"),
        ("授权码：Tr0ub4dor3xyz", "Tr0ub4dor3xyz"),
        ("the password for admin: Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("the password of the staging database is Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("密碼：Zz9988776655", "Zz9988776655"),
        ("密碼為Zz9988776655，謝謝", "Zz9988776655"),
        ("金鑰：「a1b2c3d4e5f6a7b8c9d0」", "a1b2c3d4e5f6a7b8c9d0"),
        ("權杖=a1b2c3d4e5f6a7b8c9d0", "a1b2c3d4e5f6a7b8c9d0"),
        (f"cat key.pem\n{BLOCK}\ndone", "q1w2e3r4t5y6u7i8o9p0"),
        (repr(BLOCK), "q1w2e3r4t5y6u7i8o9p0"),
        (BLOCK.partition("-----END")[0], "q1w2e3r4t5y6u7i8o9p0"),
    ],
)
def test_secrets_that_their_surroundings_give_away(
    redactor: Redactor, text: str, secret: str
) -> None:
    assert secret in text
    assert secret not in redactor.text(text)


@pytest.mark.parametrize(
    "text",
    [
        "commit 656efe9a1b2c3d4e5f60718293a4b5c6d7e8f901",
        "550e8400-e29b-41d4-a716-446655440000",
        '"integrity": "sha512-abcDEF1234567890abcdef+/abcdef1234567890=="',
        'hash = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
        "resolved https://registry.example/foo-1.0.0.tgz#0123456789abcdef0123456789abcdef01234567",
        'password = request.form["password"]',
        "password: str = Field(...)",
        "password=password, token=token",
        "const token = await getToken(user)",
        "max_tokens: 150000000000",
        '"tokens": 1234567890123',
        '"token": "color.blue.500"',
        "password: ${DB_PASSWORD}",
        "export OPENAI_API_KEY=$OPENAI_API_KEY",
        'api_key=os.environ["OPENAI_API_KEY"]',
        '"next_page_token": "abcdef1234567890abcdef"',
        "sk-learn-contrib-something-or-other-long",
        "token = parser.parse_token1234(x)",
        "token: Token12345Type = parse(x)",
        '<input type="password" name="password1">',
        "PWD=/home/user/project1",
        "git@github.com:org/repo.git",
        "https://user@host.com/path",
        "密码不能为空",
        "密码 是什么",
        "密码 AES-256-GCM 加密",
        "密码SHA256哈希",
        "密码(password_v2)",
        "密码改为bcrypt存储",
        "password field2.value3 is empty",
        "the password bob123@example.com uses",
        "password reset2fa flow",
        "password (optional)",
        "密码 src/auth/v2/login2fa.py",
        "令牌 max_tokens_4096",
        "凭证：user_id",
        "the password for admin is unknown",
        "the password for admin: ask Alice",
        "the key for lookup: users:list:2024",
        "密码“不能为空”",
        "密码：“至少8位”",
        "密碼：“${DB_PASSWORD}”",
        "“password” “username1”",
        "rename “password” to “passphrase2”",
        "the password “field-2” label",
        "password “v2.3.1”",
        "token “max_tokens_4096”",
        "the user’s password’s length1’s",
        "CACHE_KEY=users:list:2024:page:1",
        'primary_key=True, foreign_key="users.id"',
        "session_id=01J9ZQ3V5K7M8N9P0Q1R2S3T4U",
        "password_hash = bcrypt.hashpw(password1, salt)",
        "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 100,
    ],
)
def test_what_is_no_secret_stays(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text


@pytest.mark.parametrize("name", ["password", "密码", "密碼", "金鑰", "權杖"])
def test_the_name_of_a_field_gives_its_value_away(redactor: Redactor, name: str) -> None:
    assert redactor.value({name: AWS_KEY[:20] + "7x9"}) != {name: AWS_KEY[:20] + "7x9"}


def test_where_and_what_a_secret_is(redactor: Redactor) -> None:
    text = f"a {GITHUB} b postgres://u:{AWS_KEY[:12]}x@h/d"
    found = redactor.find(text)
    assert text[found[0].start : found[0].end] == GITHUB
    assert [s.kind for s in found] == ["access-token", "password"]


def test_places_hold_where_lower_case_is_longer(redactor: Redactor) -> None:
    text = f"İİİ password: hunter2 {GITHUB}"
    assert redactor.text(text) == "İİİ password: [redacted:secret] [redacted:access-token]"


def test_a_message_without_secrets_is_the_same_object(redactor: Redactor) -> None:
    message = AIMessage("done", tool_calls=[{"name": "f", "args": {"path": "a.py"}, "id": "1"}])
    assert redactor.message(message) is message


def test_calls_blocks_and_reasoning_are_cleaned(redactor: Redactor) -> None:
    message = AIMessage(
        [{"type": "text", "text": f"I use {OPENAI}"}],
        id="a",
        tool_calls=[
            {"name": "bash", "args": {"env": {"DB_PASSWORD": "hunter22"}, "n": 3}, "id": "1"}
        ],
        additional_kwargs={"reasoning_content": f"the key {GITHUB}"},
    )
    clean = redactor.message(message)
    assert clean.id == "a"
    assert clean.tool_calls[0]["args"]["n"] == 3
    assert not [s for s in (OPENAI, "hunter22", GITHUB) if s in str(clean)]
    assert "hunter22" in str(message)


def test_a_tools_artifact_does_not_carry_the_secret(redactor: Redactor) -> None:
    message = ToolMessage(f"token={GITHUB}", tool_call_id="1", artifact={"raw": GITHUB})
    assert GITHUB not in str(redactor.message(message))


def test_switched_off_everything_stays() -> None:
    off = redactor_of(False)
    message = HumanMessage(GITHUB)
    assert off.text(GITHUB) == GITHUB
    assert off.message(message) is message


@pytest.mark.parametrize(
    ("pattern", "left"),
    [(r"CUST-\d+", "id [redacted:secret]"), (r"CUST-(\d+)", "id CUST-[redacted:secret]")],
)
def test_patterns_of_ones_own(pattern: str, left: str) -> None:
    for given in (pattern, re.compile(pattern)):
        assert redactor_of([given]).text("id CUST-4711") == left
    assert GITHUB not in redactor_of([pattern]).text(GITHUB)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("CUST", "True, False, or a list"),
        (3, "True, False, or a list"),
        (["(", ], "is no pattern"),
        ([4], "a pattern is text"),
        ([r"\d*"], "matches the empty text"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(wrong: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        redactor_of(wrong)


def test_no_network_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert AWS_ID not in Redactor().text(f"id {AWS_ID} key {AWS_KEY}")
