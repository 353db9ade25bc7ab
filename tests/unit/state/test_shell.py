"""The shell reader against a real shell: what it predicts is what bash does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from langledger.state.commands import shell_effects
from langledger.state.fold import StateFold
from langledger.state.known import Known
from langledger.state.shell import Command, scan

BASH = shutil.which("bash")
FILES = {
    "a.txt": "alpha\n",
    "b.txt": "beta\n",
    "with space.txt": "gamma\n",
    "sub/c.txt": "delta\n",
    "sub/d.py": "x = 1\n",
    "数据.txt": "中文\n",
}

SCRIPTS = [
    "echo one > new.txt",
    "echo one >> a.txt",
    "echo 'x > y.txt' && echo done >a.txt",
    'echo "a > b" | tee out1.txt out2.txt > /dev/null',
    "sed -i 's/alpha/omega/' a.txt",
    "sed -i.bak -e 's/beta/B/' b.txt && rm b.txt.bak",
    "sed -i -e 's/a/b/' -e 's/b/c/' a.txt 'with space.txt'",
    "perl -pi -e 's/alpha/omega/' a.txt",
    "perl -i -pe 's/alpha/omega/' a.txt",
    "mv a.txt moved.txt",
    "mv a.txt b.txt sub/",
    "mv a.txt sub/",
    "cp a.txt copy.txt; cp b.txt sub/",
    "rm a.txt 'with space.txt'",
    "rm -f -- a.txt nowhere.txt",
    "touch new1.txt new2.txt",
    "cd sub && echo x > here.txt",
    "(cd sub && echo x > here.txt); echo y > there.txt",
    "cd sub; cd ..; echo z > back.txt",
    "cat > doc.md <<'EOF'\n# it's > fake.txt\nrm b.txt\nEOF\necho ok > done.txt",
    "cat <<EOF > doc.md\nHello $HOME\nEOF",
    "cat <<-EOF > doc.md\n\tindented\n\tEOF\ntouch z.txt",
    "for f in a.txt b.txt; do sed -i 's/a/A/' \"$f\"; done",
    "F=sub/d.py; sed -i 's/1/2/' $F",
    "if [ -f a.txt ]; then rm a.txt; else touch never-mind; fi; true",
    "echo x 2>err.txt 1>out.txt",
    "ls nowhere 2> err.txt; echo x &> all.txt",
    "bash -c 'echo x > inner.txt'",
    "env A=1 timeout 5 sed -i s/alpha/A/ a.txt",
    "touch {x,y,z}.tmp sub/{p,q}",
    "echo $(echo inner > sub1.txt; echo v) > outer.txt",
    "X=`echo v > tick.txt`; echo $X > after.txt",
    "python3 -c \"open('py.txt', 'w').write('x')\"",
    "python3 - <<'PY'\nfrom pathlib import Path\np = Path('a.txt')\np.write_text('x')\nPY",
    "cat > fix.py <<'EOF'\nopen('b.txt', 'w').write('fixed')\nEOF\npython3 fix.py",
    "cd sub && cat > gen.py <<'EOF'\nopen('gen.out', 'w').write('1')\nEOF\npython3 gen.py",
    "dd if=a.txt of=dd.txt 2>/dev/null",
    "printf 'x' > 数据.txt",
    'echo x > "with space.txt"',
    "echo x > with\\ space.txt",
    "true # > comment.txt",
    "echo hi > a.txt && false || echo x > fallback.txt",
    'f() { echo x > "in function.txt"; }; f',
    "while true; do echo x > loop.txt; break; done",
    "case x in a) rm a.txt ;; x) touch cased.txt ;; esac",
    "diff <(cat a.txt) <(cat b.txt) > diff.txt; true",
    "echo $((1 > 0)) > sum.txt",
    "[[ 2 > 1 ]] && touch yes.txt",
    'echo "it\'s" \'say "hi"\' > quotes.txt',
    "{ echo a; echo b; } > group.txt",
    "echo a |\n  tee piped.txt >/dev/null",
    "echo a \\\n  > continued.txt",
    "patch -p1 <<'EOF'\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-alpha\n+omega\nEOF",
    "cat > p.diff <<'E'\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-beta\n+B\nE\npatch -p1 < p.diff",
]
# what the reader claims although this run did not do it: the branch that was not taken
UNCHOSEN = {
    next(s for s in SCRIPTS if s.startswith("if")): {"never-mind"},
    next(s for s in SCRIPTS if s.startswith("case")): {"a.txt"},
}


def snapshot(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text(errors="replace")
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def predicted(script: str, base: Path) -> set[str]:
    effects = shell_effects(script, known=Known({}), base=str(base))
    named = {change.path for change in effects.changes}
    return named | {c.other for c in effects.changes if c.other and c.action == "rename"}


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_reader_predicts_what_bash_does(script: str, project: Path):
    before = snapshot(project)
    subprocess.run([str(BASH), "-c", script], cwd=project, check=False, capture_output=True)
    after = snapshot(project)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    claimed = predicted(script, project)
    assert changed <= claimed, "a change was missed"
    gone_or_never_there = {"b.txt.bak", "nowhere.txt"}
    assert claimed - changed <= gone_or_never_there | UNCHOSEN.get(script, set()), "made up"


def actions(script: str, **kwargs: object) -> list[tuple[str, str]]:
    effects = shell_effects(script, known=Known({}), **kwargs)  # type: ignore[arg-type] - test data
    return [(change.action, change.path) for change in effects.changes]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("sed -i '' 's/a/b/' x.go", [("edit", "x.go")]),  # BSD
        ("git mv a.py b.py && git rm old.py", [("rename", "b.py"), ("delete", "old.py")]),
        ("git rm --cached a.py", []),
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n.py\n+x\n*** End Patch\nEOF",
            [("create", "n.py")],
        ),
        ("git apply <<'EOF'\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\nEOF", [("edit", "x.py")]),
        ("gofmt -w main.go pkg/x.go", [("edit", "main.go"), ("edit", "pkg/x.go")]),
        ("gofmt -w .", []),
        ("gofmt main.go", []),
        ("uv run ruff format src/a.py", [("edit", "src/a.py")]),
        ("npx prettier --write 'src/a.ts'", [("edit", "src/a.ts")]),
        ("black --check a.py", []),
        ("curl -s https://x.y -o out.json", [("write", "out.json")]),
        ("node -e \"require('fs').writeFileSync('n.txt', 'x')\"", [("write", "n.txt")]),
        ("sudo tee /etc/x.conf < in", [("write", "/etc/x.conf")]),
        ('cat a > "$UNKNOWN/x"; rm $(ls); cp a $DIR', []),
        ('cd "$(mktemp -d)" && echo x > lost.txt', []),
        ("find . -name '*.pyc' -exec rm {} \\;", []),
        ("ls | xargs rm", []),
        ("echo x > /dev/null 2>&1", []),
        ("git commit -m \"$(cat <<'EOF'\nfix (a) it's > b\nEOF\n)\" && git push", []),
        ("python3 -m pytest tests > log.txt", [("write", "log.txt")]),
        ("echo x >| forced.txt", [("write", "forced.txt")]),
    ],
)
def test_programs_and_what_cannot_be_told(script: str, expected: list[tuple[str, str]]):
    assert actions(script) == expected


def test_paths_follow_cd_and_the_directory_of_the_call():
    assert actions("cd src && touch a", base="/p") == [("create", "src/a")]
    assert actions("touch a", base="/p", directory="/p/lib") == [("create", "lib/a")]
    assert actions("git -C lib mv a b; touch c", base="/p") == [
        ("rename", "lib/b"),
        ("create", "c"),
    ]
    assert shell_effects("cd src", known=Known({}), base="/p").cwd == "/p/src"
    assert shell_effects("(cd src)", known=Known({}), base="/p").cwd is None


def test_a_heredoc_is_kept_whole_whatever_is_in_it():
    script = "cat > f <<'END'\n" + "echo x > y\n\"'`$(\n" * 1000 + "END\nrm z"
    commands = [event for event in scan(script) if isinstance(event, Command)]
    assert [word.text for word in commands[-1].words] == ["rm", "z"]
    assert len(commands) == 2


@pytest.mark.parametrize(
    "text",
    ["(", "$(", "<(", "'", '"', "`", "<<", "{", "((", "$((", "a<<b\n", "\\", "&&", ";;", "for "],
)
def test_endless_nonsense_ends(text: str):
    scan(text * 200_000)  # quadratic time or deep recursion would not come back


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ("gh api repos/a/b/pulls/2/comments --jq '.[] | .body' | head -5", "inspect"),
        ("gh api --method GET search/issues -f q=x && gh -R a/b pr view 2", "inspect"),
        ("gh run list; gh pr checks 2; gh pr diff", "inspect"),
        ("gh api repos/a/b/issues -f title=x", "other"),
        ("gh api -X DELETE repos/a/b && gh pr view", "other"),
        ("gh api --method=POST x; gh api x --input f.json", "other"),
        ("gh pr create --title view", "other"),
        ("sqlite3 a.db 'SELECT 1; select 2'; sqlite3 -json a.db .schema", "inspect"),
        ("sqlite3 a.db 'SELECT 1; DELETE FROM t'", "other"),
        ("sqlite3 -cmd '.mode json' a.db 'drop table t'", "other"),
        ("psql -h db -U me -c 'select 1' | cat && docker ps && kubectl -n x get pods", "inspect"),
        ("psql -c 'with x as (select 1) delete from t'", "other"),
    ],
)
def test_programs_that_can_change_things_may_only_look(script: str, kind: str):
    assert shell_effects(script, known=Known({})).kind == kind


def test_what_a_script_is_for():
    def kind(script: str) -> str:
        return shell_effects(script, known=Known({})).kind

    assert kind("cd x && uv run pytest -q 2>&1 | tail") == "test"
    assert kind("go test ./...") == "test"
    assert kind("npm run test:unit") == "test"
    assert kind("mise run fmt && mise run lint && mise run test:ci") == "test"
    assert kind("ruff check .") == "lint"
    assert kind("cargo clippy -- -D warnings") == "lint"
    assert kind("cargo build --release") == "build"
    assert kind("git add -A && git commit -m 'run the tests'") == "commit"
    assert kind("git merge-base a b") == "inspect"
    for looks in ("check-ignore -v a", "tag --sort=-v:refname | head", "tag", "push --help"):
        assert kind(f"git {looks}") == "inspect"
    assert kind("uv run ec decision create --help 2>&1 | head -20") == "inspect"
    assert kind("git tag v1 && git push --tags") == "commit"
    assert kind("grep -rn 'pytest' . | head") == "inspect"
    assert kind("cat > a.py <<'EOF'\nimport pytest\nEOF") == "edit"
    assert kind("pip install x") == "other"
    assert StateFold().state.commands == {}
