"""Rotation of encryption keys: everything of a tenant comes under the newest one."""

from __future__ import annotations

from langledger.rotation.run import Rotation, rotate_keys

__all__ = ["Rotation", "rotate_keys"]
