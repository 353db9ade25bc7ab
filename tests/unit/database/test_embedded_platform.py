from __future__ import annotations

from pathlib import Path

import pytest

from langledger.database.embedded_platform import Platform, check_platform, missing_extra
from langledger.errors import EmbeddedPostgresError, MissingDependencyError

MODERN = frozenset({"fpu", "avx2", "bmi2", "fma"})


def platform(
    system: str = "linux",
    machine: str = "x86_64",
    musl: bool = False,
    cpu_features: frozenset[str] | None = MODERN,
) -> Platform:
    return Platform(system=system, machine=machine, musl=musl, cpu_features=cpu_features)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (platform(system="win32"), "does not run on Windows yet"),
        (platform(musl=True), "no embedded PostgreSQL for musl"),
        (platform(cpu_features=MODERN - {"avx2", "fma"}), "this CPU lacks avx2, fma"),
        (platform(machine="aarch64", cpu_features=frozenset({"asimd"})), "this CPU lacks sve"),
    ],
)
def test_a_machine_it_cannot_run_on_is_refused_with_the_way_out(found: Platform, said: str) -> None:
    with pytest.raises(EmbeddedPostgresError, match=said) as error:
        check_platform(found)
    assert str(error.value).endswith("set LANGLEDGER_DATABASE_URL=postgresql://... or pass a DSN")


@pytest.mark.parametrize(
    "found",
    [
        platform(),
        platform(machine="aarch64", cpu_features=frozenset({"sve", "asimd"})),
        platform(cpu_features=None),
        platform(system="darwin", machine="arm64", cpu_features=None),
        platform(machine="riscv64", cpu_features=frozenset()),
    ],
)
def test_other_machines_are_tried(found: Platform) -> None:
    check_platform(found)


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("processor : 0\nflags\t\t: fpu avx2 bmi2\nbugs : spectre\n", {"fpu", "avx2", "bmi2"}),
        ("processor : 0\nFeatures\t: fp asimd sve\n", {"fp", "asimd", "sve"}),
    ],
)
def test_the_kernel_is_read_on_both_architectures(
    tmp_path: Path, text: str, features: set[str]
) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert Platform.current(tmp_path / "cpuinfo").cpu_features == features


def test_a_kernel_that_tells_nothing_is_no_reason_to_refuse(tmp_path: Path) -> None:
    assert Platform.current(tmp_path / "missing").cpu_features is None
    (tmp_path / "cpuinfo").write_text("processor : 0\n")
    assert Platform.current(tmp_path / "cpuinfo").cpu_features is None


def test_a_missing_extra_names_both_ways_out() -> None:
    error = missing_extra()
    assert isinstance(error, MissingDependencyError)
    assert 'pip install "langledger[local]"' in str(error)
    assert "LANGLEDGER_DATABASE_URL" in str(error)
