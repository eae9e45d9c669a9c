"""Full context: joined pages are the notes, whatever the budget; windows, queries, plans, cursors.

`read_page` parses a page, and `pages_of` follows the calls that pages print; other tests use both.
"""

import ast
import os
import re
import shutil
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from conftest import OpenVault, exact_tokens
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from workingset_mcp.answers.answer import Limits, printed
from workingset_mcp.caller import asking
from workingset_mcp.cli.demo import example_vault
from workingset_mcp.errors import ArgumentError
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

_HEADER = re.compile(
    r"\[workingset\] (?P<subject>.+): (?P<about>about )?(?P<tokens>[\d,]+) tokens"
    r" in (?P<notes>[\d,]+) notes?(?:, (?P<oldest>[\d-]+) to (?P<newest>[\d-]+))?"
    r"(?: · page (?P<page>[\d,]+) of (?P<pages>[\d,]+))?"
    r"(?: · (?P<state>a plan, no text|changed since page \d+))?"
    r"(?: · holds invisible characters)?"
    r" · (?P<spent>[\d,]+)/(?P<budget>[\d,]+) tokens · index current"
)
_BLOCK = re.compile(
    r"### (?:(?P<path>.+):(?P<first>\d+)(?:-(?P<last>\d+))? · (?P<date>undated|[\d-]+)"
    r"(?P<unended> · no line end behind the last line)?"
    r"|(?P<empty>.+) · (?P<no_date>undated|[\d-]+) · empty)"
)
_SHARD = re.compile(
    r"- ([\d-]+|undated): ([\d,]+) tokens in ([\d,]+) notes?: (query_full_context\(.*\))"
)
_LINE_END = re.compile(r"\r\n|\n|\r")
BUDGETS = (500, 5_000, 20_000)
MOST_PAGES = 2_000


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of a note as a page shows them."""

    path: str
    first: int
    last: int
    date: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed answer: the values of its first line, the lines below it, its blocks."""

    subject: str
    tokens: int
    exact: bool
    notes: int
    oldest: str
    newest: str
    page: int
    pages: int
    state: str
    spent: int
    notices: tuple[str, ...]
    following_line: str  # the line `next:`
    blocks: tuple[Block, ...]

    @property
    def following(self) -> dict[str, Any] | None:
        """Arguments of the call that the line `next:` prints."""
        return arguments_in(self.following_line) if self.following_line else None

    @property
    def ends_inside(self) -> bool:
        """Whether the next page continues inside the last stretch of this one."""
        return bool(self.following and self.following["cursor"].split(".")[3] != "0")

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks)

    @property
    def paths(self) -> list[str]:
        return list(dict.fromkeys(block.path for block in self.blocks))


def read_page(text: str) -> Page:
    """Parse an answer from its text alone."""
    header, _, rest = text.partition("\n")
    stated = _HEADER.fullmatch(header)
    assert stated, header
    notices: list[str] = []
    following_line = ""
    while rest and not rest.startswith("### "):
        line, _, rest = rest.partition("\n")
        if line.startswith("next: "):
            following_line = line
        else:
            notices.append(line)
    return Page(
        stated["subject"],
        number(stated["tokens"]),
        not stated["about"],
        number(stated["notes"]),
        stated["oldest"] or "",
        stated["newest"] or "",
        number(stated["page"] or "0"),
        number(stated["pages"] or "0"),
        stated["state"] or "",
        number(stated["spent"]),
        tuple(notices),
        following_line,
        tuple(_blocks(rest)),
    )


def _blocks(rest: str) -> Iterator[Block]:
    while rest:
        head, _, rest = rest.partition("\n")
        begun = _BLOCK.fullmatch(head)
        assert begun, head
        if begun["empty"]:
            yield Block(begun["empty"], 0, 0, begun["no_date"], "")
            continue
        fence, _, rest = rest.partition("\n")
        assert re.fullmatch("`{3,}", fence), fence
        inside, closing_fence, rest = rest.partition(f"{fence}\n")
        assert closing_fence, head
        assert fence not in inside
        assert inside.endswith(("\n", "\r")), head
        if begun["unended"]:
            inside = inside.removesuffix("\n")
        first = int(begun["first"])
        yield Block(begun["path"], first, int(begun["last"] or first), begun["date"], inside)


def number(stated: str) -> int:
    return int(stated.replace(",", ""))


def arguments_in(line: str) -> dict[str, Any]:
    """Parse the arguments of the call on a line, as a model would copy them."""
    printed = re.search(r"query_full_context\(.*\)", line)
    assert printed, line
    call = ast.parse(printed[0], mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}


def pages_of(
    workspace: Workspace,
    budgets: int | Iterable[int],
    *,
    max_bytes: int | None = None,
    **arguments: Any,
) -> list[Page]:
    """Read every page by following the printed calls; check the budget and the bytes of each."""
    budgets = cycle((budgets,)) if isinstance(budgets, int) else cycle(budgets)
    limits = Limits(max_bytes=max_bytes) if max_bytes else None
    pages: list[Page] = []
    following: dict[str, Any] | None = arguments
    while following is not None:
        budget = next(budgets)
        text = printed(workspace.full(**following, budget=budget, limits=limits))
        text.encode("utf-8")  # no lone surrogate reaches the wire
        assert exact_tokens(text) <= budget
        assert max_bytes is None or len(text.encode("utf-8")) <= max_bytes
        pages.append(read_page(text))
        assert pages[-1].page == len(pages)
        assert pages[-1].spent >= exact_tokens(text)
        following = pages[-1].following
        assert len(pages) < MOST_PAGES
    assert pages[-1].pages == pages[-1].page
    assert all(page.pages > page.page for page in pages[:-1])
    return pages


def joined(pages: Iterable[Page]) -> dict[str, str]:
    """Join the texts of the notes by path, in the order of the pages."""
    texts: dict[str, str] = {}
    for page in pages:
        for block in page.blocks:
            assert block.path not in texts or block.path == list(texts)[-1], "a note is in parts"
            texts[block.path] = texts.get(block.path, "") + block.text
    return texts


def stretches(pages: Iterable[Page]) -> list[tuple[str, int, str]]:
    """Collect the stretches on the pages as path, first line and text, with their parts joined."""
    found: list[tuple[str, int, str]] = []
    goes_on = False
    for page in pages:
        for block in page.blocks:
            if goes_on:
                path, first, text = found[-1]
                assert block.path == path
                found[-1] = (path, first, text + block.text)
            else:
                found.append((block.path, block.first, block.text))
            goes_on = False
        goes_on = page.ends_inside
    return found


