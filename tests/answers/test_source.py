"""Opening a note: its exact text by lines, by heading, in parts that join to the file; refusals."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import OpenVault, exact_tokens, write_vault
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from answers.search.test_pack import read_answer
from workingset_mcp.answers.answer import Limits, printed
from workingset_mcp.errors import ArgumentError, NoteNotFound, PathRefused
from workingset_mcp.escaping import show_name
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

_HEADER = re.compile(
    r"\[workingset\] open · (?P<path>.+) lines (?P<lines>0|\d+(?:@\d+)?(?:-\d+)? of \d+"
    r"(?: \(characters \d+-\d+ of the line\))?)"
    r"(?: · holds invisible characters)?"
    r" · (?P<tokens>[\d,]+)/(?P<budget>[\d,]+) tokens · index current\n"
)
_NEXT = re.compile(r'next: open_source_file\(path="(?P<path>.*)", lines="(?P<lines>[^"]+)"\)\n')
NO_END = "(no line end behind the last line)\n"


@dataclass(frozen=True, slots=True)
class Part:
    """A parsed answer of `open`: its text byte for byte, and the lines that follow."""

    path: str
    lines: str
    warnings: str
    text: str
    next_lines: str | None
    tokens: int


def read_part(answer: str) -> Part:
    """Parse an opened part from its text alone."""
    header = _HEADER.match(answer)
    assert header, answer[:200]
    head, rest = answer[: header.end()], answer[header.end() :]
    warnings = re.match(r"(?:warning: [^\n]*\n)*", rest)
    assert warnings
    rest = rest[warnings.end() :]
    named = _NEXT.match(rest)
    if named:
        assert named["path"] == header["path"]
        rest = rest[named.end() :]
    if header["lines"] == "0":
        assert rest == "(the note is empty)\n"
        return Part(header["path"], "0", warnings[0], "", None, exact_tokens(answer))
    fence, _, rest = rest.partition("\n")
    assert set(fence) == {"`"}
    ended = not rest.endswith(f"{fence}\n{NO_END}")
    text = rest.removesuffix(NO_END).removesuffix("\n").removesuffix(fence)
    assert not any(line == fence for line in text.split("\n"))
    if not ended:
        text = text.removesuffix("\n")
    assert head.count("\n") == 1
    return Part(
        header["path"],
        header["lines"],
        warnings[0],
        text,
        named["lines"] if named else None,
        exact_tokens(answer),
    )


def all_parts(workspace: Workspace, path: str, budget: int) -> Iterator[Part]:
    """Open a note and follow the lines that each part names, to the end."""
    lines = None
    while True:
        part = read_part(printed(workspace.open(path, lines=lines, budget=budget)))
        yield part
        if part.next_lines is None:
            return
        assert part.next_lines != lines, "no progress"
        lines = part.next_lines


NOTE = """\
---
title: Kiln
---
# The kiln

First line.

## Costs

- 4,200 euro
- 300 euro

### Oil

A little.

## Costs of 2025 ##

Less.

**Open questions**

Who pays?

Underlined
----------

```md
# Not a heading
```

## Last `code` and [link](https://brunnfeld.example)

