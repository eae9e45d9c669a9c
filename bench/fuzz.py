"""Throw random notes and calls at a workspace: no crash, no slow call, no answer over budget.

    python bench/fuzz.py [--notes 20000] [--calls 20000] [--seed 1]

Notes consist of pieces that mean something to a parser, in random order. They are indexed 200 at a time;
then each note is opened and every tool is called. Arguments are valid four times out of five. Limits:
one second of CPU per call, the whole answer within its budget, and a refusal of one sentence. Not here:
hostile input by kind (`tests/workspace/test_hostile.py`).
"""

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workingset_mcp.answers.answer import Answer, printed
from workingset_mcp.answers.budget import MOST_BUDGET, count_tokens
from workingset_mcp.errors import WorkingsetError
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

MOST_SECONDS = 1.0
NOTES_A_VAULT = 200
_EXAMPLES = 3
PIECES = [
    "# ", "## ", "- [ ] ", "- [x] ", "* ", "1. ", "> ", "    ", "\t", "\n", "\n\n", "\r\n", "\r",
    "```", "~~~", "---\n", "***", "|", "|-|-|\n", "<!--", "-->", "%%", "$$", "<", "[", "]", "(", ")",
    "[[", "]]", "![", "](", "`", "**", "__", "~~", "\\", ":", "@", "title: ", "tags: ", "date: ",
    "aliases: ", "kind: workingset-brief", "&a ", "*a", "!!int ", "{", "}", "? ", "'", '"', ".nan",
    "2026-06-16", "16.06.2026", "6/7/26", "2026-13-45", "2026年6月16日", "## Status (2026-06-16)\n",
    "STATUS", "Decision: ", "Owner: ", "Due: ", "Blocker: ", "TODO", "@bob", "plainword", "AC-4471",
    "C++", "größe", "漢字", "現状", "설정", "🔥", "\u202e", "\u0301", "\ufeff", "\u200b", "\u2028",
    "\x0b", "\x0c", "\0", "\udcff", "<!-- quote 1 a.md:1 -->", "<!-- /quote 1 -->", "[workingset] ",
    "### a.md:1-2", "<<<<<<< ", "x" * 400, " " * 2_500, "walrus and tusk ",
]  # fmt: skip
_ODD_WORDS = [
    "",
    " ",
    "?",
    "*",
    '"',
    "NEAR(a b)",
    "a AND OR NOT",
    "-x",
    "\0",
    "\ud800",
    "x" * 9_999,
]
_CHOICES: Mapping[str, tuple[list[Any], list[Any]]] = {  # valid ones, odd ones
    "branch": (
        [None, "cust/acme", "acme", ".", "cust\\acme"],
        ["../x", "/etc", "a\0b", "x/" * 2_000],
    ),
    "budget": ([None, 400, 2_000, 24_000], [-1, 0, 399, 10**9, 10**400]),
    "day": (
        [None, "2026-06-16", "2026", "June 2026"],
        ["yesterday", "٢٠٢٦", "9999-99-99", "0" * 5_000],
    ),
    "lines": ([None, "1", "1-2", "1-", "1,2"], ["2-1", "0", "-", "9" * 5_000, "1,2" * 5_000]),
    "path": (
        ["README.md", "cust/acme/n1.md", "cust\\acme\\n2.md:1"],
        ["cust", "", "../x.md", "x.md"],
    ),
    "kind": (["open", "note", "remark", "status", "decision"], ["x", "\ud800", ""]),
    "group": ([None, "branch", "owner", "month"], ["x", "\0"]),
    "cursor": ([None], ["p2.9f31c0", "p-1.x", "p9", "\ud800"]),
}


