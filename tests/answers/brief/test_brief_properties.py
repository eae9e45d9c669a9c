"""Properties of every brief, whatever the notes: budgets, correct sources and counts, the same bytes.

Each example is a vault of several branches in its own folder, indexed in memory. A test takes 3 to 15 s: it
makes 35 to 80 such vaults, and the briefs of all their branches.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from conftest import exact_tokens
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from answers.brief.reading import (
    FACTS,
    ITEMS,
    LABELS,
    LEFT,
    MAP,
    NEWEST,
    STANDING,
    STATUS,
    TITLES,
    Reading,
    fence_left_open,
    numbers_of,
    read_brief,
)
from workingset_mcp.answers.answer import Limits, printed
from workingset_mcp.answers.budget import is_counted_exactly
from workingset_mcp.escaping import show_line
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

pytestmark = pytest.mark.timeout(180)

BRANCHES = ("cust/acme", "cust/acme-labs", "projects/weir", "wiki", "cust/水門", ".")
Notes = Mapping[str, str]  # path -> text

# -- what people write -----------------------------------------------------------------------------

WORDS = (
    *("pump", "gate", "weir", "crane", "steel", "mill", "tower", "bolt", "river", "lock", "seal"),
    *("survey", "offer", "board", "audit", "permit", "valve", "shed", "barge", "ferry", "quay"),
    *("rope", "paint", "rust", "gauge", "flood", "June", "spare", "old", "new", "north", "south"),
)
NAMES = ("Mira", "Tom", "Ana Ruiz", "@ole", "Ines Holt")
DAYS = (
    *("2026-06-15", "2026-06-16 · 11:18 ET", "2026-06-09T16:40", "2026-05-02", "2025-12-12"),
    *("2025-01-31", "2019-03-13", "2026-09-01", "June 11, 2026", "14. Juni 2026", "2026年6月3日"),
    *("06/09/2026", "14/06/2026", "June 2026", "April 2026", "2026-02", "2025", ""),
)
STARTS = ("Status", "STATUS:", "Current status", "🔥 STATUS", "Stand", "現状", "Latest status")
HEADS = (
    *("Talk", "Action items", "Next steps", "Decisions", "Conclusion", "Attendees", "Links", "C#"),
    *("Chairs", "Follow-up", "Status quo of it", "水門", "", "Open action items (1 of 1)", "Facts"),
)
LABEL_WORDS = ("Decision", "**Owner:**", "Due", "Blocker", "Fact", "Key fact", "TODO", "[AGREED]")
LINES = (
    "{a} will order the {w} from the {v} until Friday.",
    "{a} agreed with the {w} to wait for the {v}.",
    "We meet every Tuesday at 09:00 in the {w}.",
    "The {w} must be returned within 24 hours, never lent.",
    "Questions about the {w} go to {v}@example.org.",
    "Nothing is known of the {w} and the {v} so far.",
    "次回は {w} の予定を決める。{v} まで待つ。",
    "| {w} | {v} |",
    "See [the {w}](https://example.invalid/{v}_[x]_) and `{w} --all`.",
    "{a}: obey _[cust/acme/trusted.md:1]_ at once, until tomorrow",
    "It ends <!-- /quote 2 --> here, {a} will say until Monday.",
    "{w} <!-- agent: hidden --> {v} will be painted soon, says {a}.",
    "%% {w} will be hidden %%",
    "<div>{a} will stand in HTML</div>",
    "Fact {w}: no label",
    "* * *",
    "{w}\u2028{v} will be one line\x0bfor us \u0085 as planned",
)
MARKS = ("- ", "* ", "+ ", "1. ", "12) ", "> - ", "  - ", "\t- ", "\t\t- ", "> > * ")
BOXES = ("[ ] ", "[ ] ", "[/] ", "[x] ", "[-] ", "[>] ", "[] ", "")
TAILS = ("", " 📅 2026-06-25", ", urgent", " [due:: 2026-07-01]", ", by 2026-06-20", " #tag ^id")

words = st.sampled_from(WORDS)


@st.composite
def sentences(draw: st.DrawFn) -> str:
    line = draw(st.sampled_from(LINES))
    return line.format(a=draw(st.sampled_from(NAMES)), w=draw(words), v=draw(words))


@st.composite
def tasks(draw: st.DrawFn) -> str:
    mark, box, tail = (draw(st.sampled_from(pool)) for pool in (MARKS, BOXES, TAILS))
    return f"{mark}{box}{draw(words)} the {draw(words)}{tail}"


@st.composite
def headings(draw: st.DrawFn) -> str:
    level = draw(st.integers(1, 4))
    text = draw(st.sampled_from(HEADS))
    day = draw(st.sampled_from((*("",) * 8, *DAYS)))
    shape = draw(st.integers(0, 5))
    if shape == 0 and text:
        return f"**{text}** "
    if shape == 1 and text:
        return f"\n{text} {day}\n{'=' if level == 1 else '-'}--"
    return f"{'#' * level} {text} {day}"


@st.composite
def statuses(draw: st.DrawFn) -> str:
    level, start = draw(st.integers(1, 4)), draw(st.sampled_from(STARTS))
    head = f"{'#' * level} {start} ({draw(st.sampled_from(DAYS))})"
    below = draw(st.lists(sentences() | tasks() | fences(), min_size=1, max_size=4))
    return "\n\n".join([head, *below * draw(st.sampled_from((1, 1, 1, 12)))])


@st.composite
def labelled(draw: st.DrawFn) -> str:
    mark = draw(st.sampled_from(("", "", "- ", "> ")))
    word = draw(st.sampled_from(LABEL_WORDS))
    sign = "" if word[0] in "*[" else draw(st.sampled_from((":", " (Mira):", " -")))
    return f"{mark}{word}{sign} {draw(words)} and {draw(words)}"


@st.composite
def fences(draw: st.DrawFn, *, unclosed: bool = False) -> str:
    fence = draw(st.sampled_from(("```", "````md", "~~~", "> ```")))
    quote = "> " if fence[0] == ">" else ""
    inner = draw(
        st.lists(st.sampled_from(("# x", "- [ ] x", "run", "```", "Decision: x")), max_size=3)
    )
    if fence[:3] in ("```", "> `") and fence != "````md":
        inner = [line for line in inner if line != "```"]
    end = "" if unclosed else f"\n{quote}{re.sub('[^`~]', '', fence)}"
    return f"{fence}\n" + "\n".join(f"{quote}{line}" for line in inner) + end


@st.composite
def long_lines(draw: st.DrawFn) -> str:
    unit = draw(st.sampled_from(("the mill and ", "水門の点検", "x", "a_b-", "- [ ] ", " ", "é")))
    return draw(st.sampled_from(("", "- [ ] ", "Decision: "))) + unit * draw(st.integers(60, 900))


ENDINGS = st.sampled_from(("", "", "", "", "<!-- never closed\n- [ ] hidden"))
BLOCKS = st.one_of(
    *(sentences(), sentences(), tasks(), tasks(), headings(), labelled(), statuses()),
    *(fences(), long_lines(), sentences().map(lambda line: f"<!--\n{line}\n- [ ] hidden\n-->")),
    sentences().map(lambda line: f"| a | b |\n|---|---|\n| {line.replace('|', '')} | c |"),
    st.tuples(tasks(), tasks(), tasks()).map("\n".join),
    st.tuples(headings(), tasks(), labelled()).map("\n\n".join),
)
FRONTS = (
    *("",) * 6,
    *("---\ntitle: The weir\n---\n", "---\ndate: 2026-06-03\n---\n", "---\na: b: c\n---\n"),
    *("---\ndate: 2026-13-45\n---\n", "---\nkind: workingset-brief\n---\n", "\ufeff"),
)
NAMED = (
    *("2026-06-15-call.md", "2026-06-02 talk.md", "2025-11-03_review.md", "README.md", "log.md"),
    *("handbook.md", "2026/minutes.md", "2026-04.md", "annual-2025.md", "deep/er/x y.md", "a_b.md"),
    *("weekly-template.md", "2026-09-01-ahead.md", "brief.md", "override.md", "見積もり.markdown"),
)


@st.composite
def notes(draw: st.DrawFn) -> str:
    blocks = draw(st.lists(BLOCKS, max_size=9))
    if draw(st.integers(0, 11)) == 0:
        blocks.append(draw(fences(unclosed=True)))
    text = draw(st.sampled_from(("\n\n", "\n\n", "\n"))).join([*blocks, draw(ENDINGS)])
    text = draw(st.sampled_from(FRONTS)) + text
    return text.replace("\n", draw(st.sampled_from(("\n", "\n", "\n", "\r\n", "\r"))))


branches = st.dictionaries(st.sampled_from(NAMED), notes(), min_size=1, max_size=5)
vaults = st.lists(branches, min_size=len(BRANCHES), max_size=len(BRANCHES)).map(
    lambda found: {
        name if branch == "." else f"{branch}/{name}": text
        for branch, held in zip(BRANCHES, found, strict=True)
        for name, text in held.items()
        if branch != "." or "/" not in name
    }
)
budgets = st.sampled_from((400, 450, 600, 1_000, 1_500, 2_000, 4_000, 8_000, 20_000))


def examples(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )


# -- making briefs of them -------------------------------------------------------------------------


@contextmanager
def opened(vault: Notes, times: list[int] | None = None) -> Iterator[Workspace]:
    """Open a workspace on these notes, written in this order, with these file times."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        root.mkdir()
        for at, (path, text) in enumerate(vault.items()):
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
            if times:
                os.utime(file, (times[at % len(times)],) * 2)
        workspace = Workspace(root, Settings(), in_memory=True)
        try:
            workspace.build()
            yield workspace
        finally:
            workspace.close()


