"""A script on one line reads as what was run."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langledger.state.scriptline import script_line
from tests.unit.state.folding import call, result, run


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("git add x\ngit diff\n\ngit commit", "git add x ; git diff ; git commit"),
        ("foo \\\n  --bar \\\n  --baz\nq", "foo --bar --baz ; q"),
        ("a &&\nb |\n  c", "a && b | c"),
        ("# why\nls  # what\npwd", "ls ; pwd"),
        ("for i in a b; do\n  echo $i\ndone\nls", "for i in a b; do echo $i ; done ; ls"),
        ("if x; then\n y\nelse\n z\nfi", "if x; then y ; else z ; fi"),
        ("(cd x\n ls\n)\npwd", "(cd x ; ls ) ; pwd"),
        ("case $x in\n a)\n one;;\n b) two ;;\nesac", "case $x in a) one;; b) two ;; esac"),
        ("git commit -m 'fix: x\n\nbody'\nls", "git commit -m 'fix: x (+1 line)' ; ls"),
        ('python -c "\nimport os\nprint(1)\n"', 'python -c "print(1) (+1 line)"'),
        ("cat > a <<'EOF'\nx\ny\nz\nEOF\npwd", "cat > a <<'EOF' (x, +2 lines) ; pwd"),
        ("cat <<-E | sort\n\tb\n\tE\npwd", "cat <<-E | sort (b) ; pwd"),
        ("python - <<E\nimport os\nrun()", "python - <<E (run(), +1 line)"),
        ("cat <<< x\necho $((1<<2))", "cat <<< x ; echo $((1<<2))"),
        (
            'git commit -m "$(cat <<\'EOF\'\nfix: it\'s "ok"\n\nbody\nEOF\n)" && git push\nls',
            'git commit -m "$(cat <<\'EOF\' (fix: it\'s "ok", +1 line) )" && git push ; ls',
        ),
    ],
)
def test_lines_are_joined_as_a_shell_takes_them(script: str, line: str):
    assert script_line(script, 300) == line


def test_the_record_and_the_last_action_of_a_script_read_the_same():
    state = run(call("Bash", {"command": "pytest\nruff check"}), result("ok"))
    assert [*state.commands] == ["pytest ; ruff check"]
    assert state.last_action is not None
    assert state.last_action.args == "pytest ; ruff check"


@given(st.text(alphabet="ab \n\\'\"#;&|(){}<E$\0"), st.integers(20, 200))
def test_any_text_gives_one_line_within_the_limit(script: str, limit: int):
    line = script_line(script, limit)
    assert "\n" not in line
    assert len(line) <= limit


@given(st.lists(st.sampled_from(["ls -l", "git diff", "echo 'a b'", "x > y"]), min_size=1))
def test_simple_commands_stay_apart(commands: list[str]):
    assert script_line("\n".join(commands), 10**6) == " ; ".join(commands)


@pytest.mark.parametrize("piece", ["a\n", "'", '"', "<<E\n", "\\\n", "# \n", "(\n"])
def test_the_time_grows_with_the_length_only(piece: str):
    start = time.process_time()
    script_line(piece * 100_000, 300)
    assert time.process_time() - start < 1