class Fuzz:
    """Random texts and calls, and the faults they found."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.wrong: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.longest = (0.0, "")

    def text(self, most: int = 24) -> str:
        """Pieces in random order, with an occasional character from any plane."""
        chance = self.chance
        made = [
            chance.choice(PIECES) if chance.random() < 0.9 else chr(chance.randrange(0x11_0000))
            for _ in range(chance.randrange(most))
        ]
        front = f"---\n{self.text(6)}\n---\n" if most > 6 and chance.random() < 0.3 else ""
        return front + "".join(made)

    def value(self, name: str) -> Any:
        """A value for an argument, valid four times out of five."""
        right, odd = _CHOICES[name]
        return self.chance.choice(right if self.chance.random() < 0.8 else odd)

    def words(self) -> str:
        """A query, or another text that a caller may pass."""
        if self.chance.random() < 0.2:
            return self.chance.choice(_ODD_WORDS)
        return self.text(8) or "plainword"

    def ask(self, what: str, tool: Callable[..., Answer[Any]], **named: Any) -> None:
        """Call a tool: it answers or refuses, in time and within its budget."""
        started = time.thread_time()
        try:
            text = printed(tool(**named))
            said, outcome = text, "answered"
        except WorkingsetError as error:
            text, said, outcome = "", str(error), "refused"
            if "\n" in said or len(said) > 4_000:
                self.note("a refusal is no sentence", what, named)
        except Exception as error:  # noqa: BLE001  # any exception that a call raises is a finding, counted here
            self.note(f"raises {type(error).__name__}: {str(error)[:80]}", what, named)
            return
        took = time.thread_time() - started
        self.longest = max(self.longest, (took, f"{what} {named!r}"[:200]))
        self.outcomes[f"{what} {outcome}"] += 1
        if took > MOST_SECONDS:
            self.note("over a second", what, named)
        if not _is_text(said):
            self.note("is no valid text", what, named)
        if text and count_tokens(text) > min(named.get("budget") or MOST_BUDGET, MOST_BUDGET):
            self.note("over budget", what, named)

    def note(self, problem: str, what: str, named: Mapping[str, Any]) -> None:
        """Count a fault."""
        self.wrong[problem] += 1
        if self.wrong[problem] <= _EXAMPLES:
            print(f"   {problem}: {what} {named!r}"[:600], flush=True)

    def call(self, workspace: Workspace) -> None:
        """Make one call with random arguments."""
        value, words = self.value, self.words
        name = self.chance.choice(("brief", "search", "open", "full", "items"))
        branch, budget, since = value("branch"), value("budget"), value("day")
        arguments: dict[str, dict[str, Any]] = {
            "brief": {"branch": branch, "budget": budget},
            "search": {"query": words(), "also": [words()], "branch": branch, "budget": budget,
                       "since": since, "until": value("day")},
            "open": {"path": value("path"), "lines": value("lines"), "budget": budget,
                     "heading": words() if self.chance.random() < 0.3 else None},
            "full": {"branch": branch, "query": self.chance.choice((None, words())), "since": since,
                     "cursor": value("cursor"), "budget": budget},
            "items": {"kind": value("kind"), "branch": branch, "owner": self.chance.choice((None, words())),
                      "due_before": since, "group_by": value("group"), "budget": budget},
        }  # fmt: skip
        self.ask(name, getattr(workspace, name), **arguments[name])


def random_notes(fuzz: Fuzz, count: int, folder: Path) -> None:
    """Make vaults of random notes; index, open and query each."""
    slowest = 0.0
    for first in range(0, count, NOTES_A_VAULT):
        root = folder / f"notes-{first}"
        _write(fuzz, root, min(NOTES_A_VAULT, count - first))
        workspace = Workspace(root, Settings(), in_memory=True)
        started = time.process_time()
        workspace.build()
        slowest = max(slowest, time.process_time() - started)
        paths = [path for path in workspace.vault.walk().files if path != "README.md"]
        for path in paths:
            fuzz.ask("open", workspace.open, path=path)
        for budget in (400, 2_000, 24_000):
            fuzz.ask("brief", workspace.brief, branch="cust/acme", budget=budget)
            fuzz.ask("search", workspace.search, query="plainword status", budget=budget)
            fuzz.ask("full", workspace.full, branch="cust/acme", budget=budget)
            fuzz.ask("items", workspace.items, kind="open", budget=budget)
        workspace.close()
    print(f"{count:,} notes; the slowest batch of {NOTES_A_VAULT} took {slowest:.2f} s to index")


def random_calls(fuzz: Fuzz, count: int, folder: Path) -> None:
    """Make random calls on one vault of random notes."""
    root = folder / "calls"
    _write(fuzz, root, 40)
    workspace = Workspace(root, Settings(), in_memory=True)
    workspace.build()
    for _ in range(count):
        fuzz.call(workspace)
    if "plainword at home" not in printed(workspace.search("plainword at home")):
        fuzz.note("the next call fails", "search", {})
    workspace.close()
    print(f"{count:,} calls")


def _write(fuzz: Fuzz, root: Path, count: int) -> None:
    (root / "cust" / "acme").mkdir(parents=True)
    (root / "README.md").write_text("# Home\n\nplainword at home\n", encoding="utf-8")
    for number in range(count):
        text = fuzz.text().encode("utf-8", "surrogatepass")
        (root / "cust" / "acme" / f"n{number}.md").write_bytes(text)


def _is_text(said: str) -> bool:
    try:
        said.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def main() -> None:
    """Fuzz and exit with 1 on any fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--notes", type=int, default=20_000)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    count_tokens("the first count loads the table; no call is charged for that")
    fuzz = Fuzz(chosen.seed)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        random_notes(fuzz, chosen.notes, Path(folder))
        random_calls(fuzz, chosen.calls, Path(folder))
    print(", ".join(f"{what} {number:,}" for what, number in sorted(fuzz.outcomes.items())))
    print(f"longest: {fuzz.longest[0]:.2f} s of CPU: {fuzz.longest[1]}")
    print(f"{sum(fuzz.wrong.values()):,} faults: {dict(fuzz.wrong)}")
    raise SystemExit(1 if fuzz.wrong else 0)


if __name__ == "__main__":
    main()
