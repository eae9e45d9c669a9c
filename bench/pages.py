"""Check that joined pages of full context equal the notes, and that an edit between pages is reported.

    python bench/pages.py VAULT... [--budgets 500 5000 20000]

Works on a copy of each vault. For every branch and budget it follows the printed calls to the end and
compares the joined text (SHA-256) with the files. Then, in every branch of several pages, it edits a
note between two pages. An edit in the branch must be reported, with no notes shown; an edit in another
branch must not matter. Not here: how pages are made (`answers/full`).
"""

import argparse
import ast
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from workingset_mcp.answers.answer import printed
from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.notes.note import decode
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

EDIT_BUDGET = 1_000
_BLOCK = re.compile(
    r"### (?P<path>.+?)(?::\d+(?:-\d+)?)? · (?:undated|[\d-]+)"
    r"(?P<note> · empty| · no line end behind the last line)?\n"
)
_NEXT = re.compile(r"^next: (query_full_context\(.*\))$", re.MULTILINE)


class Joined(NamedTuple):
    """The text of each note, joined from the pages of a branch."""

    texts: dict[str, str]
    pages: int
    tokens: int
    over_budget: int


def blocks_of(page: str) -> Iterator[tuple[str, str]]:
    """Path and text of each block of a page, parsed from the printed format alone."""
    at = page.find("\n### ") + 1
    while at and at < len(page):
        head = _BLOCK.match(page, at)
        if head is None:
            raise ValueError(f"no block: {page[at : at + 80]!r}")
        at = head.end()
        if head["note"] == " · empty":
            yield head["path"], ""
            continue
        fence = page[at : page.index("\n", at) + 1]
        begin = at + len(fence)
        end = page.index(fence, begin)
        text = page[begin:end]
        yield head["path"], text.removesuffix("\n") if head["note"] else text
        at = end + len(fence)


def next_call(page: str) -> dict[str, Any] | None:
    """Arguments of the call that a page prints for the next one; None on the last page."""
    found = _NEXT.search(page[: page.find("\n### ") + 1])
    if found is None:
        return None
    call = ast.parse(found[1], mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(given.arg): ast.literal_eval(given.value) for given in call.keywords}


def joined(workspace: Workspace, branch: str, budget: int) -> Joined:
    """Fetch all pages of a branch."""
    texts: dict[str, str] = {}
    pages = tokens = over = 0
    asked: dict[str, Any] | None = {"branch": branch}
    while asked is not None:
        page = printed(workspace.full(**asked, budget=budget))
        spent = count_tokens(page)
        pages, tokens, over = pages + 1, tokens + spent, over + (spent > budget)
        for path, text in blocks_of(page):
            texts[path] = texts.get(path, "") + text
        asked = next_call(page)
    return Joined(texts, pages, tokens, over)


def digest_of(texts: dict[str, str]) -> str:
    """Return one digest of all notes."""
    digest = hashlib.sha256()
    for path in sorted(texts):
        digest.update(f"{path}\0{texts[path]}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def on_disk(workspace: Workspace, branch: str) -> dict[str, str]:
    """Read the notes of a branch from the files."""
    root, indexed = workspace.vault.root, workspace.known_paths()
    paths = [path for path in indexed if workspace.vault.branch_of(path) == branch]
    return {path: decode((root / path).read_bytes())[0] for path in paths}


def compare(workspace: Workspace, budget: int) -> str:
    """Make a table row: every branch of a vault at one budget."""
    began = time.process_time()
    equal = pages = tokens = over = notes = 0
    branches = workspace.branches()
    for branch in branches:
        expected, found = on_disk(workspace, branch), joined(workspace, branch, budget)
        equal += digest_of(expected) == digest_of(found.texts)
        notes, pages = notes + len(expected), pages + found.pages
        tokens, over = tokens + found.tokens, over + found.over_budget
    took = time.process_time() - began
    return (
        f"| {workspace.vault_name} | {budget:,} | {len(branches)} | {notes:,} | {pages:,}"
        f" | {tokens:,} | {equal} of {len(branches)} | {over} | {took / pages * 1e3:.0f} |"
    )


def page_after_edit(workspace: Workspace, branch: str, call: dict[str, Any]) -> str:
    """Ask for a page while a note has one more line."""
    file = workspace.vault.root / max(on_disk(workspace, branch))
    before = file.read_bytes()
    file.write_bytes(before + b"\nOne more line.\n")
    page = printed(workspace.full(**call, budget=EDIT_BUDGET))
    file.write_bytes(before)
    return page


def edit(workspace: Workspace) -> str:
    """Make a table row: edits between the first two pages of every branch with at least two."""
    asked = said = shown = elsewhere = went_on = 0
    branches = workspace.branches()
    for branch in branches:
        following = next_call(printed(workspace.full(branch, budget=EDIT_BUDGET)))
        if following is None:
            continue
        page = page_after_edit(workspace, branch, following)
        asked, said = asked + 1, said + ("changed since page 1" in page.partition("\n")[0])
        shown += "\n### " in page
        other = next((name for name in branches if name != branch), None)
        if other is None:
            continue
        page = page_after_edit(workspace, other, following)
        elsewhere, went_on = elsewhere + 1, went_on + (" · page 2 of " in page.partition("\n")[0])
    return f"| {workspace.vault_name} | {asked} | {said} | {shown} | {elsewhere} | {went_on} |"


def main(words: Sequence[str] | None = None) -> None:
    """Compare the vaults named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("vaults", nargs="+", type=Path, metavar="VAULT")
    parser.add_argument("--budgets", nargs="+", type=int, default=[500, 5_000, 20_000])
    chosen = parser.parse_args(words)
    rows, edits = [], []
    for vault in chosen.vaults:
        with tempfile.TemporaryDirectory() as folder:
            root = shutil.copytree(vault.resolve(), Path(folder) / vault.resolve().name)
            settings = Settings(heavy_limit=1 << 40, index_dir=str(Path(folder) / "index"))
            with closing(Workspace(root, settings)) as workspace:
                workspace.build()
                workspace.count_all_tokens()
                rows += [compare(workspace, budget) for budget in chosen.budgets]
                edits.append(edit(workspace))
    print(
        "| vault | budget | branches | notes | pages | tokens | equal | over budget | ms a page |"
    )
    print("|---|---|---|---|---|---|---|---|---|", *rows, sep="\n")
    print("\n| vault | edits inside | reported | text shown | edits elsewhere | went on |")
    print("|---|---|---|---|---|---|", *edits, sep="\n")


if __name__ == "__main__":
    main()
