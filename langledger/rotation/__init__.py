"""Rotation of encryption keys: everything comes under the newest one."""

from __future__ import annotations

from langledger.rotation.checking import check_keys, with_keys
from langledger.rotation.run import Rotation, rotate_all, rotate_keys

__all__ = ["Rotation", "check_keys", "rotate_all", "rotate_keys", "with_keys"]