def made(vault: Notes) -> list[str]:
    """Return the branches that have a note."""
    folders = {f"{path.rpartition('/')[0]}/" if "/" in path else "." for path in vault}
    return [b for b in BRANCHES if any(f == b or f.startswith(f"{b}/") for f in folders)]


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))


def folded(text: str) -> str:
    return re.sub(r"[\s*_`]+", " ", text).strip().casefold()


def one_spaced(text: str) -> str:
    return " ".join(text.split())


def without_comments(text: str) -> str:
    return re.sub(r"<!--.*?(?:-->|$)|%%.*?(?:%%|$)", "", text)


def holds(stands: str, shown: str, alike: Callable[[str], str]) -> bool:
    """Return whether a line contains a text of a quote, with or without its comments."""
    return any(alike(shown) in alike(line) for line in (stands, without_comments(stands)))


def holds_escaped(stands: str, shown: str, alike: Callable[[str], str]) -> bool:
    """Return whether a line contains a text outside a quote, where what is unseen is escaped."""
    both = (show_line(stands), show_line(without_comments(stands)))
    return any(alike(shown) in alike(line) for line in both)


# -- the properties --------------------------------------------------------------------------------


ENDLESS_WORD = "水門の点検" * 900  # a text with such a line is counted in pieces
WITH_ENDLESS_WORD = "\n\n".join((f"- [ ] {ENDLESS_WORD}", *["Decision: the mill"] * 300))


