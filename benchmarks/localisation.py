"""How often a search finds the code that an issue's patch changed: ours and its peers in one run.

    python benchmarks/localisation.py DATASET.jsonl GIT_DIRECTORIES --data-dir FOLDER --out ROWS
    python benchmarks/localisation.py --report ROWS

DATASET has a JSON object a line: instance_id, repo, base_commit, problem_statement, gold_files,
gold_spans (path -> names of the functions and classes that were changed). GIT_DIRECTORIES holds
``owner+name`` or ``owner+name/repo``, each a git directory; instances whose base commit is not in
it are left out. For each instance the tree of the base commit is exported, indexed and asked with
the issue's text. Nothing was chosen by the repositories marked as held out.

file@k       any / all of the files that the patch changes are among the first k
function@k   all functions and classes that it changes, of those that were there before
pack         any / all of the files, and all of the functions, are in what fits the budget; a
             function is in the pack where a piece of it is
named        the issue writes out the path, or the file's name, of a file that the patch changes
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

BUDGETS = (1600, 3200, 8000)
KS = (1, 3, 5, 10)
HELD_OUT = ("sympy/sympy", "pydata/xarray", "psf/requests", "mwaskom/seaborn", "pallets/flask")
_TEST = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")

# The peer runs in an environment of its own; it is told the folder, the issue and the budgets.
_AIDER = """
import json, sys
from pathlib import Path
from aider.io import InputOutput
from aider.repomap import RepoMap
class Model:
    def token_count(self, text): return len(text) // 4
asked = json.load(sys.stdin)
root, issue = asked["root"], asked["issue"]
files = [str(p) for p in Path(root).rglob("*.py")]
io = InputOutput(yes=True, pretty=False)
words = set(__import__("re").findall(r"\\w+", issue))
names = {str(Path(f).relative_to(root)) for f in files}
named = {n for n in names if n in issue or Path(n).name in words}
rows = {}
for budget in asked["budgets"]:
    m = RepoMap(map_tokens=budget, root=root, main_model=Model(), io=io, map_mul_no_files=1)
    tags = m.get_ranked_tags([], files, named, words, progress=lambda *a, **k: None)
    if "files" not in rows:
        rows["files"] = list(dict.fromkeys(t[0] for t in tags))[:50]
    text = m.get_ranked_tags_map([], files, budget, named, words, False) or ""
    lines = text.splitlines()
    rows[str(budget)] = sorted(n for n in names if any(l.startswith(n + ":") for l in lines))
print("RESULT" + json.dumps(rows))
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", type=Path, nargs="?")
    parser.add_argument("git", type=Path, nargs="?")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="+", help="repositories; default: all that are there")
    parser.add_argument("--limit", type=int, help="instances of each repository")
    parser.add_argument("--rerank", action="store_true", help="also rerank by the local embeddings")
    parser.add_argument("--aider", type=Path, help="the python of an environment with aider-chat")
    parser.add_argument("--peers-only", action="store_true")
    parser.add_argument("--report", type=Path, nargs="+")
    given = parser.parse_args()
    if given.report:
        report([row for path in given.report for row in read(path)])
        return
    done = {row["instance_id"] for row in read(given.out)} if given.out.exists() else set()
    with given.out.open("a") as out:
        for row in measured(given, done):
            print(json.dumps(row), file=out, flush=True)
    report(read(given.out))


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def measured(given: argparse.Namespace, done: set[str]) -> Iterator[dict[str, Any]]:
    instances = [json.loads(line) for line in given.dataset.read_text().splitlines()]
    by_repo: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in instances:
        by_repo[one["repo"]].append(one)
    for repo, rows in sorted(by_repo.items(), key=lambda item: len(item[1])):
        git = git_directory(given.git, repo)
        if git is None or (given.only and repo not in given.only):
            continue
        todo = [row for row in rows[: given.limit] if row["instance_id"] not in done]
        todo = [row for row in todo if has_commit(git, row["base_commit"])]
        with tempfile.TemporaryDirectory(prefix="localisation-") as folder:
            yield from of_repository(given, git, todo, Path(folder) / repo.replace("/", "+"))


