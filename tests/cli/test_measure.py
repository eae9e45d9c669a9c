"""The savings of briefs as table, data and page, and the briefs that `brief --write` writes."""

import json
import math
import os
import re
import shutil
import stat
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import MakeVault, OpenVault
from inline_snapshot import snapshot

from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.cli.demo import example_vault
from workingset_mcp.cli.main import main
from workingset_mcp.cli.measure import Measured, as_data, as_page, as_table, measure, total_of
from workingset_mcp.notes.written_brief import unsigned

ROWS = [
    Measured("cust/acme", 28, 57_141, 1_681),
    Measured("cust/weir", 4, 1_000, 600),
    Measured("wiki", 12, 10_000, 2_000),
]
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command on a vault with its index in a separate folder."""

    def run_it(vault: Path, command: str, *arguments: str) -> Result:
        index_dir = str(tmp_path / "index")
        given = [command, "--vault", str(vault), "--index-dir", index_dir, *arguments]
        return CliRunner().invoke(main, given, catch_exceptions=False)

    return run_it


def briefs_in(vault: Path) -> dict[str, str]:
    return {
        file.relative_to(vault).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(vault.rglob("brief.md"))
    }


# -- numbers ---------------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_branch_the_total_and_what_is_not_worth_it() -> None:
    assert as_table(ROWS) == snapshot("""\
| branch | notes | source tokens | brief tokens | reduction |
|---|---:|---:|---:|---:|
| cust/acme | 28 | 57,141 | 1,681 | 34.0× |
| cust/weir | 4 | 1,000 | 600 | 1.7× |
| wiki | 12 | 10,000 | 2,000 | 5.0× |
| all | 44 | 68,141 | 4,281 | 15.9× |