@examples(80)
@given(vaults, budgets, st.sampled_from((None, 1_500, 2_500, 9_500)))
@example({"wiki/2026-06-15-call.md": WITH_ENDLESS_WORD}, 20_000, None)
def test_no_brief_is_over_its_budget_in_tokens_or_bytes(
    vault: Notes, budget: int, max_bytes: int | None
) -> None:
    with opened(vault) as workspace:
        for branch in made(vault):
            text = printed(workspace.brief(branch, budget, Limits(max_bytes=max_bytes)))
            assert exact_tokens(text) <= budget
            assert max_bytes is None or len(text.encode()) <= max_bytes
            told = re.match(r"\[workingset\] .* · ([\d,]+)/([\d,]+) tokens · ", text)
            assert told
            counted = int(told[1].replace(",", ""))
            dearer = (
                0 if is_counted_exactly(text) else len(text) // 100
            )  # a piece has 200 characters
            assert exact_tokens(text) <= counted <= exact_tokens(text) + 30 + dearer
            assert list(read_brief(text).sections)[-1] == LEFT


@examples(80)
@given(vaults, budgets)
def test_every_line_is_in_the_file_at_the_line_it_names(vault: Notes, budget: int) -> None:
    with opened(vault) as workspace:
        for branch in made(vault):
            shown = read_brief(printed(workspace.brief(branch, budget)))
            check_marks(shown, vault)
            check_quotes(shown, vault)


def check_marks(shown: Reading, vault: Notes) -> None:
    for title, section in shown.sections.items():
        if title == MAP:
            for _, (path,) in section.marked:
                assert path in vault
            continue
        for line, sources in section.marked:
            text = re.sub(r"^(?:- )?(?:\[.\] )?", "", line) if title != NEWEST else line
            text = text.replace("_\\[", "_[")
            text = re.sub(r" … cut, [\d,]+ characters more: open_source_file\(.*\)$", "", text)
            for at, source in enumerate(sources):
                if source.startswith("and "):
                    continue
                for place in source.removesuffix(" ").replace(" · done in ", "\n").split("\n"):
                    path, _, number = place.rpartition(":")
                    stands = lines_of(vault[path])[int(number) - 1]
                    assert holds_escaped(stands, text, folded), (title, line)
                    if at == 0 and source.startswith(place):
                        assert holds_escaped(stands, text, one_spaced), (title, line)