@contextmanager
def open_notes(notes: Mapping[str, bytes], **chosen: Any) -> Iterator[Workspace]:
    """Open a workspace on a vault of these files, indexed in memory."""
    with tempfile.TemporaryDirectory() as folder:
        for path, raw in notes.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(raw)
        with closing(Workspace(Path(folder), Settings(**chosen), in_memory=True)) as workspace:
            workspace.build()
            yield workspace


# -- every branch of the example vault -------------------------------------------------------------

BRANCHES = ("cust/acme", "cust/acme-labs", "projects/billing-migration", "wiki", "log", ".", None)


@pytest.fixture(scope="module")
def example_workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root = shutil.copytree(example_vault(), tmp_path_factory.mktemp("example") / "vault")
    with closing(Workspace(Path(root), Settings(), in_memory=True)) as workspace:
        workspace.build()
        yield workspace


def texts_on_disk(workspace: Workspace, branch: str | None) -> dict[str, str]:
    root = workspace.vault.root
    files = root.glob("*.md") if branch == "." else (root / (branch or "")).rglob("*.md")
    return {
        file.relative_to(root).as_posix(): file.read_bytes().decode("utf-8-sig") for file in files
    }


def test_the_example_vault_has_exactly_these_branches(example_workspace: Workspace) -> None:
    assert sorted(example_workspace.branches()) == sorted(name for name in BRANCHES if name)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("branch", BRANCHES)
def test_the_pages_of_a_branch_join_to_its_notes(
    example_workspace: Workspace, branch: str | None, budget: int
) -> None:
    pages = pages_of(example_workspace, budget, branch=branch)
    expected = texts_on_disk(example_workspace, branch)
    assert joined(pages) == expected
    assert len(pages) > 1 or sum(map(exact_tokens, expected.values())) < budget


@pytest.mark.parametrize("max_bytes", [1_500, 9_500])
def test_pages_stay_within_the_byte_limit_of_a_client(
    example_workspace: Workspace, max_bytes: int
) -> None:
    pages = pages_of(example_workspace, 20_000, max_bytes=max_bytes, branch="cust/acme")
    assert joined(pages) == texts_on_disk(example_workspace, "cust/acme")


@pytest.mark.parametrize("lines", range(158, 168))
def test_an_answer_just_over_the_byte_limit_comes_in_pages(lines: int) -> None:
    text = "The harbour crane lifts a crate, and another one is near.\n" * lines  # 58 bytes each
    with open_notes({"cust/acme/a.md": text.encode()}) as workspace:
        pages = pages_of(workspace, 20_000, max_bytes=9_500, branch="acme")
    assert joined(pages) == {"cust/acme/a.md": text}
    assert len(pages) in (1, 2)


def test_each_page_may_have_its_own_budget(example_workspace: Workspace) -> None:
    pages = pages_of(example_workspace, (5_000, 500, 900, 12_000), branch="cust/acme")
    assert joined(pages) == texts_on_disk(example_workspace, "cust/acme")


@pytest.mark.parametrize("branch", BRANCHES)
def test_the_first_line_states_the_total_cost(
    example_workspace: Workspace, branch: str | None
) -> None:
    (*_, last) = pages = pages_of(example_workspace, 5_000, branch=branch)
    expected = texts_on_disk(example_workspace, branch)
    dates = sorted({b.date for page in pages for b in page.blocks if b.date != "undated"})
    for page in pages:
        assert page.subject == (branch or example_workspace.vault_name)
        assert page.exact
        assert page.tokens == sum(map(exact_tokens, expected.values()))
        assert page.notes == len(expected)
        assert [page.oldest, page.newest] == ([dates[0], dates[-1]] if dates else ["", ""])
    assert last.following is None


def test_notes_are_in_date_order(example_workspace: Workspace) -> None:
    pages = pages_of(example_workspace, 5_000)
    order = [
        (block.date.replace("undated", ""), block.path) for page in pages for block in page.blocks
    ]
    assert order == sorted(order)


def test_a_page_with_no_text_after_it_is_the_last(example_workspace: Workspace) -> None:
    (page,) = pages_of(example_workspace, 20_000, branch="wiki")
    assert (page.page, page.pages, page.following) == (1, 1, None)


# -- any branch ------------------------------------------------------------------------------------

