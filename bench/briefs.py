"""Briefs of every branch of real vaults: cost, savings, and violations.

    python bench/briefs.py VAULT … [--budget 8000 --budget 2000]

Prints one row per vault and budget: branches, notes, source tokens, mean brief tokens per branch, the
ratio, seconds for all briefs with a warm index, briefs over budget (the whole text counted with the
package's table), lines whose source mark points at the wrong line, and headings with an ISO-like date
that the index neither dated nor remarked. The vaults are only read. Not here: what a brief should
contain (`tests/answers/brief`).
"""

import argparse
import re
import sys
import time
from pathlib import Path

from workingset_mcp.answers.answer import printed
from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.answers.counting import tokens_of
from workingset_mcp.notes.markdown import split_lines
from workingset_mcp.workspace.facade import Workspace

_MARKED = re.compile(r"^(?P<text>.+) _\[(?P<path>[^\n]+?):(?P<line>\d+)(?:(?:, | · )[^\n]+)?\]_$")
_DATED_HEADING = re.compile(r"^#{1,6}\s.*?(?<!\d)(20\d\d)[-/.](\d\d)[-/.](\d\d)(?!\d)")
_WORD = re.compile(r"\w+")
_HEADER = (
    "| vault | budget | branches | notes | source tokens | brief tokens | a branch | ratio | seconds"
    " | over | false marks | dates lost |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("vaults", type=Path, nargs="+")
    parser.add_argument("--budget", type=int, action="append")
    given = parser.parse_args()
    print(_HEADER, "|---" * 12 + "|", sep="\n")
    wrong = 0
    for vault in given.vaults:
        workspace = Workspace(vault)
        workspace.build()
        lost = _dates_lost(workspace)
        notes, sources = _sources(workspace)
        for budget in given.budget or [workspace.settings.brief_budget]:
            branches = workspace.branches()
            started = time.perf_counter()
            briefs = {branch: printed(workspace.brief(branch, budget)) for branch in branches}
            seconds = time.perf_counter() - started
            tokens = [count_tokens(text) for text in briefs.values()]
            over = sum(cost > budget for cost in tokens)
            false = sum(_false_marks(vault, text) for text in briefs.values())
            wrong += over + false
            print(
                f"| {vault.name} | {budget:,} | {len(branches)} | {notes:,} | {sources:,}"
                f" | {sum(tokens):,} | {sum(tokens) // len(tokens):,}"
                f" | {sources / sum(tokens):.1f} | {seconds:.2f} | {over} | {false} | {lost} |"
            )
        workspace.close()
    sys.exit(bool(wrong))


def _sources(workspace: Workspace) -> tuple[int, int]:
    """Count the notes of the vault and their tokens."""
    with workspace.index.snapshot() as snapshot:
        notes = [note for note in snapshot.notes() if note.kind == "note"]
        return len(notes), sum(tokens_of(snapshot, workspace.index, notes).values())


def _false_marks(vault: Path, brief: str) -> int:
    """Lines of a brief whose words are not all on the line their source mark names."""
    false = 0
    for line in brief.splitlines():
        if marked := _MARKED.match(line):
            text = (vault / marked["path"]).read_text(encoding="utf-8", errors="replace")
            source = split_lines(text)[int(marked["line"]) - 1]
            said = _WORD.findall(marked["text"].replace("\\", ""))
            false += not set(said[-6:]) <= set(_WORD.findall(source.replace("\\", "")))
    return false


def _dates_lost(workspace: Workspace) -> int:
    """Headings with a valid date that no section and no remark of the note mentions."""
    lost = 0
    with workspace.index.snapshot() as snapshot:
        for note in snapshot.notes():
            known = {section.date for section in snapshot.sections(note.id)}
            known |= {unit.date for unit in note.units} | {note.date}
            told = " ".join(remark.text for remark in note.remarks)
            for section in snapshot.sections(note.id):
                found = _DATED_HEADING.match(section.text) if section.level else None
                day = "-".join(found.groups()) if found else ""
                lost += bool(day) and day not in known and day not in told
    return lost


if __name__ == "__main__":
    main()
