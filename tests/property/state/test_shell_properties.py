"""Random shell scripts: the reader names exactly the files that bash changes."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langledger.state.commands import shell_effects
from langledger.state.known import Known

BASH = shutil.which("bash")
NAMES = [
    "a",
    "b c",
    "d/e",
    "d/f.txt",
    "g'h",
    'i"j',
    "k>l",
    "m;n",
    "文",
    "$o",
    "r#s",
    "t&u",
    "(v)",
]


def single_quoted(name: str) -> str:
    return "'" + name.replace("'", "'\\''") + "'"


def double_quoted(name: str) -> str:
    return '"' + "".join("\\" + c if c in '"\\$`' else c for c in name) + '"'


def escaped(name: str) -> str:
    return "".join("\\" + c if c in " '\">;$\\#&()" else c for c in name)


WORDS = st.builds(
    lambda quote, name: quote(name),
    st.sampled_from([single_quoted, double_quoted, escaped]),
    st.sampled_from(NAMES),
)
TEXTS = st.text(st.sampled_from("xy >|&;'\"$(){}\\`#\n"), max_size=12)


def heredoc(text: str, word: str, operator: str) -> str:
    body = "".join(f"{line}\n" for line in text.split("\n") if line != "EOF")
    return f"cat {operator} {word} <<'EOF'\nnew {body}EOF\n"


SIMPLE = st.one_of(
    st.builds(lambda t, w: f"echo {single_quoted(t)} >> {w}", TEXTS, WORDS),
    st.builds(lambda w: f"echo $RANDOM$RANDOM >{w}", WORDS),
    st.builds(lambda w: f"echo more | tee -a {w} >/dev/null 2>&1", WORDS),
    st.builds(heredoc, TEXTS, WORDS, st.sampled_from([">", ">>"])),
    st.builds(lambda w: f"echo $(printf '%s' 'in (side'; echo in >> {w})", WORDS),
    st.builds(lambda w: f"bash -c {single_quoted('echo sub >> ' + w)}", WORDS),
    st.builds(lambda w: f"python3 -c {single_quoted('print(1 > 2)')} >> {w}", WORDS),
    st.just("true # a comment > not-a-file"),
    st.just("test 1 -gt 0 && [[ 2 > 1 ]]"),
    st.just("echo \"quoted > no $(echo ')' ) ; rm a\" > /dev/null"),
)
SCRIPTS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(lambda a, op, b: f"{a}{op}{b}", inner, st.sampled_from(["\n", "\n\n"]), inner),
        st.builds(lambda a: f"(\n{a}\n)", inner),
        st.builds(lambda a: f"{{ {a}\n}}", inner),
        st.builds(lambda a: f"if true; then\n{a}\nfi", inner),
        st.builds(lambda a: f"for i in 1 2; do\n{a}\ndone", inner),
    ),
    max_leaves=5,
)


def snapshot(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text(errors="replace")
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.mark.skipif(BASH is None, reason="needs bash")
@given(SCRIPTS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_the_reader_names_exactly_what_bash_changes(script: str):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "d").mkdir()
        before = snapshot(root)
        done = subprocess.run(
            [str(BASH), "-c", script], cwd=root, capture_output=True, text=True, check=False
        )
        after = snapshot(root)
        assert "syntax error" not in done.stderr, "the generator makes valid scripts"
        changed = {name for name in after if before.get(name) != after[name]}
        effects = shell_effects(script, known=Known({}), base=str(root))
        assert {change.path for change in effects.changes} == changed