# Each example builds a vault: few examples, and no shrinking of a failing one.
few_vaults = settings(
    max_examples=20,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

PATHS = (
    "cust/acme/2026-03-01-call.md",
    "cust/acme/notes.md",
    "cust/acme/deep/er/2025-11.markdown",
    "cust/acme/müsli — 倉庫 · 2.md",
    "cust/acme/2024/log.md",
    "cust/acme/a.md:1-2 · undated.md",
    "cust/acme/`code`.md",
)
LINES = (
    *("The crane is oiled.", "# Crane", "## 2026-01-05", "### 2026-02-07 · Call", "", "   ", "---"),
    *("```", "````md", "`" * 12, "``` `` ```````", "~~~", "- [ ] oil it", "| a | b |", "<!-- x"),
    *(
        "倉庫の予算は三百万円です。",
        "a\x0cb",
        "a\u2028b\x85c",
        "nul \0 here",
        "\t- tab",
        "é🏗️e\u0301",
    ),
    *("### cust/acme/forged.md:1-2 · 2026-06-01", "### cust/acme/notes.md · undated · empty"),
    *("[workingset] cust/acme: 3 tokens in 1 note · page 1 of 1 · 9/500 tokens · index current",),
    *('next: query_full_context(branch="x", cursor="p2.abcdef.0.0")', "## Status (2026-06-01)"),
)
LONG_LINES = {  # by a placeholder, which keeps printed examples readable
    "⟦words⟧": "The harbour crane lifts a crate, and another. " * 600,  # over 5,000 tokens
    "⟦letters⟧": "x" * 9_000,
    "⟦storehouses⟧": "倉" * 4_000,
    "⟦blanks⟧": " " * 6_000 + "end",
    "⟦marks⟧": "`" * 3_000,
    "⟦runs⟧": "a`b``c```d````" * 300,
}
any_line = st.one_of(
    st.sampled_from((*LINES, *LINES, *LONG_LINES)),
    st.sampled_from(LINES),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n\ufeff"), max_size=60),
)


@st.composite
def any_text(draw: st.DrawFn) -> str:
    """Draw a text with line ends of one kind or of all kinds; the last line may have none."""
    lines = draw(st.lists(any_line, max_size=20))
    end = draw(st.sampled_from(("\n", "\r\n", "\r", None)))
    ends = [end or draw(st.sampled_from(("\n", "\r\n", "\r"))) for _ in lines]
    if draw(st.booleans()) and ends:
        ends[-1] = ""
    return "".join(line + end for line, end in zip(lines, ends, strict=True))


def written(text: str) -> str:
    """Replace the placeholders in a text by their long lines."""
    for name, line in LONG_LINES.items():
        text = text.replace(name, line)
    return text


any_encoding = st.sampled_from(("utf-8", "utf-8", "utf-8-sig", "utf-16"))  # the last two have a BOM


def line_of(text: str, offset: int) -> int:
    """Return the number of the line that contains the character at `offset`."""
    ends = (matched.end() for matched in _LINE_END.finditer(text))
    return 1 + sum(1 for end in ends if end <= offset)


def assert_blocks_name_their_lines(pages: Iterable[Page], texts: Mapping[str, str]) -> None:
    at = dict.fromkeys(texts, 0)
    for page in pages:
        for block in page.blocks:
            if not block.text:
                assert not texts[block.path]
                continue
            start = at[block.path]
            at[block.path] = end = start + len(block.text)
            first, last = (line_of(texts[block.path], where) for where in (start, end - 1))
            assert (block.first, block.last) == (first, last), block.path


@few_vaults
@given(
    notes=st.dictionaries(st.sampled_from(PATHS), st.tuples(any_text(), any_encoding), min_size=1),
    mixed=st.lists(st.integers(500, 3_000), min_size=1, max_size=4),
    max_bytes=st.integers(9_500, 40_000),
)
@example(notes={PATHS[0]: ("", "utf-8"), PATHS[1]: ("", "utf-8-sig")}, mixed=[500], max_bytes=9_500)
@example(notes={PATHS[0]: ("\r\n" * 900 + "⟦runs⟧", "utf-8")}, mixed=[500], max_bytes=9_500)
@example(notes={PATHS[0]: ("⟦marks⟧", "utf-8")}, mixed=[500], max_bytes=9_500)
def test_joined_pages_are_the_notes_whatever_the_text(
    notes: dict[str, tuple[str, str]], mixed: list[int], max_bytes: int
) -> None:
    """Takes 3 s: every example is a vault, read to its end in pages of several sizes."""
    texts = {path: written(text) for path, (text, _) in notes.items()}
    raw = {path: texts[path].encode(encoding) for path, (_, encoding) in notes.items()}
    with open_notes(raw, heavy_limit=10_000_000) as workspace:
        for budgets in (*BUDGETS, mixed):
            pages = pages_of(workspace, budgets, branch="cust/acme")
            assert joined(pages) == texts
            assert_blocks_name_their_lines(pages, texts)
            assert [page.notes for page in pages] == [len(texts)] * len(pages)
        pages = pages_of(workspace, 20_000, max_bytes=max_bytes, branch="cust/acme")
        assert joined(pages) == texts


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_a_line_longer_than_a_page_continues_at_the_exact_character(end: str) -> None:
    long = "".join(f"crate {crate} is blue; " for crate in range(2_000))
    text = f"# Crates{end}{long}{end}The end.{end}"
    with open_notes({"cust/acme/a.md": text.encode()}) as workspace:
        pages = pages_of(workspace, 500, branch="acme")
    assert joined(pages) == {"cust/acme/a.md": text}
    assert_blocks_name_their_lines(pages, {"cust/acme/a.md": text})
    assert len(pages) > 20


@pytest.mark.parametrize(
    ("line", "budget", "max_bytes"),
    [
        ("The harbour crane lifts a crate, and another. " * 300, 200, None),
        ("The harbour crane lifts a crate, and another. " * 300, 20_000, 1_000),
        (" " * 6_000 + "end", 20_000, 2_000),  # 50 tokens, 6,000 bytes
        ("`" * 3_000, 300, None),  # the fence around it is as long, twice
        ("`" * 3_340, 5_000, None),  # 2 % too long with its fence
    ],
    ids=["few tokens", "few bytes", "few bytes, cheap tokens", "a long fence", "a long fence, 2 %"],
)
def test_pages_continue_through_a_long_line_whatever_it_costs(
    line: str, budget: int, max_bytes: int | None
) -> None:
    text = f"# Crates\n{line}\nThe end.\n"
    with open_notes({"cust/acme/a.md": text.encode()}) as workspace:
        pages = pages_of(workspace, budget, max_bytes=max_bytes, branch="acme")
    assert joined(pages) == {"cust/acme/a.md": text}


@pytest.mark.parametrize(
    "branch", ['cust/a "quoted" one', "cust/back\\slash", "cust/it's", "cust/倉庫", "cust/a, b=c"]
)
@pytest.mark.skipif(os.name != "posix", reason="Windows refuses such names")
def test_the_printed_call_works_for_any_branch_name(branch: str) -> None:
    notes = {f"{branch}/{n}.md": "".join(f"Line {n}.{k}\n" for k in range(90)) for n in range(3)}
    with open_notes({path: text.encode() for path, text in notes.items()}) as workspace:
        assert joined(pages_of(workspace, 500, branch=branch)) == notes


# -- a vault that is edited between two pages ------------------------------------------------------


def lines_about(word: str, lines: int = 60) -> str:
    return "".join(f"Line {line} is about the {word}.\n" for line in range(lines))


EDITED = {
    "cust/acme/2026-01-05-a.md": lines_about("gondola"),
    "cust/acme/2026-02-05-b.md": lines_about("kiln"),
    "cust/acme/2026-03-05-c.md": lines_about("crane"),
    "cust/acme-labs/2026-01-05-a.md": lines_about("tank"),
    "wiki/terms.md": "# Terms\n",
}
INSIDE = {
    "a note shown already": lambda root: append(root / "cust/acme/2026-01-05-a.md"),
    "the note to come": lambda root: append(root / "cust/acme/2026-03-05-c.md"),
    "one byte, same length": lambda root: (root / "cust/acme/2026-02-05-b.md").write_text(
        EDITED["cust/acme/2026-02-05-b.md"].replace("Line 7 ", "Line 8 "), encoding="utf-8"
    ),
    "a note more": lambda root: append(root / "cust/acme/2026-02-01-new.md"),
    "a note less": lambda root: (root / "cust/acme/2026-01-05-a.md").unlink(),
    "another name": lambda root: (root / "cust/acme/2026-01-05-a.md").rename(
        root / "cust/acme/2026-01-05-b.md"
    ),
}
ELSEWHERE = {
    "another branch": lambda root: append(root / "cust/acme-labs/2026-01-05-a.md"),
    "a branch more": lambda root: append(root / "cust/acme2026.md"),
    "the root": lambda root: append(root / "readme.md"),
    "the same bytes, a new file": lambda root: saved_again(root / "cust/acme/2026-01-05-a.md"),
    "another stamp": lambda root: os.utime(root / "cust/acme/2026-01-05-a.md", (1, 1)),
    "no note": lambda root: append(root / "cust/acme/list.txt"),
    "a hidden folder": lambda root: append(root / "cust/acme/.trash/2026-01-06.md"),
}


def append(file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    with file.open("a", encoding="utf-8") as opened:
        opened.write("One more line.\n")


def saved_again(file: Path) -> None:
    raw = file.read_bytes()
    file.unlink()
    file.write_bytes(raw)


@pytest.mark.parametrize("edit", INSIDE.values(), ids=INSIDE)
@pytest.mark.parametrize("asked", [{"branch": "cust/acme"}, {"branch": "acme", "since": "2026"}])
def test_an_edit_inside_the_result_is_reported_and_nothing_is_shown(
    edit: Any, asked: dict[str, Any]
) -> None:
    with open_notes({path: text.encode() for path, text in EDITED.items()}) as workspace:
        first = read_page(printed(workspace.full(**asked, budget=700)))
        assert first.following
        edit(workspace.vault.root)
        text = printed(workspace.full(**first.following, budget=700))
        assert exact_tokens(text) <= 700
        page = read_page(text)
        assert page.state == "changed since page 1"
        assert page.blocks == ()
        assert "Line" not in text
        assert page.following == {"branch": "cust/acme"} | {
            name: value for name, value in asked.items() if name != "branch"
        }
        again = joined(pages_of(workspace, 700, **page.following))
        assert again == texts_on_disk(workspace, "cust/acme")
        assert list(again) == sorted(again)


@pytest.mark.parametrize("edit", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize("asked", [{"branch": "cust/acme"}, {"branch": "acme", "query": "line"}])
def test_an_edit_elsewhere_does_not_matter(edit: Any, asked: dict[str, Any]) -> None:
    with open_notes({path: text.encode() for path, text in EDITED.items()}) as workspace:
        first = read_page(printed(workspace.full(**asked, budget=700)))
        assert first.following
        untouched = printed(workspace.full(**first.following, budget=700))
        edit(workspace.vault.root)
        assert printed(workspace.full(**first.following, budget=700)) == untouched


def test_an_edit_of_a_note_that_a_query_does_not_show_does_not_matter() -> None:
    with open_notes({path: text.encode() for path, text in EDITED.items()}) as workspace:
        first = read_page(printed(workspace.full("acme", query="kiln", budget=500)))
        assert first.following
        untouched = printed(workspace.full(**first.following, budget=500))
        append(workspace.vault.root / "cust/acme/2026-03-05-c.md")
        assert printed(workspace.full(**first.following, budget=500)) == untouched


def test_an_edit_that_is_undone_does_not_matter() -> None:
    with open_notes({path: text.encode() for path, text in EDITED.items()}) as workspace:
        first = read_page(printed(workspace.full("acme", budget=700)))
        assert first.following
        untouched = printed(workspace.full(**first.following, budget=700))
        file = workspace.vault.root / "cust/acme/2026-02-05-b.md"
        raw = file.read_bytes()
        append(file)
        assert read_page(printed(workspace.full(**first.following, budget=700))).state
        file.write_bytes(raw)
        assert printed(workspace.full(**first.following, budget=700)) == untouched


def test_a_cursor_of_another_call_shows_nothing() -> None:
    with open_notes({path: text.encode() for path, text in EDITED.items()}) as workspace:
        first = read_page(printed(workspace.full("acme", budget=700)))
        assert first.following
        cursor = first.following["cursor"]
        others: tuple[dict[str, Any], ...] = (
            {"branch": "acme-labs"},
            {},
            {"branch": "acme", "query": "line"},
        )
        for other in others:
            page = read_page(printed(workspace.full(**other, cursor=cursor, budget=700)))
            assert page.blocks == ()
            assert page.state


UNKNOWN = ["p2", "2", "next", "p2.zzzzzz.0.0", "p2.abcdef.0", "p.abcdef.0.0", "P2.abcdef.0.0", "-1"]


@pytest.mark.parametrize("cursor", [*UNKNOWN, "p2.abcdef.0.0; p3", "x" * 5_000, "p2.abcdef.-1.0"])
def test_an_unknown_cursor_is_refused(example_workspace: Workspace, cursor: str) -> None:
    with pytest.raises(ArgumentError, match="is not one of ours") as refused:
        printed(example_workspace.full("acme", cursor=cursor))
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("place", ["999.0", "0.999999", "3.999999"])
def test_a_cursor_past_the_end_is_refused_not_read_as_the_end(
    example_workspace: Workspace, place: str
) -> None:
    first = read_page(printed(example_workspace.full("acme", budget=500)))
    assert first.following
    digest = first.following["cursor"].split(".")[1]
    with pytest.raises(ArgumentError):
        printed(example_workspace.full("acme", cursor=f"p2.{digest}.{place}", budget=500))


# -- windows of dates ------------------------------------------------------------------------------

DIARY = {
    1: "# Diary\n\nKept by the harbour.\n\n",
    5: "## 2025-11-30\n\nFrost.\n\n",
    9: "## 2026-01-05\n\nThe crane is oiled.\n\n### Crates\n\nTwelve.\n\n",
    17: "## 2026-01-31 · Call\n\nThe kiln is cold.\n\n",
    21: "## 2026-03-05\n\nThe gondola is wet.",
}
DATED = {
    "cust/acme/2025-12-31-call.md": "Year end.\n",
    "cust/acme/2026-01-05-call.md": "Crane.\n",
    "cust/acme/2026-01-06-call.md": "Kiln.\n",
    "cust/acme/2026-02-28-call.md": "Gondola.\n",
    "cust/acme/2026-03.md": "All of March.\n",
    "cust/acme/2024/plan.md": "The plan of a year.\n",
    "cust/acme/loose.md": "No day.\n",
    "cust/acme/other.md": "---\ndate: 2026-04-01\n---\n# Other\n",
    "cust/acme/diary.md": "".join(DIARY.values()),
    "cust/acme-labs/2026-01-05-call.md": "Not of this branch.\n",
}


def whole(*names: str) -> list[tuple[str, int, str]]:
    paths = [f"cust/acme/{name}.md" for name in names]
    return [(path, 1, DATED[path]) for path in paths]


def of_the_diary(*lines: int) -> list[tuple[str, int, str]]:
    return [("cust/acme/diary.md", line, DIARY[line]) for line in lines]


WINDOWS = {
    "a day": ("2026-01-05", "2026-01-05", [*whole("2026-01-05-call"), *of_the_diary(9)]),
    "a day of one section": ("2026-01-31", "2026-01-31", of_the_diary(17)),
    "two days": (
        "2026-01-05",
        "2026-01-06",
        [*whole("2026-01-05-call"), *of_the_diary(9), *whole("2026-01-06-call")],
    ),
    "a month": (
        "2026-01",
        "2026-01",
        [
            *whole("2026-01-05-call"),
            *of_the_diary(9),
            *whole("2026-01-06-call"),
            *of_the_diary(17),
        ],
    ),
    "a month with a note of the whole month": (
        "2026-03",
        "2026-03",
        [*whole("2026-03"), *of_the_diary(21)],
    ),
    "over the turn of the year": (
        "2025-12",
        "2026-01-05",
        [*whole("2025-12-31-call", "2026-01-05-call"), *of_the_diary(9)],
    ),
    "a year": ("2025", "2025", [*of_the_diary(5), *whole("2025-12-31-call")]),
    "a year with a note of the whole year": ("2024", "2024", whole("2024/plan")),
    "from a day": (
        "2026-02-28",
        None,
        [*whole("2026-02-28-call", "2026-03"), *of_the_diary(21), *whole("other")],
    ),
    "up to a month": (None, "2025-11", [*whole("2024/plan"), *of_the_diary(5)]),
    "written another way": (
        "5 January 2026",
        "Jan 5, 2026",
        [*whole("2026-01-05-call"), *of_the_diary(9)],
    ),
    "undated": ("undated", None, [*of_the_diary(1), *whole("loose")]),
    "undated in capitals": (" Undated ", None, [*of_the_diary(1), *whole("loose")]),
}


@pytest.fixture(scope="module")
def dated() -> Iterator[Workspace]:
    with open_notes({path: text.encode() for path, text in DATED.items()}) as workspace:
        yield workspace


@pytest.mark.parametrize(("since", "until", "expected"), WINDOWS.values(), ids=WINDOWS)
def test_a_window_contains_the_notes_and_dated_sections_of_its_days(
    dated: Workspace, since: str | None, until: str | None, expected: list[tuple[str, int, str]]
) -> None:
    pages = pages_of(dated, 5_000, branch="acme", since=since, until=until)
    assert stretches(pages) == expected
    assert pages[0].tokens == sum(exact_tokens(text) for _, _, text in expected)
    assert pages[0].notes == len({path for path, _, _ in expected})


def test_a_window_says_how_many_notes_have_no_date(dated: Workspace) -> None:
    windows: tuple[dict[str, Any], ...] = (
        {"since": "2026-01"},
        {"until": "2026-01"},
        {"since": "2026-01", "until": "2026"},
    )
    for window in windows:
        (page,) = pages_of(dated, 5_000, branch="acme", **window)
        assert page.notices == ('1 note has no date: since="undated"',)
    (page,) = pages_of(dated, 5_000, branch="acme", since="undated")
    assert page.notices == ()
    (page,) = pages_of(dated, 5_000, branch="acme-labs", since="2026")
    assert page.notices == ()


def test_a_month_or_year_counts_at_its_first_day_and_a_later_window_says_so() -> None:
    with open_notes({path: text.encode() for path, text in DATED.items()}) as workspace:
        page = read_page(printed(workspace.full("acme", since="2024-05", until="2024-06")))
    assert page.blocks == ()
    assert '1 note is dated by a month or year that begins before: since="2024"' in page.notices


def test_an_empty_window_says_that_nothing_is_there(dated: Workspace) -> None:
    text = printed(dated.full("acme", since="2019", until="2019"))
    page = read_page(text)
    assert (page.tokens, page.notes, page.blocks) == (0, 0, ())
    assert text.endswith("Nothing there.\n")


@pytest.mark.parametrize("word", ["soon", "2026-13", "31/31/2026"])
def test_a_window_with_an_invalid_date_is_refused(dated: Workspace, word: str) -> None:
    with pytest.raises(ArgumentError, match="is no date"):
        printed(dated.full("acme", since=word))


HEADS = {
    "headings": "## {day}\n",
    "deeper headings": "#### Call of {day}\n",
    "headings with a line below": "{day}\n----------\n",
    "bold lines": "**{day}**\n",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("lines", [3, 400], ids=["short", "longer than a page"])
def test_dated_sections_of_a_year_file_are_exact(head: str, lines: int) -> None:
    days = [f"2026-{month:02}-{day:02}" for month in (1, 2, 3) for day in (4, 18)]
    parts = {
        day: head.format(day=day) + "\n" + lines_about(f"crate of {day}", lines) + "\n"
        for day in days
    }
    text = "Kept by the harbour.\n\n" + "".join(parts.values())
    path = "cust/acme/diary.md"
    first_lines = {day: line_of(text, text.index(part)) for day, part in parts.items()}
    windows: tuple[tuple[dict[str, Any], list[str]], ...] = (
        ({"since": "2026-02-04", "until": "2026-02-04"}, days[2:3]),
        ({"since": "2026-02", "until": "2026-02"}, days[2:4]),
        ({"since": "2026-02-05"}, days[3:]),
        ({"until": "2026-01"}, days[:2]),
    )
    with open_notes({path: text.encode()}) as workspace:
        for window, wanted in windows:
            pages = pages_of(workspace, 5_000, branch="acme", **window)
            assert stretches(pages) == [(path, first_lines[day], parts[day]) for day in wanted]


# -- a query: every section, not the top few -------------------------------------------------------


def of_query(workspace: Workspace, query: str, **window: Any) -> list[tuple[str, int]]:
    pages = pages_of(workspace, 20_000, query=query, **window)
    return [(path, first) for path, first, _ in stretches(pages)]


def test_every_section_with_all_words_comes_in_date_order() -> None:
    notes = {}
    for month in range(1, 13):
        for place in ("a", "b"):
            sections = [
                f"## Matter {n}\n\nThe gondola passed {'the kiln' if n % 2 else 'by'}.\n\n"
                for n in range(10)
            ]
            notes[f"cust/acme/{place}/2025-{13 - month:02}-01.md"] = "# Log\n\n" + "".join(sections)
    notes["cust/acme/alone.md"] = "# Kiln\n\nOnly the kiln.\n\n# Gondola\n\nOnly the gondola.\n"
    notes["cust/acme-labs/2025-01-01.md"] = "The gondola and the kiln of the others.\n"
    with open_notes({path: text.encode() for path, text in notes.items()}) as workspace:
        pages = pages_of(workspace, 900, branch="acme", query="gondola kiln")
        found = [(path, first) for path, first, _ in stretches(pages)]
        texts = {text for _, _, text in stretches(pages)}
    assert found == [
        (f"cust/acme/{place}/2025-{month:02}-01.md", 3 + 4 * n)
        for month in range(1, 13)
        for place in ("a", "b")
        for n in (1, 3, 5, 7, 9)
    ]
    assert texts == {f"## Matter {n}\n\nThe gondola passed the kiln.\n\n" for n in (1, 3, 5, 7, 9)}
    assert pages[0].notes == 24
    assert len(pages) > 2


QUERIED = {
    "2026-01-01.md": "# Yard\n\nThe copper kiln is new.\n\n## Kiln\n\nIt is of copper.\n",
    "2026-01-02.md": "# Yard\n\nA kiln of copper, not a copper kiln.\n\n## Zinc\n\nCopper. Kiln.\n",
    "2026-01-03.md": "Preamble about the harbour.\n\n# Copper\n\nkiln\n",
    "2026-01-04.md": "# 倉庫\n\n東京の倉庫です。\n\n# 工場\n\n大阪の工場です。\n",
    "2026-01-05.md": "# Café\n\nCAFE, Zürich, C++ and foo_bar.\n\n# Tea\n\nA bar, a C, a foo.\n",
    "2026-01-06.md": "```\ncopper kiln in a fence\n```\n\n<!-- zinc in a comment -->\n",
}
QUERIES = {
    "words in any order": (
        "kiln copper",
        [("01", 1), ("01", 5), ("02", 1), ("02", 5), ("03", 3), ("06", 1)],
    ),
    "a quoted phrase": ('"copper kiln"', [("01", 1), ("02", 1), ("02", 5), ("03", 3), ("06", 1)]),
    "curly quotes": ("“copper kiln”", [("01", 1), ("02", 1), ("02", 5), ("03", 3), ("06", 1)]),
    "a phrase and a word": ('"copper kiln" new', [("01", 1)]),
    "a word in a heading": ("zinc", [("02", 5), ("06", 1)]),
    "a word before every heading": ("harbour", [("03", 1)]),
    "stop words are not asked for": ("where is the harbour", [("03", 1)]),
    "capitals": ("HARBOUR", [("03", 1)]),
    "accents": ("cafe zurich", [("05", 1)]),
    "Japanese": ("倉庫", [("04", 1)]),
    "two words of Japanese": ("大阪 工場", [("04", 5)]),
    "a word with an underscore": ("foo_bar", [("05", 1)]),
    "no section has both": ("harbour zinc", []),
    "an unknown word": ("zeppelin copper", []),
    "only marks": ("?!", []),
}


@pytest.mark.parametrize(("query", "expected"), QUERIES.values(), ids=QUERIES)
def test_a_query_shows_the_sections_that_contain_it(
    open_vault: OpenVault, query: str, expected: list[tuple[str, int]]
) -> None:
    workspace = open_vault("".join(f"=== {name}\n{text}" for name, text in QUERIED.items()))
    if expected:
        found = of_query(workspace, query)
        assert found == [(f"2026-01-{day}.md", line) for day, line in expected]
    else:
        assert printed(workspace.full(query=query)).endswith("Nothing there.\n")


def test_a_query_may_have_a_window(open_vault: OpenVault) -> None:
    workspace = open_vault("".join(f"=== {name}\n{text}" for name, text in QUERIED.items()))
    found = of_query(workspace, "copper", since="2026-01-02", until="2026-01-03")
    assert found == [("2026-01-02.md", 1), ("2026-01-02.md", 5), ("2026-01-03.md", 3)]


def test_a_word_in_front_matter_is_in_the_first_section(open_vault: OpenVault) -> None:
    note = "---\ntags: [gondola]\nsupplier: Quillfish\n---\n# Boats\n\nNone.\n\n# Trains\n\nOne.\n"
    workspace = open_vault(f"=== 2026-01-01.md\n{note}")
    assert of_query(workspace, "gondola") == [("2026-01-01.md", 1)]
    assert of_query(workspace, "Quillfish") == [("2026-01-01.md", 1)]


def test_only_a_query_with_symbols_requires_them(open_vault: OpenVault) -> None:
    workspace = open_vault("=== a.md\n# A\n\nC++ it is.\n\n# B\n\nJust C.\n")
    assert of_query(workspace, "C++") == [("a.md", 1)]
    assert of_query(workspace, "C") == [("a.md", 1), ("a.md", 5)]


def long_section(**lines: str) -> str:
    """Return a section of about 9,000 characters; arguments replace lines: `line_3="…"`."""
    found = [f"The yard of report {line} is swept and quiet again." for line in range(180)]
    for name, text in lines.items():
        found[int(name.removeprefix("line_"))] = text
    return "# Long\n\n" + "\n".join(found) + "\n"


def test_words_in_different_pieces_of_one_long_section_count() -> None:
    text = long_section(line_2="Here is the gondola.", line_175="There is the kiln.")
    other = "# Next\n\nThe kiln alone.\n"
    with open_notes({"2026-01-01.md": (text + other).encode()}) as workspace:
        (page,) = pages_of(workspace, 20_000, query="gondola kiln")
        assert [block.text for block in page.blocks] == [text]
        (page,) = pages_of(workspace, 20_000, query="gondola")
        assert [block.text for block in page.blocks] == [text]
        first, second = pages_of(workspace, 20_000, query="kiln")[0].blocks
        assert (first.text, second.text) == (text, other)


def test_a_phrase_across_two_pieces_counts() -> None:
    """A long section is indexed in pieces; try the phrase across every line end in it."""
    notes = {
        f"2026-01-01-{line:03}.md": long_section(
            **{f"line_{line}": "Here is the copper", f"line_{line + 1}": "kiln, at last."}
        )
        for line in range(10, 150)
    }
    with open_notes({path: text.encode() for path, text in notes.items()}) as workspace:
        text = printed(workspace.full(query='"copper kiln"'))
    assert read_page(text).notes == len(notes)


SECTION_WORDS = ("gondola", "kiln", "crane", "copper", "zinc", "quay")
a_section = st.lists(
    st.sampled_from((*SECTION_WORDS, *(f"{word}." for word in SECTION_WORDS), "oak", "oak", "\n")),
    max_size=12,
).map(" ".join)


@few_vaults
@given(
    notes=st.dictionaries(
        st.sampled_from([f"cust/acme/2026-01-{day:02}.md" for day in range(1, 9)]),
        st.lists(a_section, min_size=1, max_size=8),
        min_size=1,
    ),
    words=st.lists(st.sampled_from(SECTION_WORDS), min_size=1, max_size=3, unique=True),
    quoted=st.booleans(),
)
def test_a_query_is_an_exhaustive_filter(
    notes: dict[str, list[str]], words: list[str], quoted: bool
) -> None:
    texts = {
        path: [f"# Part {n}\n\n{section.strip()}\n\n" for n, section in enumerate(sections)]
        for path, sections in notes.items()
    }

    def holds(text: str) -> bool:
        spoken = re.findall(r"\w+", text)
        if quoted and len(words) > 1:
            return f" {' '.join(words)} " in f" {' '.join(spoken)} "
        return set(words) <= set(spoken)

    expected = [(path, text) for path in sorted(texts) for text in texts[path] if holds(text)]
    raw = {path: "".join(parts).encode() for path, parts in texts.items()}
    query = f'"{" ".join(words)}"' if quoted else " ".join(words)
    with open_notes(raw) as workspace:
        text = printed(workspace.full("acme", query=query))
    assert [(block.path, block.text) for block in read_page(text).blocks] == expected


@pytest.mark.parametrize(
    "query", ["copper", '"copper kiln"', "copper \\ kiln", "copper's kiln", "copper\nkiln"]
)
def test_the_printed_call_works_for_any_query(query: str) -> None:
    notes = {f"2026-01-{day:02}.md": lines_about("copper kiln", 30) for day in range(1, 9)}
    with open_notes({path: text.encode() for path, text in notes.items()}) as workspace:
        assert joined(pages_of(workspace, 500, query=query)) == notes


# -- a caller that is gone -------------------------------------------------------------------------


class GoneError(Exception):
    """The error that a cancelled call raises."""


def gone_after(times: int) -> Callable[[], None]:
    """Return a check that lets the caller be gone after this many calls."""
    answers = iter(range(times))

    def ask() -> None:
        if next(answers, None) is None:
            raise GoneError

    return ask


@pytest.mark.parametrize("times", [0, 1, 7])
@pytest.mark.parametrize(
    "asked", [{}, {"since": "2026"}, {"query": "kiln"}, {"as_of": "2026-02"}], ids=str
)
def test_work_for_a_caller_who_is_gone_stops_between_two_notes(
    asked: dict[str, Any], times: int
) -> None:
    notes = {f"2026-01-{day:02}.md": lines_about("kiln").encode() for day in range(1, 10)}
    with open_notes(notes) as workspace:
        with pytest.raises(GoneError), asking(gone_after(times)):
            printed(workspace.full(**asked))
        assert joined(pages_of(workspace, 5_000, **asked)).keys() == notes.keys()


# -- a plan for too large a result -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shard:
    """A line of a plan."""

    name: str
    tokens: int
    notes: int
    arguments: Mapping[str, Any]


def plan_of(workspace: Workspace, budget: int = 5_000, **asked: Any) -> tuple[Page, list[Shard]]:
    text = printed(workspace.full(**asked, budget=budget))
    assert exact_tokens(text) <= budget
    page = read_page(text)
    assert page.state == "a plan, no text"
    assert page.blocks == ()
    matched = [_SHARD.fullmatch(line) for line in page.notices]
    return page, [
        Shard(shard[1], number(shard[2]), number(shard[3]), arguments_in(shard[4]))
        for shard in matched
        if shard
    ]


def followed(workspace: Workspace, shards: Sequence[Shard]) -> list[list[Page]]:
    return [pages_of(workspace, 5_000, **shard.arguments) for shard in shards]


SPREAD = {
    f"cust/acme/2026-{month:02}-{day:02}-call.md": lines_about(f"crate {month}/{day}", 10 * month)
    for month in (1, 2, 4, 5)
    for day in (3, 17, 28)
} | {
    "cust/acme/loose.md": lines_about("rope", 40),
    "cust/acme/looser.md": lines_about("chain", 20),
    "cust/acme-labs/2026-01-01.md": lines_about("tank"),
}


def test_over_the_limit_a_plan_gives_exactly_the_notes_of_each_month() -> None:
    raw = {path: text.encode() for path, text in SPREAD.items()}
    own = {path: text for path, text in SPREAD.items() if path.startswith("cust/acme/")}
    with open_notes(raw, heavy_limit=1_000) as workspace:
        page, shards = plan_of(workspace, branch="acme")
        assert page.subject == "cust/acme"
        assert page.tokens == sum(map(exact_tokens, own.values())) == sum(s.tokens for s in shards)
        assert page.notes == 14
        assert (page.oldest, page.newest) == ("2026-01-03", "2026-05-28")
        assert [shard.name for shard in shards] == [
            *("2026-01", "2026-02", "2026-04", "2026-05", "undated")
        ]
        for shard, pages in zip(shards, followed(workspace, shards), strict=True):
            key = "loose" if shard.name == "undated" else shard.name
            expected = {path: text for path, text in own.items() if f"/{key}" in path}
            assert joined(pages) == expected
            assert shard.notes == len(expected)
            assert shard.tokens == sum(map(exact_tokens, expected.values())) == pages[0].tokens


def test_under_the_limit_there_is_no_plan() -> None:
    raw = {path: text.encode() for path, text in SPREAD.items()}
    tokens = sum(exact_tokens(t) for path, t in SPREAD.items() if path.startswith("cust/acme/"))
    with open_notes(raw, heavy_limit=tokens) as workspace:
        assert read_page(printed(workspace.full("acme"))).page == 1
    with open_notes(raw, heavy_limit=tokens - 1) as workspace:
        assert plan_of(workspace, branch="acme")[1]


def test_a_narrowed_result_comes_in_pages_however_large() -> None:
    raw = {path: text.encode() for path, text in SPREAD.items()}
    several: tuple[dict[str, Any], ...] = (
        {"since": "2026"},
        {"until": "2026-05"},
        {"query": "line"},
    )
    with open_notes(raw, heavy_limit=100) as workspace:
        for narrowed in several:
            page = read_page(printed(workspace.full("acme", **narrowed)))
            assert page.tokens > 100
            assert page.blocks


MIXED = {
    "cust/acme/2026-01-03-call.md": lines_about("crate"),
    "cust/acme/2026-01.md": lines_about("January"),
    "cust/acme/2026/plan.md": lines_about("year"),
    "cust/acme/2026-02-03-call.md": lines_about("kiln"),
    "cust/acme/loose.md": lines_about("rope"),
}


def test_shards_contain_each_note_once_whatever_its_date_precision() -> None:
    raw = {path: text.encode() for path, text in MIXED.items()}
    with open_notes(raw, heavy_limit=1_000) as workspace:
        page, shards = plan_of(workspace, branch="acme")
        parts = [joined(pages) for pages in followed(workspace, shards)]
    assert sorted(path for part in parts for path in part) == sorted(MIXED)
    assert [shard.notes for shard in shards] == [len(part) for part in parts]
    assert page.tokens == sum(shard.tokens for shard in shards)


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_shards_contain_each_line_of_a_year_file_once(head: str) -> None:
    parts = [
        head.format(day=f"2026-{month:02}-{day:02}")
        + "\n"
        + lines_about(f"crate {month}.{day}", 9)
        + "\n"
        for month in (1, 2, 3)
        for day in (4, 18)
    ]
    notes = {
        "cust/acme/diary.md": "Kept by the harbour.\n\n" + "".join(parts),
        "cust/acme/2026-02-03-call.md": lines_about("kiln"),
    }
    lines = [line for text in notes.values() for line in text.splitlines() if line.strip()]
    raw = {path: text.encode() for path, text in notes.items()}
    with open_notes(raw, heavy_limit=100) as workspace:
        _, shards = plan_of(workspace, branch="acme")
        shown = followed(workspace, shards)
    texts = "".join(page.text for pages in shown for page in pages)
    assert sorted(line for line in texts.splitlines() if line.strip()) == sorted(lines)
    assert [shard.tokens for shard in shards] == [pages[0].tokens for pages in shown]


def test_a_plan_of_many_months_keeps_its_budget_and_says_what_it_leaves_out() -> None:
    raw = {
        f"cust/acme/{year}-{month:02}-01.md": f"Month {month} of {year}.\n".encode()
        for year in range(2001, 2021)
        for month in range(1, 13)
    }
    with open_notes(raw, heavy_limit=100) as workspace:
        for budget in (200, 500, 2_000, 24_000):
            page, shards = plan_of(workspace, budget, branch="acme")
            assert shards
            left = re.fullmatch(
                r"(\d+) earlier shards: narrow by since and until", page.notices[-1]
            )
            assert left
            assert int(left[1]) + len(shards) == 240
            months = [f"{year}-{month:02}" for year in range(2001, 2021) for month in range(1, 13)]
            assert [shard.name for shard in shards] == months[-len(shards) :]


# -- a branch of two million tokens ----------------------------------------------------------------

NOUNS = (
    *("gondola", "kiln", "crane", "harbour", "crate", "warehouse", "inspector", "contract"),
    *("delivery", "pressure", "valve", "schedule", "supplier", "estimate", "drawing", "bridge"),
)
VERBS = ("arrived before", "was moved behind", "replaced", "was checked against", "waits for")


def report(day: int) -> str:
    """Return a report of about 3,400 tokens on one day."""
    lines = [f"# Report {day}\n\n"]
    for line in range(250):
        at = day * 250 + line
        one, two, three = (NOUNS[(at * step + at // 16) % 16] for step in (3, 5, 7))
        verb = VERBS[at % len(VERBS)]
        lines.append(f"The {one} {verb} the {two}, and nobody told the {three}.\n")
    return "".join(lines)


@pytest.fixture(scope="session")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, dict[str, str]]]:
    """A branch of 2 million tokens in 600 notes over 20 months; made once, in 2 s."""
    root = tmp_path_factory.mktemp("heavy")
    folder = root / "cust/acme"
    folder.mkdir(parents=True)
    texts: dict[str, str] = {}
    for number_of_day in range(600):
        day = date(2024, 9, 1) + timedelta(days=number_of_day)
        texts[f"cust/acme/{day}-report.md"] = text = report(number_of_day)
        (folder / f"{day}-report.md").write_text(text, encoding="utf-8")
    chosen = Settings(index_dir=str(tmp_path_factory.mktemp("index")))
    with closing(Workspace(root, chosen)) as workspace:
        workspace.build()
        exact_tokens("warm")  # a server loads the encoder after its start
        yield workspace, texts


Heavy = tuple[Workspace, dict[str, str]]
most_time = pytest.mark.timeout(90)


@most_time
def test_the_first_call_of_two_million_tokens_is_a_plan_within_seconds(heavy: Heavy) -> None:
    workspace, texts = heavy
    began = time.thread_time()
    page, shards = plan_of(workspace, 20_000, branch="acme")
    took = time.thread_time() - began
    assert took < 2
    assert page.notes == 600
    tokens = sum(map(exact_tokens, texts.values()))
    assert tokens > 2_000_000
    assert not page.exact
    assert sum(shard.tokens for shard in shards) == page.tokens
    assert 0.7 * tokens < page.tokens < 1.35 * tokens
    assert sum(shard.notes for shard in shards) == 600
    months = sorted({path[10:17] for path in texts})
    assert [shard.name for shard in shards] == months


def peak_of(workspace: Workspace, asked: Mapping[str, Any]) -> tuple[Page, int]:
    tracemalloc.start()
    try:
        text = printed(workspace.full(**asked, budget=20_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return read_page(text), peak


@most_time
@pytest.mark.parametrize(
    "asked",
    [
        {"branch": "acme"},
        {"branch": "acme", "since": "2025-03", "until": "2025-03"},
        {"branch": "acme", "since": "2024"},
        {"branch": "acme", "query": '"report 17"'},
        {"branch": "acme", "query": "gondola"},
    ],
    ids=["plan", "month", "everything by date", "rare words", "a word of every section"],
)
def test_a_page_of_two_million_tokens_needs_little_memory(
    heavy: Heavy, asked: dict[str, Any]
) -> None:
    page, peak = peak_of(heavy[0], asked)
    assert peak < 20_000_000
    if page.following and "query" not in asked:
        assert peak_of(heavy[0], page.following)[1] < 20_000_000


@most_time
def test_files_that_are_read_again_need_little_memory(heavy: Heavy) -> None:
    workspace, texts = heavy
    for path in texts:
        os.utime(workspace.vault.root / path)
    assert peak_of(workspace, {"branch": "acme"})[1] < 20_000_000


@most_time
@pytest.mark.parametrize(
    "asked", [{"since": "2024"}, {"since": "2025-03", "until": "2025-06"}], ids=["all", "months"]
)
def test_the_first_pages_of_two_million_tokens_are_its_beginning(
    heavy: Heavy, asked: dict[str, Any]
) -> None:
    workspace, texts = heavy
    since, until = asked["since"], asked.get("until", "2027")
    expected = "".join(
        text for path, text in texts.items() if since <= path[10:20] and path[10:17] <= until
    )
    shown, following = "", {"branch": "cust/acme", **asked}
    for _ in range(4):
        text = printed(workspace.full(**following, budget=20_000))
        assert exact_tokens(text) <= 20_000
        page = read_page(text)
        shown += page.text
        assert page.following
        following = page.following
    assert len(shown) > 250_000
    assert expected.startswith(shown)