def git_directory(folder: Path, repo: str) -> Path | None:
    base = folder / repo.replace("/", "+")
    return next((path for path in (base, base / "repo") if (path / "HEAD").exists()), None)


def has_commit(git: Path, commit: str) -> bool:
    asked = ["git", "--git-dir", str(git), "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def export(git: Path, commit: str, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    archive = subprocess.Popen(
        ["git", "--git-dir", str(git), "archive", commit], stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "x", "-C", str(root)], stdin=archive.stdout, check=True)
    if archive.wait():
        raise SystemExit(f"{git} has no {commit}")


def of_repository(
    given: argparse.Namespace, git: Path, rows: Sequence[dict[str, Any]], root: Path
) -> Iterator[dict[str, Any]]:
    words = {word for row in rows for word in _words(row["problem_statement"])}
    bm25 = PlainBm25(words)
    if given.peers_only:
        for row in rows:
            export(git, row["base_commit"], root)
            yield one_row(row, root, peers(given, bm25, root, row))
        return
    from langledger import Ledger

    tenant = f"localisation-{root.name}"
    with Ledger.from_conn_string(
        data_dir=given.data_dir, tenant=tenant, embeddings="off"
    ) as ledger:
        root.mkdir(parents=True)
        repository = ledger.repository(root, name=root.name)
        for row in rows:
            export(git, row["base_commit"], root)
            started = time.perf_counter()
            repository.index()
            indexing = time.perf_counter() - started
            found = {**ours(given, repository, row), **peers(given, bm25, root, row)}
            yield {**one_row(row, root, found), "index_seconds": round(indexing, 2)}