The end."""
VAULT = f"=== cust/acme/kiln.md\n{NOTE}\n"
LINES = NOTE.split("\n")


def between(first: int, last: int) -> str:
    return "".join(f"{line}\n" for line in LINES[first - 1 : last])


# -- by lines --------------------------------------------------------------------------------------


def test_a_note_opens_whole_and_exact(open_vault: OpenVault) -> None:
    part = read_part(printed(open_vault(VAULT).open("cust/acme/kiln.md")))
    assert (part.text, part.lines, part.next_lines) == (f"{NOTE}\n", "1-34 of 34", None)
    assert part.warnings == ""


@pytest.mark.parametrize(
    ("lines", "first", "last"),
    [
        ("8-12", 8, 12),
        (" 8 - 12 ", 8, 12),
        ("8–12", 8, 12),
        ("8:12", 8, 12),
        ("8", 8, 8),
        ("1", 1, 1),
        ("34", 34, 34),
        ("30-", 30, 34),
        ("30-34", 30, 34),
        ("30-9999", 30, 34),
        ("1-34", 1, 34),
        ("8-9,12", 8, 12),
        ("12,8-9", 8, 12),
        ("8,10,12", 8, 12),
    ],
)
@pytest.mark.parametrize("behind_the_path", [False, True])
def test_a_line_range_opens_exactly_those_lines(
    open_vault: OpenVault, lines: str, first: int, last: int, *, behind_the_path: bool
) -> None:
    workspace = open_vault(VAULT)
    if behind_the_path and re.fullmatch(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*", lines):
        answer = printed(workspace.open(f"cust/acme/kiln.md:{lines}"))
    else:
        answer = printed(workspace.open("cust/acme/kiln.md", lines=lines))
    part = read_part(answer)
    assert (part.text, part.lines) == (between(first, last), f"{first}-{last} of 34")
    assert part.next_lines is None


@pytest.mark.parametrize(
    "lines",
    [
        "0",
        "0-4",
        "35",
        "35-40",
        "12-8",
        "-5",
        "a-b",
        "1..4",
        "8-12-14",
        "8@",
        "1.5",
        "9999999999",
        "lines 8-12",
    ],
)
def test_invalid_line_ranges_are_refused_with_a_hint(open_vault: OpenVault, lines: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        printed(open_vault(VAULT).open("cust/acme/kiln.md", lines=lines))
    assert lines in refused.value.message
    assert refused.value.hint in ('Write them as "12-40".', "It has lines 1-34.")


def test_a_blank_lines_argument_means_the_whole_note(open_vault: OpenVault) -> None:
    part = read_part(printed(open_vault(VAULT).open("cust/acme/kiln.md", lines="")))
    assert part.lines == "1-34 of 34"


def test_a_character_offset_starts_inside_its_line(open_vault: OpenVault) -> None:
    part = read_part(printed(open_vault(VAULT).open("cust/acme/kiln.md", lines="6@6-8")))
    assert part.text == "line.\n\n## Costs\n"
    assert part.lines == "6@6-8 of 34"


# -- by heading ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heading", "first", "last"),
    [
        ("The kiln", 4, 34),
        ("Costs", 8, 16),
        ("costs", 8, 16),
        ("## Costs", 8, 16),
        ("The kiln › Costs", 8, 16),
        ("Oil", 13, 16),
        ("The kiln › Costs › Oil", 13, 16),
        ("Costs of 2025", 17, 24),
        ("2025", 17, 24),
        ("Open questions", 21, 24),
        ("Underlined", 25, 31),
        ("Last `code`", 32, 34),
        ("Last", 32, 34),
    ],
)
def test_a_section_opens_by_the_text_of_its_heading(
    open_vault: OpenVault, heading: str, first: int, last: int
) -> None:
    part = read_part(printed(open_vault(VAULT).open("cust/acme/kiln.md", heading=heading)))
    assert (part.text, part.lines) == (between(first, last), f"{first}-{last} of 34")


def test_the_exact_heading_wins_over_one_that_only_contains_it(open_vault: OpenVault) -> None:
    workspace = open_vault("=== a.md\n## Costs of 2025\n\nOld.\n\n## Costs\n\nNew.\n")
    assert read_part(printed(workspace.open("a.md", heading="costs"))).text == "## Costs\n\nNew.\n"


@pytest.mark.parametrize("heading", ["Profit", "Not a heading", "title: Kiln", "#", "?"])
def test_an_unknown_heading_gets_the_outline(open_vault: OpenVault, heading: str) -> None:
    with pytest.raises(NoteNotFound) as refused:
        printed(open_vault(VAULT).open("cust/acme/kiln.md", heading=heading))
    assert refused.value.message == f"cust/acme/kiln.md has no heading {heading!r}."
    assert refused.value.hint == (
        'Its headings: 4: "The kiln"; 8: "Costs"; 13: "Oil"; 17: "Costs of 2025"; 25: "Underlined";'
        ' 32: "Last `code` and [link]".'
    )


def test_a_heading_of_a_note_without_headings_gets_a_hint_to_use_lines(
    open_vault: OpenVault,
) -> None:
    with pytest.raises(NoteNotFound, match="It has no headings; open it by lines"):
        printed(open_vault("=== a.md\ntext\n").open("a.md", heading="Costs"))


def test_lines_win_over_a_heading(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    part = read_part(printed(workspace.open("cust/acme/kiln.md", lines="1-2", heading="Costs")))
    assert part.lines == "1-2 of 34"


# -- in parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [200, 500, 2_000, 8_000])
def test_a_long_note_comes_in_parts_that_join_to_the_file(
    open_vault: OpenVault, budget: int
) -> None:
    text = "".join(f"- line {n} of the yard book, kept by the porter\n" for n in range(900))
    workspace = open_vault(f"=== cust/acme/book.md\n{text}")
    parts = list(all_parts(workspace, "cust/acme/book.md", budget))
    assert "".join(part.text for part in parts) == text
    assert all(part.tokens <= budget for part in parts)
    assert all(part.text.endswith("\n") for part in parts)
    assert len(parts) <= exact_tokens(text) // (budget - 150) + 1


def test_a_part_of_a_line_range_continues_only_to_its_end(open_vault: OpenVault) -> None:
    text = "".join(f"- line {n} of the yard book, kept by the porter\n" for n in range(900))
    workspace = open_vault(f"=== book.md\n{text}")
    part = read_part(printed(workspace.open("book.md", lines="100-400", budget=500)))
    assert part.next_lines is not None
    assert part.next_lines.endswith("-400")
    section = "# A\n\n" + text + "\n# B\n\nend\n"
    workspace = open_vault(f"=== book.md\n{section}")
    part = read_part(printed(workspace.open("book.md", heading="A", budget=500)))
    assert part.next_lines is not None
    assert part.next_lines.endswith("-903")


def test_a_line_longer_than_the_budget_continues_at_a_character(open_vault: OpenVault) -> None:
    text = "# A\n" + "the gondola and its keeper " * 400 + "\nend\n"
    workspace = open_vault(f"=== a.md\n{text}")
    first, second, *rest = all_parts(workspace, "a.md", 500)
    assert (first.text, first.next_lines) == ("# A\n", "2-3")
    assert re.fullmatch(r"2@0 of 3 \(characters 0-\d+ of the line\)", second.lines)
    assert second.next_lines == f"2@{len(second.text)}-3"
    assert rest[-1].next_lines is None
    assert "".join(part.text for part in (first, second, *rest)) == text


@pytest.mark.parametrize(
    "line",
    ["x" * 9_000, "倉庫" * 3_000, "🏗️" * 1_500, " " * 9_000 + "x", "e\u0301" * 3_000, "`" * 3_000],
    ids=["letters", "CJK", "emoji", "blanks", "combining", "backticks"],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_any_long_line_joins(open_vault: OpenVault, line: str, end: str) -> None:
    text = f"before\n{line}{end}"
    workspace = open_vault(f"=== a.md\n{text}")
    parts = list(all_parts(workspace, "a.md", 400))
    assert "".join(part.text for part in parts) == text
    assert all(part.tokens <= 400 for part in parts)


def test_an_empty_note_says_so(open_vault: OpenVault) -> None:
    part = read_part(printed(open_vault("=== a.md\n=== b.md\ntext\n").open("a.md")))
    assert (part.lines, part.text) == ("0", "")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a\nb", "a\nb"),
        ("a\r\nb\r\n", "a\r\nb\r\n"),
        ("a\rb\r", "a\rb\r"),
        ("a\n\n\n", "a\n\n\n"),
        ("\n", "\n"),
        ("   ", "   "),
        ("a\u2028b\x0bc\x0cd\x85e\n", "a\u2028b\x0bc\x0cd\x85e\n"),
        ("\ufeff# A\n", "# A\n"),
        ("a\tb  \n", "a\tb  \n"),
        ("```\ncode\n```\n````\n", "```\ncode\n```\n````\n"),
        ("```", "```"),
        ('[workingset] open\nnext: open_source_file(path="x", lines="1-2")\n',) * 2,
        (NO_END, NO_END),
        ("a" + NO_END.strip(), "a" + NO_END.strip()),
    ],
    ids=repr,
)
def test_the_text_is_shown_verbatim(open_vault: OpenVault, written: str, shown: str) -> None:
    part = read_part(printed(open_vault(f"=== a.md\n{written}").open("a.md")))
    assert part.text == shown


def test_invalid_utf8_is_shown_with_a_warning(open_vault: OpenVault) -> None:
    part = read_part(printed(open_vault("=== a.md\nGr\udcf6\udcdfe 漢\n").open("a.md")))
    assert part.text == "Gr\ufffd\ufffde 漢\n"
    assert part.warnings.startswith("warning: line 1: some bytes are not UTF-8")


@pytest.mark.parametrize("max_bytes", [1_000, 4_000])
def test_the_byte_limit_of_a_client_is_kept(open_vault: OpenVault, max_bytes: int) -> None:
    text = "".join(f"- 第{n}行は倉庫の帳簿\n" for n in range(500))
    workspace = open_vault(f"=== a.md\n{text}")
    lines: str | None = None
    joined = ""
    while True:
        answer = printed(workspace.open("a.md", lines=lines, limits=Limits(max_bytes=max_bytes)))
        assert len(answer.encode()) <= max_bytes
        part = read_part(answer)
        joined += part.text
        if part.next_lines is None:
            break
        lines = part.next_lines
    assert joined == text


characters = st.one_of(
    st.sampled_from("ab `~#-\n\r\t漢字é🏗倉"),
    st.sampled_from(["\r\n", "\n", "```\n", "# A\n", "x" * 500, "漢" * 200, " " * 300, "` " * 90]),
    st.characters(codec="utf-8", exclude_characters="\ufeff\ufffe"),
)
texts = st.lists(characters, max_size=60).map("".join)


@settings(
    max_examples=150,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=texts, times=st.integers(1, 8), budget=st.integers(200, 1_200))
@example(text="", times=1, budget=200)
@example(text="a\r\n", times=400, budget=200)
@example(text="\r", times=3_000, budget=200)
@example(text="`" * 3_000, times=1, budget=200)
@example(text="\ud7ff\U0010ffff" * 400, times=1, budget=200)
def test_the_parts_of_any_text_join_to_it(
    workspace_of_one: Workspace, text: str, times: int, budget: int
) -> None:
    whole = text * times
    (workspace_of_one.vault.root / "a.md").write_bytes(whole.encode("utf-8"))
    parts = list(all_parts(workspace_of_one, "a.md", budget))
    assert "".join(part.text for part in parts) == whole
    assert all(part.tokens <= budget for part in parts)


@pytest.fixture(scope="module")
def workspace_of_one() -> Iterator[Workspace]:
    with tempfile.TemporaryDirectory(prefix="workingset-test-") as folder:
        write_vault(Path(folder), "=== a.md\n")
        with closing(Workspace(Path(folder), Settings(), in_memory=True)) as workspace:
            workspace.build()
            yield workspace


# -- every printed path opens as printed -----------------------------------------------------------

ODD_NAMES = [
    "plain.md",
    "with space.md",
    "hash#tag.md",
    "100% done.md",
    "%20encoded.md",
    "what? why!.md",
    'it\'s "quoted".md',
    "[brackets] (round) {curly}.md",
    "-dash first.md",
    "🚧 works.md",
    "東京倉庫.md",
    "Größe.md",
    "Gro\u0308ße apart.md",
    "comma, semi; colon.md",
    "note:12.md",
    "a · b › c.md",
    "back`tick``s.md",
    "under_[x]_.md",
    "UPPER.MD",
    "page.markdown",
    "deep/er/and deeper/n.md",
]


@pytest.fixture
def odd_vault(open_vault: OpenVault) -> Workspace:
    return open_vault(
        "".join(
            f"=== cust/acme/{name}\n# Note {at}\n\n- [ ] oil gondola number {at}\n\n"
            f"Decision: keep gondola {at}\n"
            for at, name in enumerate(ODD_NAMES)
        )
    )


def test_every_path_that_search_prints_opens_as_printed(odd_vault: Workspace) -> None:
    quotes = {
        f"{path}:{lines}": shown
        for path, lines, shown in re.findall(
            r"^### (.+?\.(?:md|MD|markdown)):(\d+(?:-\d+)?)(?= · ).*\n`{3,}\n((?:.*\n)*?)`{3,}$",
            printed(odd_vault.search("gondola", budget=8_000)),
            re.MULTILINE,
        )
    }
    assert {name.rpartition(":")[0] for name in quotes} == {
        f"cust/acme/{show_name(n)}" for n in ODD_NAMES
    }
    for name, shown in quotes.items():
        assert read_part(printed(odd_vault.open(name))).text == shown
        assert read_part(printed(odd_vault.open(name.rpartition(":")[0]))).text.startswith(
            "# Note "
        )


def test_every_source_that_a_brief_prints_opens_as_printed(odd_vault: Workspace) -> None:
    brief = printed(odd_vault.brief("cust/acme", budget=24_000))
    sources = [
        source
        for mark in re.findall(r"_\[(cust/acme/.+?:[\d,-]+)\]_$", brief, re.MULTILINE)
        for source in re.split(r"(?<=\d), (?=cust/acme/)", mark)
    ]
    opened = [read_part(printed(odd_vault.open(source))) for source in sources]
    assert {part.path for part in opened} == {f"cust/acme/{show_name(name)}" for name in ODD_NAMES}
    assert all("gondola" in part.text for part in opened)


def test_a_continued_part_of_an_odd_path_opens_as_printed(open_vault: OpenVault) -> None:
    text = "".join(f"- line {n} of the yard book, kept by the porter\n" for n in range(60))
    workspace = open_vault("".join(f"=== {name}\n{text}" for name in ODD_NAMES))
    for name in ODD_NAMES:
        assert "".join(part.text for part in all_parts(workspace, name, 300)) == text


def test_a_passage_that_search_prints_opens_as_the_same_lines(open_vault: OpenVault) -> None:
    text = "# Book\n\n" + "".join(f"- line {n} of the gondola book\n" for n in range(400))
    workspace = open_vault(f"=== cust/acme/book.md\n{text}")
    run = read_answer(printed(workspace.search("gondola", budget=500))).runs[0]
    part = read_part(printed(workspace.open(f"{run.path}:{run.first}-{run.last}")))
    assert part.text.split("\n")[:-1] == list(run.lines)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "not the path of a note"),
        ("   ", "not the path of a note"),
        ("a\0b.md", "not the path of a note"),
        ("x" * 5_000 + ".md", "not the path of a note"),
        ("\ud800.md", "not valid text"),
        ("../outside.md", "leads outside the vault"),
        ("cust/../../outside.md", "leads outside the vault"),
        ("/etc/hostname", "leads outside the vault"),
        ("~/notes.md", "leads outside the vault"),
        ("C:\\notes\\plan.md", "leads outside the vault"),
        ("cust/acme", "cust/acme is a folder, not a note"),
        ("cust/acme/", "cust/acme is a folder, not a note"),
        (".", "the vault itself"),
        ("cust/acme/list.txt", "cust/acme/list.txt is not a note"),
        ("workingset.toml", "workingset.toml is not a note"),
        (".hidden.md", "is hidden or ignored"),
        (".git/notes.md", "is hidden or ignored"),
        ("private/a.md", "is hidden or ignored"),
        ("node_modules/a.md", "is hidden or ignored"),
    ],
)
def test_a_forbidden_path_is_refused_with_a_plain_reason_and_a_next_step(
    open_vault: OpenVault, path: str, reason: str
) -> None:
    workspace = open_vault(
        "=== cust/acme/kiln.md\ntext\n=== cust/acme/list.txt\nsecret\n=== workingset.toml\n"
        "=== .hidden.md\nsecret\n=== .git/notes.md\nsecret\n=== .gitignore\nprivate/\n"
        "=== private/a.md\nsecret\n=== node_modules/a.md\nsecret\n"
    )
    with pytest.raises(PathRefused) as refused:
        printed(workspace.open(path))
    assert reason in refused.value.message
    assert refused.value.hint
    assert "secret" not in str(refused.value)


def test_a_link_out_of_the_vault_is_refused_without_saying_where_it_leads(
    open_vault: OpenVault, tmp_path: Path
) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "a.md").write_text("secret\n", encoding="utf-8")
    workspace = open_vault("=== b.md\ntext\n")
    (workspace.vault.root / "a.md").symlink_to(outside / "a.md")
    (workspace.vault.root / "folder").symlink_to(outside)
    for path in ("a.md", "folder/a.md"):
        with pytest.raises(PathRefused, match="leads outside the vault") as refused:
            printed(workspace.open(path))
        assert "elsewhere" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("cust/acme/klin.md", "cust/acme/kiln.md"),
        ("acme/kiln.md", "cust/acme/kiln.md"),
        ("cust/acme/kiln", "cust/acme/kiln.md"),
        ("kiln.md", "cust/acme/kiln.md"),
        ("cust/acme/zzz/qqq.md", ""),
    ],
)
def test_an_unknown_note_gets_the_names_of_near_ones(
    open_vault: OpenVault, path: str, near: str
) -> None:
    with pytest.raises(NoteNotFound) as refused:
        printed(open_vault(VAULT).open(path))
    assert refused.value.message == f"There is no note {path!r}."
    assert near in refused.value.hint
    assert refused.value.hint


def test_a_note_deleted_since_the_index_was_built_is_unknown(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(f"{VAULT}=== cust/acme/kiln-2.md\ntext\n")
    (workspace.vault.root / "cust/acme/kiln.md").unlink()
    with pytest.raises(NoteNotFound, match=r"There is no note 'cust/acme/kiln\.md'") as refused:
        printed(workspace.open("cust/acme/kiln.md"))
    assert "cust/acme/kiln-2.md" in refused.value.hint


def test_an_edit_shows_at_once(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    (workspace.vault.root / "cust/acme/kiln.md").write_bytes(b"# New\n")
    assert read_part(printed(workspace.open("cust/acme/kiln.md"))).text == "# New\n"


@pytest.mark.parametrize("budget", [199, 1, 0, -1])
def test_too_small_a_budget_is_refused_with_the_least(open_vault: OpenVault, budget: int) -> None:
    with pytest.raises(ArgumentError, match=f"budget={budget} is too small. Give 200 to"):
        printed(open_vault(VAULT).open("cust/acme/kiln.md", budget=budget))


def test_too_large_a_budget_is_lowered_with_a_warning(open_vault: OpenVault) -> None:
    answer = printed(open_vault(VAULT).open("cust/acme/kiln.md", budget=10**9))
    part = read_part(answer)
    assert part.warnings == (
        "warning: budget lowered from 1,000,000,000 to 24,000, the most here\n"
    )
    assert part.text == f"{NOTE}\n"