Under 2×, probably not worth a brief: cust/weir
""")


def test_with_an_overhead_the_table_shows_the_reduction_of_the_bill() -> None:
    lines = as_table(ROWS, 50_000).split("\n")
    assert lines[0].endswith("| reduction | billed |")
    assert lines[2].endswith("| 34.0× | 2.1× |")
    assert lines[3].endswith("| 1.7× | 1.0× |")


def test_a_single_branch_has_no_total() -> None:
    assert "| all |" not in as_table(ROWS[:1])
    assert "not worth" not in as_table(ROWS[:1])


def test_exactly_twice_is_worth_it_and_an_empty_branch_is_not() -> None:
    assert "not worth" not in as_table([Measured("a", 1, 200, 100)])
    assert "not worth a brief: a" in as_table([Measured("a", 1, 199, 100)])
    assert Measured("a", 0, 0, 0).reduction == 0.0


def test_the_data_agrees_with_itself_and_with_the_table() -> None:
    data: dict[str, Any] = json.loads(json.dumps(as_data(ROWS, 50_000)))
    rows = [*data["branches"], data["all"]]
    assert [row["branch"] for row in rows] == ["cust/acme", "cust/weir", "wiki", "all"]
    for field in ("notes", "source_tokens", "brief_tokens"):
        assert data["all"][field] == sum(row[field] for row in data["branches"])
    for row, line in zip(rows, as_table(ROWS, 50_000).split("\n")[2:6], strict=True):
        assert row["reduction"] == round(row["source_tokens"] / row["brief_tokens"], 2)
        billed = (row["source_tokens"] + 50_000) / (row["brief_tokens"] + 50_000)
        assert row["billed_reduction"] == round(billed, 2)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[:4] == [
            row["branch"],
            f"{row['notes']:,}",
            f"{row['source_tokens']:,}",
            f"{row['brief_tokens']:,}",
        ]
        assert abs(float(cells[4].rstrip("×")) - row["reduction"]) <= 0.05
    assert "billed_reduction" not in json.dumps(as_data(ROWS))


def test_the_notes_and_the_brief_as_given_are_measured(open_vault: OpenVault) -> None:
    notes = {"a.md": "# A\n\n- [ ] oil the weir\n", "sub/b.md": "# B\n\nText.\r\n" * 50}
    workspace = open_vault(
        "".join(f"=== cust/acme/{path}\n{text}" for path, text in notes.items())
        + "=== cust/acme/override.md\nEvergreen.\n=== cust/acme-labs/n.md\nOther.\n"
        + "=== cust/acme/brief.md\n---\nkind: workingset-brief\n---\nOld.\n"
    )
    (row,) = measure(workspace, ["cust/acme"])
    assert (row.branch, row.notes) == ("cust/acme", 2)
    assert row.source_tokens == sum(count_tokens(text) for text in notes.values())
    assert row.brief_tokens == count_tokens(workspace.brief("cust/acme").body)
    (small,) = measure(workspace, ["cust/acme"], 400)
    assert small.brief_tokens <= 400
    rows = measure(workspace, workspace.branches())
    assert [one.branch for one in rows] == ["cust/acme", "cust/acme-labs"]
    assert total_of(rows).notes == 3


# -- the page --------------------------------------------------------------------------------------


class Page(HTMLParser):
    """A parsed page: its elements with their attributes and texts."""

    VOID = frozenset({"meta", "link", "img", "br", "hr", "input", "line"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))
        if tag not in self.VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for at in self._open:
            self.elements[at][2].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str], str]]:
        return [(attrs, "".join(text)) for name, attrs, text in self.elements if name == tag]

    @property
    def dots(self) -> dict[str, tuple[float, float, str]]:
        """Return the position and title of the dot of each branch."""
        dots = [(attrs, text) for attrs, text in self.all("circle") if attrs.get("class") == "dot"]
        found = {
            attrs["data-branch"]: (float(attrs["cx"]), float(attrs["cy"]), text)
            for attrs, text in dots
        }
        assert len(found) == len(dots)
        return found


def test_the_page_has_a_dot_for_each_branch_with_its_numbers_in_the_title() -> None:
    page = Page(as_page(ROWS, "notes"))
    assert list(page.dots) == ["cust/acme", "cust/weir", "wiki"]
    assert page.dots["cust/acme"][2] == "cust/acme: 57,141 → 1,681 tokens, 34.0×"
    assert len([text for _, text in page.all("title") if "tokens" in text]) == 3
    ((box, _),) = page.all("svg")
    _, _, width, height = map(float, box["viewbox"].split())
    for x, y, _ in page.dots.values():
        assert 0 < x < width
        assert 0 < y < height


def test_dots_are_placed_by_source_tokens_on_a_log_axis_and_by_reduction() -> None:
    rows = [Measured(f"b{n}", 1, 10**n * 3, 10**n * 3 // n) for n in range(2, 7)]
    dots = list(Page(as_page(rows, "notes")).dots.values())
    across = [x for x, _, _ in dots]
    steps = [right - left for left, right in pairwise(across)]
    assert min(steps) > 0
    assert max(steps) - min(steps) < 0.25
    reductions = [row.reduction for row in rows]
    fall = [
        (dots[n][1] - dots[n + 1][1]) / (reductions[n + 1] - reductions[n])
        for n in range(len(rows) - 1)
    ]
    assert min(fall) > 0
    assert max(fall) - min(fall) < 0.5


@pytest.mark.parametrize("tokens", [1, 9, 10, 1_000, 999_999])
def test_a_single_branch_of_any_size_has_its_dot(tokens: int) -> None:
    ((x, y, _),) = Page(as_page([Measured("a", 1, tokens, 1)], "notes")).dots.values()
    assert math.isfinite(x)
    assert math.isfinite(y)


def test_no_branches_and_empty_branches_still_make_a_page() -> None:
    assert Page(as_page([], "notes")).dots == {}
    page = Page(as_page([*ROWS, Measured("empty", 0, 0, 150)], "notes"))
    assert set(page.dots) >= {"cust/acme", "cust/weir", "wiki"}
    assert "empty" in [text for _, text in page.all("td")]


def test_the_page_holds_the_data_and_a_table_of_the_same_numbers() -> None:
    page = Page(as_page(ROWS, "notes", 50_000))
    (data,) = [text for attrs, text in page.all("script") if attrs.get("id") == "data"]
    assert json.loads(data) == as_data(ROWS, 50_000)
    cells = [text for _, text in page.all("td")]
    assert cells[:5] == ["cust/acme", "28", "57,141", "1,681", "34.0×"]
    assert [cells[at] for at in range(0, len(cells), 5)] == ["cust/acme", "wiki", "cust/weir"]


def test_the_page_loads_nothing_from_a_network() -> None:
    text = as_page(ROWS, "notes")
    assert not re.search(r"https?:|//[a-z]|url\(|@import", text)
    for tag, attrs, _ in Page(text).elements:
        assert tag not in {"link", "img", "iframe", "object", "embed"}
        assert not {"src", "href", "xlink:href", "action", "onload"} & attrs.keys()


def test_names_of_vault_and_branches_are_escaped_in_the_page() -> None:
    vault = "R&D <b>\"x\"</title></script><script>alert('1')</script>{rows}"
    branch = "cust/<i onload=\"x\">&amp;</script><script>'{data}'"
    rows = [*ROWS, Measured(branch, 1, 5_000, 100)]
    page = Page(as_page(rows, vault))
    tags = {tag for tag, _, _ in page.elements}
    assert not tags & {"b", "i"} - {tag for tag, _, _ in Page(as_page(ROWS, "notes")).elements}
    assert len(page.all("script")) == 1
    assert page.dots[branch][2].startswith(f"{branch}: 5,000 → 100 tokens")
    assert page.all("h1")[0][1].endswith(vault)
    assert page.all("title")[0][1].endswith(vault)
    assert branch in [text for _, text in page.all("td")]
    ((_, data),) = page.all("script")
    assert json.loads(data) == as_data(rows)


# -- the commands ----------------------------------------------------------------------------------


def test_measure_prints_the_table_and_the_same_numbers_as_json(run: Run) -> None:
    printed = run(example_vault(), "measure")
    assert printed.exit_code == 0
    assert printed.stderr == ""
    told = json.loads(run(example_vault(), "measure", "--json").stdout)
    assert (told["schema_version"], told["command"]) == (2, "measure")
    data = told["data"]
    assert data["text"] == printed.stdout
    rows = [
        Measured(row["branch"], row["notes"], row["source_tokens"], row["brief_tokens"])
        for row in data["branches"]
    ]
    assert as_table(rows) == printed.stdout
    assert as_data(rows) == {"branches": data["branches"], "all": data["all"]}
    assert [row.branch for row in rows][:3] == [".", "cust/acme", "cust/acme-labs"]


def test_measure_takes_a_branch_or_a_pattern(run: Run) -> None:
    one = json.loads(run(example_vault(), "measure", "acme-labs", "--json").stdout)["data"]
    assert [row["branch"] for row in one["branches"]] == ["cust/acme-labs"]
    some = run(example_vault(), "measure", "--include", "cust/*", "--json")
    found = [row["branch"] for row in json.loads(some.stdout)["data"]["branches"]]
    assert found == ["cust/acme", "cust/acme-labs"]
    none = run(example_vault(), "measure", "--include", "nothing/*")
    assert none.exit_code == 1
    assert none.stdout == "no branch matches\n"


def test_measure_writes_the_page(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    printed = run(example_vault(), "measure", "--html", str(target), "--json", "--overhead", "9000")
    assert printed.exit_code == 0
    page = Page(target.read_text(encoding="utf-8"))
    data = json.loads(printed.stdout)["data"]
    assert list(page.dots) == [row["branch"] for row in data["branches"]]
    ((_, held),) = page.all("script")
    assert json.loads(held) == {"branches": data["branches"], "all": data["all"]}


def test_measure_leaves_the_vault_unchanged(run: Run, tmp_path: Path) -> None:
    vault = Path(shutil.copytree(example_vault(), tmp_path / "vault"))
    before = {file: file.stat().st_mtime_ns for file in sorted(vault.rglob("*"))}
    assert run(vault, "measure").exit_code == 0
    assert {file: file.stat().st_mtime_ns for file in sorted(vault.rglob("*"))} == before


def test_written_briefs_equal_the_printed_ones(run: Run, tmp_path: Path) -> None:
    vault = Path(shutil.copytree(example_vault(), tmp_path / "vault"))
    printed = {
        name: run(vault, "brief", name).stdout
        for name in ("cust/acme", "cust/acme-labs", "wiki", ".")
    }
    result = run(vault, "brief", "--all", "--write")
    assert result.exit_code == 0
    written = briefs_in(vault)
    assert sorted(result.stdout.split()) == sorted(written)
    unmarked = {name: unsigned(written[f"{name}/brief.md".removeprefix("./")]) for name in printed}
    assert unmarked == printed
    assert all("kind: workingset-brief" in text for text in written.values())


def test_a_second_write_changes_nothing(run: Run, tmp_path: Path) -> None:
    vault = Path(shutil.copytree(example_vault(), tmp_path / "vault"))
    run(vault, "brief", "--all", "--write")
    before = {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in vault.rglob("*.md")}
    again = run(vault, "brief", "--all", "--write", "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["data"]["written"] == []
    assert run(vault, "brief", "--all", "--write").stdout == "nothing changed\n"
    after = {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in vault.rglob("*.md")}
    assert after == before


def test_only_the_brief_of_a_branch_that_changed_is_written_again(run: Run, tmp_path: Path) -> None:
    vault = Path(shutil.copytree(example_vault(), tmp_path / "vault"))
    run(vault, "brief", "--all", "--write")
    before = briefs_in(vault)
    (vault / "wiki" / "new.md").write_text("# New\n\n- [ ] oil the weir\n", encoding="utf-8")
    assert run(vault, "brief", "--all", "--write").stdout == "wiki/brief.md\n"
    after = briefs_in(vault)
    assert "oil the weir" in after.pop("wiki/brief.md")
    before.pop("wiki/brief.md")
    assert after == before


@pytest.mark.skipif(os.name != "posix", reason="modes as POSIX has them")
@pytest.mark.parametrize(
    ("notes", "mode"),
    [((0o644, 0o644), 0o644), ((0o600, 0o600), 0o600), ((0o600, 0o644), 0o600),
     ((0o664, 0o640), 0o640), ((0o664, 0o664), 0o664), ((0o400, 0o444), 0o600)],
)  # fmt: skip
def test_a_written_brief_has_no_wider_mode_than_any_note_it_quotes(
    run: Run, make_vault: MakeVault, tmp_path: Path, notes: tuple[int, int], mode: int
) -> None:
    vault = make_vault("=== cust/acme/a.md\n- [ ] oil\n=== cust/acme/deep/b.md\n- [ ] paint\n")
    for name, of_note in zip(("a.md", "deep/b.md"), notes, strict=True):
        (vault / "cust/acme" / name).chmod(of_note)
    out = tmp_path / "out.md"
    run(vault, "brief", "cust/acme", "--write")
    run(vault, "brief", "cust/acme", "--out", str(out))
    for file in (vault / "cust/acme/brief.md", out):
        assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="modes as POSIX has them")
def test_a_written_brief_keeps_its_mode(run: Run, make_vault: MakeVault) -> None:
    vault = make_vault("=== cust/acme/a.md\n- [ ] oil the weir\n")
    file = vault / "cust/acme/brief.md"
    run(vault, "brief", "cust/acme", "--write")
    for mode in (0o600, 0o640, 0o664):
        file.chmod(mode)
        (vault / "cust/acme/a.md").write_text(f"- [ ] item {mode}\n", encoding="utf-8")
        assert run(vault, "brief", "cust/acme", "--write").stdout == "cust/acme/brief.md\n"
        assert f"item {mode}" in file.read_text(encoding="utf-8")
        assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_reader_sees_the_old_brief_or_the_new_one(
    run: Run, make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = make_vault("=== cust/acme/a.md\n- [ ] old item\n")
    folder = vault / "cust/acme"
    run(vault, "brief", "cust/acme", "--write")
    old = (folder / "brief.md").read_text(encoding="utf-8")
    (folder / "a.md").write_text("- [ ] new item\n", encoding="utf-8")
    seen: list[str] = []
    really = os.fsync

    def fsync(handle: int) -> None:
        really(handle)  # all is written, nothing is renamed yet
        seen.append((folder / "brief.md").read_text(encoding="utf-8"))
        beside = {file.name for file in folder.iterdir()} - {"a.md", "brief.md"}
        assert len(beside) == 1
        assert all(name.startswith(".") for name in beside)

    monkeypatch.setattr(os, "fsync", fsync)
    run(vault, "brief", "cust/acme", "--write")
    assert seen == [old]
    assert "new item" in (folder / "brief.md").read_text(encoding="utf-8")
    assert {file.name for file in folder.iterdir()} == {"a.md", "brief.md"}


def test_a_failed_write_leaves_the_old_brief_and_no_partial_file(
    run: Run, make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = make_vault("=== cust/acme/a.md\n- [ ] old item\n")
    folder = vault / "cust/acme"
    run(vault, "brief", "cust/acme", "--write")
    old = (folder / "brief.md").read_bytes()
    (folder / "a.md").write_text("- [ ] new item\n", encoding="utf-8")

    def fsync(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    result = run(vault, "brief", "cust/acme", "--write")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("Error: brief.md cannot be written: No space left")
    assert (folder / "brief.md").read_bytes() == old
    assert {file.name for file in folder.iterdir()} == {"a.md", "brief.md"}


OWN_BRIEFS = {
    "a note": "# Brief history of the weir\n\nBuilt by hand.\n",
    "the kind in prose": "# Mine\n\nThe tool writes `kind: workingset-brief`; I do not.\n",
    "the kind in a line": "kind: workingset-brief\n\n# Mine\n",
    "the kind in a fence": "# Mine\n\n```\n---\nkind: workingset-brief\n---\n```\n",
    "another kind": "---\nkind: workingset-brief-of-mine\n---\n# Mine\n",
    "nothing": "",
}


@pytest.mark.parametrize("options", [(), ("--force",)], ids=["", "--force"])
@pytest.mark.parametrize("words", OWN_BRIEFS.values(), ids=OWN_BRIEFS)
def test_a_persons_own_brief_md_is_not_overwritten(
    run: Run, make_vault: MakeVault, words: str, options: tuple[str, ...]
) -> None:
    vault = make_vault(
        f"=== cust/acme/a.md\n- [ ] item\n=== cust/acme/brief.md\n{words}=== wiki/a.md\n# A\n"
    )
    result = run(vault, "brief", "cust/acme", "--write", *options)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "cust/acme/brief.md was not written by this command" in result.stderr
    result = run(vault, "brief", "--all", "--write", *options)
    assert (result.exit_code, result.stdout) == (0, "wiki/brief.md\n")
    assert "cust/acme/brief.md" in result.stderr
    assert (vault / "cust/acme/brief.md").read_text(encoding="utf-8") == words


EDITS: dict[str, Callable[[str], str]] = {
    "words added": lambda text: f"{text}\nMine.\n",
    "a word changed": lambda text: text.replace("oil the weir", "paint the weir"),
    "a field changed": lambda text: text.replace("branch: ", "branch: my"),
    "the digest gone": lambda text: re.sub(r"digest: .*\n", "", text),
    "the digest changed": lambda text: re.sub(r"digest: .*", f"digest: {'0' * 32}", text),
    "a line gone": lambda text: text.rpartition("\n")[0],
    "all but the kind": lambda _: "---\nkind: workingset-brief\n---\n# Mine\n",
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_brief_that_a_person_edited_is_overwritten_only_with_force(
    run: Run, make_vault: MakeVault, edit: Callable[[str], str]
) -> None:
    vault = make_vault("=== cust/acme/a.md\n- [ ] oil the weir\n=== wiki/a.md\n# A\n")
    file = vault / "cust/acme/brief.md"
    run(vault, "brief", "cust/acme", "--write")
    edited = edit(file.read_text(encoding="utf-8"))
    file.write_text(edited, encoding="utf-8")
    result = run(vault, "brief", "cust/acme", "--write")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "was edited since it was written" in result.stderr
    result = run(vault, "brief", "--all", "--write")
    assert (result.exit_code, result.stdout) == (0, "wiki/brief.md\n")
    assert "note: cust/acme/brief.md was edited" in result.stderr
    assert file.read_text(encoding="utf-8") == edited
    assert run(vault, "brief", "cust/acme", "--write", "--force").stdout == "cust/acme/brief.md\n"
    assert unsigned(file.read_text(encoding="utf-8")) == run(vault, "brief", "cust/acme").stdout


def test_a_written_brief_with_the_line_ends_of_windows_is_still_ours(
    run: Run, make_vault: MakeVault
) -> None:
    vault = make_vault("=== cust/acme/a.md\n- [ ] oil the weir\n")
    file = vault / "cust/acme/brief.md"
    run(vault, "brief", "cust/acme", "--write")
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert run(vault, "brief", "cust/acme", "--write").stdout == "nothing changed\n"
    (vault / "cust/acme/a.md").write_text("- [ ] paint the weir\n", encoding="utf-8")
    assert run(vault, "brief", "cust/acme", "--write").stdout == "cust/acme/brief.md\n"


@pytest.mark.skipif(os.name != "posix", reason="links and pipes as POSIX has them")
@pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "pipe"])
def test_a_brief_that_is_a_link_or_a_pipe_is_left_as_it_is(
    run: Run, make_vault: MakeVault, tmp_path: Path, kind: str
) -> None:
    vault = make_vault("=== cust/acme/a.md\n- [ ] item\n")
    file, outside = vault / "cust/acme/brief.md", tmp_path / "outside.md"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "second name":
        run(vault, "brief", "cust/acme", "--write")
        os.link(file, outside)
    else:
        file.symlink_to(outside)
    (vault / "cust/acme/a.md").write_text("- [ ] another\n", encoding="utf-8")
    if kind == "link":
        outside.write_bytes(b"of another")
    before = outside.read_bytes() if outside.exists() else None
    result = run(vault, "brief", "cust/acme", "--write")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "cust/acme/brief.md is left as it is" in result.stderr
    assert (outside.read_bytes() if outside.exists() else None) == before


@pytest.mark.parametrize("there", [True, False])
def test_a_brief_that_a_person_saves_at_the_same_moment_stays(
    run: Run, make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    vault = make_vault("=== cust/acme/a.md\n- [ ] old item\n")
    file = vault / "cust/acme/brief.md"
    if there:
        run(vault, "brief", "cust/acme", "--write")
        (vault / "cust/acme/a.md").write_text("- [ ] new item\n", encoding="utf-8")
    really = os.fsync

    def fsync(handle: int) -> None:
        really(handle)
        file.write_bytes(b"# Mine\n")

    monkeypatch.setattr(os, "fsync", fsync)
    result = run(vault, "brief", "cust/acme", "--write")
    assert (result.exit_code, result.stdout) == (3, "")
    assert file.read_bytes() == b"# Mine\n"
    assert sorted(path.name for path in file.parent.iterdir()) == ["a.md", "brief.md"]


@pytest.mark.parametrize("name", ["a.md", "brief.md", "override.md"])
def test_a_note_that_says_it_is_a_brief_is_named_with_the_reason(
    run: Run, make_vault: MakeVault, name: str
) -> None:
    note = "---\nkind: workingset-brief\n---\n# Mine\n\n- [ ] find the walrus\n"
    vault = make_vault(f"=== cust/acme/{name}\n{note}=== cust/acme/b.md\n# B\n")
    shown = f"cust/acme/{name}:1 left out: its front matter says kind: workingset-brief"
    assert run(vault, "index").exit_code == 0
    assert shown in run(vault, "status").stdout
    listed = run(vault, "items", "--kind", "remark").stdout
    assert "remark: 1 in 1 branch" in listed
    assert "its front matter says kind: workingset-brief" in listed
    assert f"cust/acme/{name}" in listed
    assert run(vault, "search", "walrus").exit_code == 1


def test_an_untouched_written_brief_gets_no_remark(run: Run, make_vault: MakeVault) -> None:
    vault = make_vault("=== cust/acme/a.md\n- [ ] find the walrus\n")
    run(vault, "brief", "--all", "--write")
    file = vault / "cust/acme/brief.md"
    file.rename(file.with_name("moved.md"))
    run(vault, "brief", "--all", "--write")
    assert "remarks: 0" in run(vault, "status").stdout
    assert run(vault, "items", "--kind", "remark").exit_code == 1
    (file.parent / "moved.md").write_text(f"{file.read_text('utf-8')}Mine.\n", encoding="utf-8")
    assert "moved.md" in run(vault, "items", "--kind", "remark").stdout


def test_a_brief_goes_to_the_file_that_is_named(
    run: Run, make_vault: MakeVault, tmp_path: Path
) -> None:
    vault = make_vault("=== cust/acme/a.md\n- [ ] oil the weir\n")
    target = tmp_path / "given.md"
    result = run(vault, "brief", "cust/acme", "--out", str(target))
    assert result.stdout == "given.md\n"
    assert "oil the weir" in target.read_text(encoding="utf-8")
    assert briefs_in(vault) == {}
    refused = run(vault, "brief", "--write")
    assert refused.exit_code == 2
    assert "--all" in refused.stderr