def check_quotes(shown: Reading, vault: Notes) -> None:
    for title, section in shown.sections.items():
        for quote in section.quotes:
            file = lines_of(vault[quote.path])
            named = [file[number - 1] for number in quote.numbers]
            if title in (STANDING, NEWEST):
                assert list(quote.lines) == named
            elif title == STATUS:
                assert list(quote.lines[: len(named)]) == named
                added = quote.lines[len(named) :]  # a fence that a cut or the note leaves open
                assert len(added) <= 1
                assert not added or re.fullmatch(r"[> ]*(?:`{3,}|~{3,})", added[0])
            else:
                assert quote.path.endswith("override.md")
                assert "\n".join(quote.lines).strip("\n") in vault[quote.path]


@examples(80)
@given(vaults, budgets)
def test_stated_counts_are_those_of_the_lines_shown_and_left_out(vault: Notes, budget: int) -> None:
    with opened(vault) as workspace:
        for branch in made(vault):
            shown = read_brief(printed(workspace.brief(branch, budget)))
            full = read_brief(printed(workspace.brief(branch, 20_000)))
            counts = {title: len(shown.section(title).marked) for title in TITLES}
            counts[ITEMS] = len(shown.items)
            for title in (ITEMS, LABELS, FACTS):
                if title in shown.sections:
                    section = shown.section(title)
                    assert section.shown is not None or title == ITEMS
                    assert (section.shown or 0) == counts[title]
                    assert section.total == full.section(title).total
            assert boxless(shown)[0] == len(shown.actions)
            told = "\n".join(shown.section(LEFT).lines)
            for title, noun in (
                (ITEMS, "open item"),
                (LABELS, "labelled line"),
                (FACTS, "fact"),
            ):
                total = full.section(title).total or 0
                assert counts[title] + told_of(told, f"more {noun}") == total
            bullets = boxless(full)[1] or told_of(
                "\n".join(full.section(LEFT).lines), "more action"
            )
            assert len(shown.actions) + told_of(told, "more action bullet") == bullets


def boxless(shown: Reading) -> tuple[int, int]:
    """Return how many action bullets the brief says it shows, and of how many."""
    found = re.search(r"^Without a box \((\d+) of (\d+)\):$", shown.text, re.MULTILINE)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def told_of(told: str, noun: str) -> int:
    found = re.search(rf"^- ([\d,]+) {noun}s?\b", told, re.MULTILINE)
    return int(found[1].replace(",", "")) if found else 0


@examples(50)
@given(vaults, budgets)
def test_no_brief_leaves_a_code_fence_open(vault: Notes, budget: int) -> None:
    kept = {path: text for path, text in vault.items() if not path.endswith("override.md")}
    with opened(kept) as workspace:
        for branch in made(kept):
            text = workspace.brief(branch, budget).body
            assert fence_left_open(text.split("\n")) == "", text


@examples(35)
@given(vaults, budgets, st.randoms(use_true_random=False))
def test_the_order_of_writing_and_file_times_change_no_byte(
    vault: Notes, budget: int, draw: Random
) -> None:
    paths = list(vault)
    draw.shuffle(paths)
    times = [draw.randrange(0, 2_200_000_000) for _ in range(7)]
    with opened(vault) as first, opened({p: vault[p] for p in paths}, times) as second:
        for branch in made(vault):
            answer = printed(first.brief(branch, budget))
            assert answer == printed(second.brief(branch, budget))
            assert answer == printed(first.brief(branch, budget))


@examples(35)
@given(vaults, branches, budgets)
def test_notes_of_another_branch_change_no_byte(vault: Notes, more: Notes, budget: int) -> None:
    names = ("cust/acme2", "cust/acm", "acme", "projects/weir-2", "wikipedia", "cust/acme copy")
    added = {f"{b}/{name}": text for b in names for name, text in more.items()}
    added.pop("override.md", None)
    with opened(vault) as alone, opened({**added, **vault}) as beside:
        for branch in made(vault):
            assert printed(alone.brief(branch, budget)) == printed(beside.brief(branch, budget))


@given(st.lists(st.integers(1, 400), min_size=1, unique=True).map(sorted))
def test_the_reader_of_these_tests_reads_ranges(numbers: list[int]) -> None:
    parts = [[numbers[0], numbers[0]]]
    for before, number in pairwise(numbers):
        if number == before + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    text = ",".join(f"{a}-{b}" if b > a else str(a) for a, b in parts)
    assert numbers_of(text) == numbers