def ours(given: argparse.Namespace, repository: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    from langledger.operations import run

    def packing(hits: Sequence[Any], hops: int = 0) -> Callable[[int], Any]:
        finder = repository.finder
        return lambda budget: run(finder.pack(hits, budget=budget, hops=hops), repository.executor)

    query = row["problem_statement"]
    started = time.perf_counter()
    found = repository.find(query, k=120)
    seconds = time.perf_counter() - started
    results = {"langledger": result(found.files, found.hits, packing(found.hits))}
    results["langledger"]["seconds"] = round(seconds, 3)
    for hops in (1, 2):
        results[f"with related code, {hops} hops"] = result(
            found.files, found.hits, packing(found.hits, hops)
        )
    if given.rerank:
        hits = reranked(query, found.hits)
        files = list(dict.fromkeys(hit.path for hit in hits))
        files += [path for path, _ in found.files if path not in set(files)]
        results["reranked by embeddings"] = result([(f, 0.0) for f in files], hits, packing(hits))
    return results


def reranked(query: str, hits: Sequence[Any]) -> list[Any]:
    """Return the first 20 by the cosine of the local model, the rest after them."""
    from langledger.recall import resolve

    embedder = reranked.__dict__.setdefault("embedder", resolve("local"))
    question = embedder.question(query[:1000])
    vectors = embedder.texts([hit.text[:1200] for hit in hits[:20]])
    scores = [_cosine(question, vector) for vector in vectors]
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    return [*(hits[at] for at in order), *hits[20:]]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    norm = math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / norm


def result(
    files: Sequence[tuple[str, float]],
    hits: Sequence[Any],
    packing: Callable[[int], Any],
) -> dict[str, Any]:
    """Return what of the gold was found; functions by path and qualified name."""
    apart = {hit.path for hit in hits if hit.metadata["apart"]}
    ranked = [path for path, _ in files if path not in apart and not _TEST.search(path)]
    functions = list(dict.fromkeys((hit.path, hit.symbol) for hit in hits if hit.symbol))
    packs = {}
    for budget in BUDGETS:
        packed = packing(budget)
        packs[str(budget)] = {
            "files": sorted({hit.path for hit in packed.hits}),
            "functions": sorted({(hit.path, hit.symbol) for hit in packed.hits}),
            "tokens": packed.tokens,
        }
    return {"files": ranked[:50], "functions": functions[:50], "packs": packs}


def peers(
    given: argparse.Namespace, bm25: PlainBm25, root: Path, row: Mapping[str, Any]
) -> dict[str, Any]:
    ranked = bm25.ranked(root, row["problem_statement"])
    found: dict[str, Any] = {
        "BM25 over files": {"files": ranked[:50]},
        "BM25 over files, no tests": {"files": [f for f in ranked if not _TEST.search(f)][:50]},
    }
    if given.aider:
        told = aider(given.aider, root, row["problem_statement"])
        if told:
            packs = {str(b): {"files": told[str(b)], "functions": []} for b in BUDGETS}
            files = [f for f in told["files"] if not _TEST.search(f)]
            found["aider's repository map"] = {"files": files, "packs": packs}
    return found


def aider(python: Path, root: Path, issue: str) -> dict[str, Any] | None:
    asked = json.dumps({"root": str(root), "issue": issue, "budgets": BUDGETS})
    try:
        ran = subprocess.run(
            [str(python), "-c", _AIDER],
            input=asked, capture_output=True, text=True, check=False, timeout=900,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    line = next((part for part in ran.stdout.splitlines() if part.startswith("RESULT")), None)
    if line is None:
        print(ran.stderr[-2000:], file=sys.stderr)
        return None
    return json.loads(line.removeprefix("RESULT"))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class PlainBm25:
    """BM25 over whole Python files, words of letters and digits; k1 1.2, b 0.75."""

    def __init__(self, vocabulary: set[str]) -> None:
        self._vocabulary = vocabulary
        self._known: dict[bytes, tuple[Counter[str], int]] = {}

    def _counted(self, data: bytes) -> tuple[Counter[str], int]:
        known = self._known.get(data)
        if known is None:
            words = _words(data.decode("utf-8", "replace"))
            counts = Counter(word for word in words if word in self._vocabulary)
            known = self._known[data] = (counts, len(words))
        return known

    def ranked(self, root: Path, query: str) -> list[str]:
        import hashlib

        paths = sorted(path for path in root.rglob("*.py") if path.is_file())
        documents = []
        for path in paths:
            data = path.read_bytes()
            key = hashlib.blake2b(data, digest_size=16).digest()
            if key not in self._known:
                words = _words(data.decode("utf-8", "replace"))
                counts = Counter(word for word in words if word in self._vocabulary)
                self._known[key] = (counts, len(words))
            documents.append(self._known[key])
        mean = statistics.fmean(size for _, size in documents) or 1
        asked = Counter(_words(query))
        often = Counter(word for counts, _ in documents for word in counts if word in asked)
        total = len(documents)

        def score(document: tuple[Counter[str], int]) -> float:
            counts, size = document
            norm = 1.2 * (0.25 + 0.75 * size / mean)
            return sum(
                asked[word]
                * math.log(1 + (total - often[word] + 0.5) / (often[word] + 0.5))
                * counts[word] * 2.2 / (counts[word] + norm)
                for word in asked
                if counts[word]
            )  # fmt: skip

        scores = {path: score(one) for path, one in zip(paths, documents, strict=True)}
        order = sorted(paths, key=lambda path: (-scores[path], path))
        return [path.relative_to(root).as_posix() for path in order]


def defined(path: Path) -> set[str]:
    """Return the functions and classes of a file; what the patch adds is not there to be found."""
    import ast

    names: set[str] = set()
    try:
        todo: list[tuple[Any, str]] = [(ast.parse(path.read_bytes()), "")]
    except (OSError, SyntaxError, ValueError):
        return names
    while todo:
        node, prefix = todo.pop()
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            inner = f"{prefix}{child.name}." if named else prefix
            if named:
                names.add(inner[:-1])
            todo.append((child, inner))
    return names


def one_row(row: Mapping[str, Any], root: Path, found: Mapping[str, Any]) -> dict[str, Any]:
    gold = row["gold_files"]
    issue = row["problem_statement"]
    modules = [path.removesuffix(".py").replace("/", ".") for path in gold]
    named = any(path in issue or Path(path).name in issue for path in gold)
    return {
        "instance_id": row["instance_id"],
        "repo": row["repo"],
        "gold_files": gold,
        "gold_functions": [
            [path, name]
            for path, names in row["gold_spans"].items()
            for name in sorted(defined(root / path) & set(names))
        ],
        "named": named or any(module in issue for module in modules),
        "found": found,
    }


def report(rows: Sequence[Mapping[str, Any]]) -> None:
    rows = list({row["instance_id"]: row for row in rows}.values())
    for title, chosen in (
        ("all", rows),
        ("chosen on", [row for row in rows if row["repo"] not in HELD_OUT]),
        ("held out", [row for row in rows if row["repo"] in HELD_OUT]),
        ("the issue names a file", [row for row in rows if row["named"]]),
        ("it names none", [row for row in rows if not row["named"]]),
    ):
        repositories = len({row["repo"] for row in chosen})
        print(f"\n{title}: {len(chosen)} instances, {repositories} repositories\n")
        table(chosen)
    seconds = [r["found"]["langledger"]["seconds"] for r in rows if "langledger" in r["found"]]
    if seconds:
        late = statistics.quantiles(seconds, n=20)[18] if len(seconds) > 1 else seconds[0]
        print(f"\nsearch: p50 {statistics.median(seconds):.2f} s, p95 {late:.2f} s")


def table(rows: Sequence[Mapping[str, Any]]) -> None:
    heads = [f"file@{k}" for k in KS] + ["all files@5", "@10", "function@5", "@10"]
    heads += [f"file in {b:,}" for b in BUDGETS] + ["all files in 3,200"]
    heads += [f"functions in {b:,}" for b in BUDGETS]
    print("| |" + "|".join(f" {head} " for head in heads) + "| n |")
    print("|---|" + "---|" * (len(heads) + 1))
    for name in list(dict.fromkeys(name for row in rows for name in row["found"])):
        of = [row for row in rows if name in row["found"]]
        print(f"| {name} | {' | '.join(figures(of, name))} | {len(of)} |")


def figures(rows: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    def share(holds: Callable[[Mapping[str, Any], Mapping[str, Any]], bool | None]) -> str:
        told = [holds(row, row["found"][name]) for row in rows]
        known = [one for one in told if one is not None]
        return f"{100 * sum(known) / len(known):.1f}" if known else "–"

    def functions(row: Mapping[str, Any], has: Sequence[Any] | None) -> bool | None:
        gold = {tuple(one) for one in row["gold_functions"]}
        return gold <= {tuple(one) for one in has} if gold and has else None

    def in_pack(budget: int, what: str) -> Callable[..., Sequence[Any] | None]:
        return lambda found: found.get("packs", {}).get(str(budget), {}).get(what)

    cells = [share(lambda r, f, k=k: bool({*r["gold_files"]} & {*f["files"][:k]})) for k in KS]
    cells += [share(lambda r, f, k=k: {*r["gold_files"]} <= {*f["files"][:k]}) for k in (5, 10)]
    cells += [share(lambda r, f, k=k: functions(r, f.get("functions", [])[:k])) for k in (5, 10)]
    for budget in BUDGETS:
        files = in_pack(budget, "files")
        cells.append(
            share(
                lambda r, f, files=files: (
                    None if files(f) is None else bool({*r["gold_files"]} & {*files(f)})
                )
            )
        )
    files = in_pack(3200, "files")
    cells.append(
        share(lambda r, f: None if files(f) is None else {*r["gold_files"]} <= {*files(f)})
    )
    for budget in BUDGETS:
        inside = in_pack(budget, "functions")
        cells.append(share(lambda r, f, inside=inside: functions(r, inside(f))))
    return cells


if __name__ == "__main__":
    main()
