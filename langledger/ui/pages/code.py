"""Repositories: the map, a search with its reasons, and each definition with its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse

from langledger.errors import RepositoryError
from langledger.operations import Row
from langledger.repository.finder import Finder
from langledger.repository.map import mapped
from langledger.ui import coding
from langledger.ui.desk import At, Desk

__all__ = ["router"]

router = APIRouter()
_MOST = 500  # worktrees
_HITS = 15
_LONGEST = 60_000  # characters of a definition
_EDGES = 100
_BUDGETS = (800, 1600, 4000, 12_000)


@dataclass(frozen=True, slots=True)
class _Tree:
    """The worktree a page is about.

    Attributes:
        row: Its ``name``, ``root``, ``branch``, ``commit`` and ``indexed_at``.
        keys: As statements take them.
        address: Of its pages, without a slash at the end.
    """

    row: Row
    keys: dict[str, Any]
    address: str

    def definition(self, path: str, number: int) -> str:
        """Return the address of a definition; number 0: of the file."""
        return f"{self.address}/definition?{urlencode({'path': path, 'number': number})}"


def _tree(request: Request, desk: At, repository: UUID, worktree: UUID) -> _Tree:
    tenant = desk.ledger.tenant
    found = desk.run(coding.worktree(tenant, repository, worktree))
    if found is None:
        raise HTTPException(404, "There is no such worktree; it may have been forgotten.")
    root: str = request.scope.get("root_path", "")
    keys = {"tenant": tenant, "repository": repository, "worktree": worktree}
    return _Tree(found, keys, f"{root}/code/{repository}/{worktree}")


Tree = Annotated[_Tree, Depends(_tree)]


@router.get("/code")
def worktrees(request: Request, desk: At) -> HTMLResponse:
    """List what is indexed."""
    rows = desk.run(coding.worktrees(desk.ledger.tenant, limit=_MOST))
    return desk.page(request, "code", trees=rows)


@router.get("/code/{repository}/{worktree}/")
def repository(
    request: Request, desk: At, tree: Tree, *, q: str = "", tests: str = "", budget: int = 1600
) -> HTMLResponse:
    """Search a worktree; without a question, show its map."""
    wanted = {"": None, "yes": True, "no": False}.get(tests)
    # One for all searches: it remembers what the worktree has in common.
    finder = desk.kept.get(("finder", tree.address), lambda: Finder(keys=tree.keys))
    question = q.strip()
    found = (
        desk.run(finder.find(question, k=_HITS, tests=wanted, explain=True)) if question else None
    )
    if "hx-request" in request.headers:
        return desk.page(request, "code_hits", tree=tree, found=found, budget=_known(budget))
    languages, remarks = desk.run(coding.overview(tree.keys))
    return desk.page(
        request,
        "repository",
        tree=tree,
        q=q,
        tests=tests,
        found=found,
        budget=_known(budget),
        languages=languages,
        remarks=remarks,
    )


@router.get("/code/{repository}/{worktree}/map")
def draw_map(request: Request, desk: At, tree: Tree, budget: int = 1600) -> HTMLResponse:
    """Show the definitions that the rest mentions most, as an agent is given them."""
    chosen = _known(budget)
    try:
        files = desk.run(mapped(tree.keys, budget=chosen))
    except RepositoryError:  # nothing but texts
        files = {}
    return desk.page(request, "code_map", tree=tree, files=files, budget=chosen, budgets=_BUDGETS)


@router.get("/code/{repository}/{worktree}/definition")
def definition(request: Request, desk: At, tree: Tree, path: str, number: int = 0) -> HTMLResponse:
    """Show a definition, what it refers to, and what refers to it; or a whole file."""
    found = desk.run(coding.code_file(tree.keys, path.replace("\x00", "")))
    if found is None or not 0 <= number < len(found.definitions):
        raise HTTPException(404, "The index has no such definition; the file may have changed.")
    forward, backward = _neighbours(desk, tree, path, number)
    text = found.text if number == 0 else found.lines_of(number)
    return desk.page(
        request,
        "definition",
        tree=tree,
        file=found,
        this=found.definitions[number],
        text=text[:_LONGEST],
        length=len(text),
        forward=forward,
        backward=backward,
        most=_EDGES,
    )


def _neighbours(
    desk: Desk, tree: _Tree, path: str, number: int
) -> tuple[list[coding.Neighbour], list[coding.Neighbour]]:
    return desk.run(coding.neighbours(tree.keys, (path, number)))


def _known(budget: int) -> int:
    return budget if budget in _BUDGETS else _BUDGETS[1]
