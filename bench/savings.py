"""What briefs save on 32 customers of 1,539,264 tokens, and one of 57,141 tokens at a tight budget.

    python bench/savings.py [--work DIR] [--seed 1]

The branches are filled with notes of the shapes in `vault_shapes` (status, boxes, people, meetings) until
they reach their tokens. For the default budget it prints source tokens, brief tokens and the ratio. For
the tight one, `get_brief(branch, budget=1800)`, it prints the cost of the whole text and whether the
newest status, every urgent box and every fact are in it. Exits with 1 if a target is missed.
"""

import argparse
import sys
import tempfile
from datetime import date
from pathlib import Path

from vault_shapes import Planned, Prose, blocks_of
from vault_words import MEETINGS

from workingset_mcp.answers.answer import printed
from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

BRANCHES = 32
ALL_TOKENS = 1_539_264
ONE_BRANCH_TOKENS = 57_141
TIGHT_BUDGET = 1_800
LEAST_RATIO = 18
NEWEST_DAY = date(2026, 6, 20)
URGENT = ("the mill waits for our offer", "the test tenant is down")
FACTS = ("developers in all: 412, seats ordered: 380", "the region of the data is Zurich")
_CONTEXT = ("index", "open-items", "people", "architecture")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        root = Path(folder) / "vault"
        prose = Prose(given.seed, BRANCHES)
        other = (ALL_TOKENS - ONE_BRANCH_TOKENS) // (BRANCHES - 1)
        for number in range(BRANCHES):
            write_branch(prose, root, f"cust/c{number:02}", other if number else ONE_BRANCH_TOKENS)
        workspace = Workspace(root, Settings(index_dir=str(Path(folder) / "index")))
        workspace.build()
        missed = [*_default_budget(workspace), *_tight_budget(workspace)]
        workspace.close()
    for one in missed:
        print(f"missed: {one}")
    sys.exit(bool(missed))


def write_branch(prose: Prose, root: Path, branch: str, tokens: int) -> None:
    """Write notes of a customer until they reach this many tokens (or a few more)."""
    name = prose.spare.pop().capitalize()
    used = 0
    for kind in _CONTEXT:
        note = Planned(f"{branch}/{kind}.md", kind, name, NEWEST_DAY, 1_500)
        text = _text(prose, note)
        if kind == "index":
            text += "\n## Facts\n\n" + "".join(f"- Fact: {fact}\n" for fact in FACTS)
        if kind == "open-items":
            text += "\n" + "".join(f"- [ ] **[URGENT]** {what}\n" for what in URGENT)
        used += _write(root, note, text)
    while used < tokens - 900:
        day = prose.day_near(NEWEST_DAY, 500, -1)
        topic = f"{prose.chance.choice(MEETINGS)}-{used}"
        note = Planned(
            f"{branch}/meetings/{day.isoformat()}-{topic}.md", "meeting", name, day, 2_500
        )
        used += _write(root, note, _text(prose, note))
    last = Planned(f"{branch}/meetings/2024-01-09-rest.md", "meeting", name, NEWEST_DAY, 0)
    rest = "# Rest\n\n"
    while used + count_tokens(rest) < tokens:
        rest += f"{prose.sentence()}\n"
    _write(root, last, rest)


def _text(prose: Prose, note: Planned) -> str:
    return f"# {note.subject}\n\n" + "\n\n".join(blocks_of(prose, note)) + "\n"


def _write(root: Path, note: Planned, text: str) -> int:
    path = root / note.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return count_tokens(text)


def _default_budget(workspace: Workspace) -> list[str]:
    sources = briefs = 0
    for branch in workspace.branches():
        _, source, brief = workspace.brief_numbers(branch)
        sources, briefs = sources + source, briefs + brief
    ratio = sources / briefs
    print(
        f"{BRANCHES} branches, budget {workspace.settings.brief_budget:,}: {sources:,} tokens become"
        f" {briefs:,}, {briefs // BRANCHES:,} a branch: {ratio:.1f} times less"
    )
    return [] if ratio >= LEAST_RATIO else [f"ratio {LEAST_RATIO}"]


def _tight_budget(workspace: Workspace) -> list[str]:
    _, source, usual = workspace.brief_numbers("cust/c00")
    text = printed(workspace.brief("cust/c00", TIGHT_BUDGET))
    tokens = count_tokens(text)
    index = (workspace.vault.root / "cust/c00/index.md").read_text(encoding="utf-8")
    status = next(line for line in index.splitlines() if "STATUS" in line)
    wanted = {"the newest status": (status,), "urgent boxes": URGENT, "facts": FACTS}
    held = {what: all(line in text for line in lines) for what, lines in wanted.items()}
    print(
        f"one branch of {source:,} tokens: {usual:,} by default;"
        f" {tokens:,} at budget={TIGHT_BUDGET:,}, with"
        f" {', '.join(what for what, is_held in held.items() if is_held)}"
    )
    over = [] if tokens <= TIGHT_BUDGET else [f"{tokens:,} tokens at budget={TIGHT_BUDGET:,}"]
    return over + [what for what, is_held in held.items() if not is_held]


if __name__ == "__main__":
    main()
