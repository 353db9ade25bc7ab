"""Keys: what is one, what is told of one, and what a ciphertext is bound to."""

from __future__ import annotations

import base64
import pickle
from typing import Any
from uuid import uuid4

import pytest

from langledger.encryption import KeyRing, Vault, key_ring
from langledger.encryption.vault import MARK
from langledger.errors import ConfigurationError, EncryptionError, LangLedgerError

# The same in every process that collects these tests: they stand in names of some.
KEY, OTHER = (base64.b64encode(bytes(range(n, n + 32))).decode() for n in (1, 2))
SECRET = b"s" * 32


def vault(ring: KeyRing, tenant: str = "acme", *, keyed: bool = True) -> Vault:
    return Vault(ring, tenant, SECRET, keyed=keyed)


@pytest.mark.parametrize(
    "given",
    [
        {},
        7,
        "",
        "key without id",
        f"a:{KEY},a:{OTHER}",
        {"a": KEY, "b": KEY},
        {"a": "AAAA"},
        {"a": b"short"},
        {"a": "not base64 §"},
        {"not an id": KEY},
        {"": KEY},
        {"a" * 33: KEY},
    ],
)
def test_what_is_no_ring_is_one_clear_error(given: Any) -> None:
    with pytest.raises(ConfigurationError) as told:
        key_ring(given)
    assert not any(secret in str(told.value) for secret in (KEY, OTHER, "§"))


def test_the_first_key_is_the_newest() -> None:
    ring = KeyRing.parse(f" new:{KEY} , old:{OTHER},")
    assert (ring.newest, list(ring)) == ("new", ["new", "old"])
    assert repr(ring) == "<KeyRing new, old>"
    with pytest.raises(TypeError):
        pickle.dumps(ring)


def test_keys_are_bytes_or_base64_of_either_alphabet() -> None:
    raw = bytes(range(224, 256))
    cell = vault(KeyRing({"k": raw})).seal(2, ["x"], b"said")
    for text in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
        assert vault(KeyRing({"k": text.decode()})).open(2, ["x"], cell) == b"said"


def test_a_ciphertext_is_bound_to_its_place() -> None:
    ring, keys = KeyRing({"k": KEY}), [uuid4(), 7, b"digest", ""]
    cell = vault(ring).seal(2, keys, b"said")
    assert cell.startswith(MARK)
    assert b"said" not in cell
    assert vault(ring).open(2, keys, cell) == b"said"
    elsewhere = [
        (vault(ring, "other"), 2, keys),
        (vault(ring), 3, keys),
        (vault(ring), 2, [uuid4(), *keys[1:]]),
        (vault(ring), 2, [*keys[:1], 8, *keys[2:]]),
        (vault(KeyRing({"k": OTHER})), 2, keys),
        (vault(KeyRing({"other": KEY})), 2, keys),
    ]
    for opener, place, found_by in elsewhere:
        with pytest.raises(EncryptionError):
            opener.open(place, found_by, cell)
    for at in range(len(MARK), len(cell)):
        with pytest.raises(LangLedgerError):
            vault(ring).open(2, keys, cell[:at] + bytes([cell[at] ^ 1]) + cell[at + 1 :])


def test_the_same_content_at_the_same_place_is_the_same_ciphertext() -> None:
    sealed = vault(KeyRing({"k": KEY})).seal
    assert sealed(2, ["x"], b"said") == sealed(2, ["x"], b"said")
    nonces = {
        sealed(place, [key], content)[6:18]
        for place in (2, 3)
        for key in ("x", "y", b"x")
        for content in (b"", b"said", b"sung")
    }
    assert len(nonces) == 18


def test_names_are_hashed_once_they_are() -> None:
    ring = KeyRing({"k": KEY})
    closed, clear = vault(ring), vault(ring, keyed=False)
    assert (clear.name(b"digest"), clear.spell("word")) == (b"digest", "word")
    assert closed.name(b"digest") != b"digest"
    assert len(closed.name(b"digest")) == 16
    assert closed.spell("word") != "word"
    assert closed.spell("word") == vault(KeyRing({"new": OTHER})).spell("word")
