"""What the environment may say, and what is told when it says something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from langledger import Ledger
from langledger.config import PREFIX, Settings, load_settings
from langledger.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(PREFIX + name.upper(), raising=False)


def test_the_environment_is_read_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("langledger_tenant", "acme")
    monkeypatch.setenv("LANGLEDGER_DATA_DIR", "/some/where")
    settings = load_settings()
    assert (settings.tenant, settings.data_dir) == ("acme", Path("/some/where"))


@pytest.mark.parametrize(
    "name", ["LANGLEDGER_DATABSE_URL", "langledger_databse_url", "LangLedger_Pool"]
)
def test_a_mistyped_name_is_an_error_in_any_case(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "x")
    with pytest.raises(ConfigurationError, match=f"unknown setting {name}; the known ones are"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("DATABASE_URL", "", "the DSN is empty"),
        ("DATABASE_URL", "  ", "the DSN is empty"),
        ("DATA_DIR", "", "the folder is empty"),
        ("TENANT", "", "tenant must be a non-empty string"),
        ("POOL_SIZE", "0", "greater than or equal to 1"),
        ("POOL_SIZE", "many", "valid integer"),
        ("REQUIRE_DATABASE_URL", "maybe", "valid boolean"),
    ],
)
def test_a_bad_value_is_one_clean_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(ConfigurationError, match=f"^{PREFIX}{name}: .*{said}") as error:
        load_settings()
    assert "\n" not in str(error.value)
    assert "://e" not in str(error.value)  # no address of pydantic's documentation


def test_each_bad_value_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGLEDGER_POOL_SIZE", "0")
    monkeypatch.setenv("LANGLEDGER_TENANT", "")
    with pytest.raises(ConfigurationError) as error:
        load_settings()
    names = [line.partition(":")[0] for line in str(error.value).splitlines()]
    assert names == ["LANGLEDGER_TENANT", "LANGLEDGER_POOL_SIZE"]


@pytest.mark.parametrize("tenant", ["", None, 5, "\ud800", "a\x00b", "x" * 501])
def test_a_tenant_is_checked_in_code_too(tenant: Any) -> None:
    with pytest.raises(ConfigurationError, match="tenant"):
        Settings(tenant=tenant)


def test_what_was_given_is_not_repeated() -> None:
    """It may be a password in the wrong place."""
    with pytest.raises(ConfigurationError) as error:
        Settings(pool_size="s3cret", databse_url="postgresql://u:s3cret@h/d")
    assert "s3cret" not in str(error.value)
    assert "LANGLEDGER_DATABSE_URL: Extra inputs are not permitted" in str(error.value)


def test_settings_of_compaction_are_options(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().compaction == {}
    monkeypatch.setenv("LANGLEDGER_TRIGGER", '[0.9, ["topic_switch", 30], {"turns": 20}]')
    monkeypatch.setenv("LANGLEDGER_KEEP", '["messages", 20]')
    monkeypatch.setenv("LANGLEDGER_WAIT_FOR_TURN", "true")
    assert load_settings().compaction == {
        "trigger": [0.9, ("topic_switch", 30), {"turns": 20}],
        "keep": ("messages", 20),
        "wait_for_turn": True,
    }
    monkeypatch.setenv("LANGLEDGER_SUMMARY_TIMEOUT", "none")
    assert load_settings().compaction["summary_timeout"] is None
    monkeypatch.setenv("LANGLEDGER_STATE_TIMEOUT", "none")
    assert load_settings().compaction["state_timeout"] is None
    monkeypatch.setenv("LANGLEDGER_RECALL_TIMEOUT", "0.5")
    assert load_settings().compaction["recall_timeout"] == 0.5
    monkeypatch.setenv("LANGLEDGER_STATE_TIMEOUT", "30")
    assert load_settings().compaction["state_timeout"] == 30
    monkeypatch.setenv("LANGLEDGER_SUMMARY_TIMEOUT", "0")
    with pytest.raises(ConfigurationError, match="SUMMARY_TIMEOUT: give a number of seconds"):
        load_settings()
    monkeypatch.setenv("LANGLEDGER_TRIGGER", "often")
    with pytest.raises(ConfigurationError, match=r"LANGLEDGER_TRIGGER: give JSON, such as 0\.8"):
        load_settings()
    monkeypatch.setenv("LANGLEDGER_SUMMARY_TIMEOUT", "7.5")
    monkeypatch.delenv("LANGLEDGER_TRIGGER")
    assert load_settings().compaction["summary_timeout"] == 7.5


def test_settings_of_memory_are_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().memory == {}
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nowhere")
    monkeypatch.setenv("LANGLEDGER_EMBEDDING_BATCH", "7")
    monkeypatch.setenv("LANGLEDGER_EMBEDDING_DELAY", "0.5")
    monkeypatch.setenv("LANGLEDGER_MEMORY_TIMEOUT", "none")
    worker = Ledger.from_settings().for_tenant("other").recalling.worker
    assert (worker.items, worker.seconds, worker.tagger) == (7, 0.5, None)
    for name, value, said in (
        ("EMBEDDING_BATCH", "0", "greater than or equal to 1"),
        ("EMBEDDING_DELAY", "0", "greater than 0"),
        ("MEMORY_TIMEOUT", "0", "give a number of seconds"),
    ):
        monkeypatch.setenv(PREFIX + name, value)
        with pytest.raises(ConfigurationError, match=f"{name}: .*{said}"):
            load_settings()
        monkeypatch.delenv(PREFIX + name)
    monkeypatch.setenv("LANGLEDGER_TAG_MODEL", "nobody:makes-this")
    with pytest.raises(ConfigurationError, match="tag_model 'nobody:makes-this' cannot be used"):
        Ledger.from_settings()


def test_a_ledger_of_the_settings_compacts_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nowhere")
    monkeypatch.setenv("LANGLEDGER_TRIGGER", '["turns", 20]')
    ledger = Ledger.from_settings()
    for made in (ledger, ledger.for_tenant("other")):
        assert made.middleware().compactor.policy.triggers.kinds == {"turns"}
        assert made.middleware(trigger=0.8).compactor.policy.triggers.kinds == {"fraction"}
        [[share]] = made.middleware(preset="repository").compactor.policy.triggers.clauses
        assert share == ("fraction", 0.95)
    monkeypatch.setenv("LANGLEDGER_TRIGGER", "0.99")
    with pytest.raises(ConfigurationError, match=r"trigger 0\.99 is above"):
        Ledger.from_settings()
