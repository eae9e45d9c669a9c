"""Hostile input: paths, links swapped in, notes, arguments, and no file watches left.

Each call gets an answer within its budget and a second, or one plain sentence, and the next call works.
Times are CPU time of this thread, so that a busy machine fails no test.
"""

import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import anyio
import anyio.lowlevel
import pytest
from conftest import MakeVault, OpenVault, write_vault
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from watchfiles import Change

from workingset_mcp.answers.answer import Answer, printed
from workingset_mcp.answers.budget import MOST_BUDGET, count_tokens
from workingset_mcp.errors import WorkingsetError
from workingset_mcp.settings import Settings
from workingset_mcp.sync.follower import Follower
from workingset_mcp.vault.folder import Vault
from workingset_mcp.workspace.facade import Workspace

posix_only = pytest.mark.skipif(os.name != "posix", reason="POSIX links, pipes and names")
# Many examples in one test, on a machine that may be busy.
pytestmark = [pytest.mark.timeout(120), pytest.mark.untraced]

MOST_CALL_SECONDS = 6.0  # CPU; the slowest takes 2 s on a busy machine, and a hang takes minutes
MOST_BUILD_SECONDS = 12.0  # CPU; what was cured took minutes
HIDDEN_WORD = "hexenschuss"
VAULT = (
    "=== README.md\n# Home\n\nplainword at home\n"
    "=== cust/acme/a.md\n# Acme\n\n## Status (2026-06-16)\n\nthe pilot is live\n\n"
    "- [ ] send the offer @bob, Due: 2026-06-20\n- [x] call\n\nDecision: go ahead\nOwner: Ann\n"
    "=== cust/acme/b c.md\n---\ntitle: Call\ntags: [x]\n---\n# Call\n\n"
    "plainword, AC-4471, größe 漢字 🔥\n"
    "=== cust/acme-labs/a.md\n# Labs\n\nplainword elsewhere\n"
)


def ask(tool: Callable[..., Answer[object]], *arguments: Any, **named: Any) -> str | None:
    """What a tool says, None where it refuses: in time, within its budget, and valid text."""
    started = time.thread_time()
    try:
        text: str | None = printed(tool(*arguments, **named))
        said = text or ""
    except WorkingsetError as error:
        text, said = None, str(error)
        assert "\n" not in said
        assert len(said) < 4_000
    assert time.thread_time() - started < MOST_CALL_SECONDS
    assert said.encode("utf-8")
    if text is not None:
        assert text.startswith("[workingset] ")
        assert count_tokens(text) <= min(named.get("budget") or MOST_BUDGET, MOST_BUDGET)
    return text


@pytest.fixture(scope="module", autouse=True)
def _table_loaded() -> None:
    count_tokens("the first count loads the table; no call is charged for that")


# -- paths -----------------------------------------------------------------------------------------

WRITTEN = [  # paths from the vault's root that must not be read
    "../outside/secret.md",
    "../vault-labs/secret.md",
    "{outside}/secret.md",
    "cust/../../outside/secret.md",
    "cust/acme/../../../outside/secret.md",
    ".hidden/secret.md",
    "cust/acme/.secret.md",
    "node_modules/secret.md",
    "ignored/secret.md",
    "cust/ignored.md",
    "cust/secret.txt",
    "cust",
    "missing/secret.md",
]
LINKED = [
    "out.md",
    "outdir/secret.md",
    "to-hidden.md",
    "to-ignored.md",
    "to-text.md",
    "dangling.md",
    "loop.md",
    "loopdir/loopdir/secret.md",
    "through-a-file.md",
    "pipe.md",
]
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda p: p,
    "backslashes": lambda p: p.replace("/", "\\"),
    "mixed slashes": lambda p: p.replace("/", "\\", 1),
    "doubled slashes": lambda p: p.replace("/", "//"),
    "a dot before": lambda p: f"./{p}",
    "dots between": lambda p: p.replace("/", "/./"),
    "a folder and back": lambda p: f"cust/../{p}",
    "a slash before": lambda p: f"/{p}",
    "a slash behind": lambda p: f"{p}/",
    "a dot behind": lambda p: f"{p}.",
    "blanks around": lambda p: f"  {p}\t\n",
    "lines behind": lambda p: f"{p}:1-3",
    "several lines behind": lambda p: f"{p}:1-2,3,5-9",
    "a stream behind": lambda p: f"{p}::$DATA",
    "a NUL behind": lambda p: f"{p}\0.md",
    "a NUL inside": lambda p: p.replace("/", "\0/", 1),
    "percent": lambda p: quote(p, safe=""),
    "percent twice": lambda p: quote(quote(p, safe=""), safe=""),
    "percent dots": lambda p: p.replace(".", "%2e"),
    "a file address": lambda p: f"file:///{p}",
    "our own address": lambda p: f"workingset://note/{p}",
    "a drive": lambda p: f"C:{p}",
    "a drive's root": lambda p: "C:\\" + p.replace("/", "\\"),
    "a device": lambda p: "\\\\?\\" + p.replace("/", "\\"),
    "a share": lambda p: f"//server/share/{p}",
    "home": lambda p: f"~/{p}",
    "another's home": lambda p: f"~root/{p}",
    "a variable": lambda p: f"$HOME/{p}",
    "wide dots": lambda p: p.replace(".", "\uff0e"),
    "wide slashes": lambda p: p.replace("/", "\u2215"),
    "upper case": str.upper,
    "in quotes": lambda p: f'"{p}"',
    "a line end inside": lambda p: p.replace("/", "/\n", 1),
    "a direction mark": lambda p: f"\u202e{p}",
    "a lone surrogate": lambda p: f"{p}\ud800",
    "an undecodable byte": lambda p: f"{p}\udcff",
    "over-long": lambda p: "cust/" * 900 + p,
    "over-long name": lambda p: f"{'x' * 300}{p}",
    "ten thousand times up": lambda p: "../" * 10_000 + p,
}
CORPUS = [(written, form) for written in (*WRITTEN, *LINKED) for form in FORMS]


def write_secrets(root: Path) -> Path:
    """Write secrets beside the vault and in files that are not notes; return the outside folder."""
    outside = root.with_name("outside")
    for path in ("outside/secret.md", "vault-labs/secret.md"):
        write_vault(root.parent, f"=== {path}\n# {HIDDEN_WORD}\n")
    for path in WRITTEN[5:11]:
        write_vault(root, f"=== {path}\n# {HIDDEN_WORD}\n")
    write_vault(root, "=== .gitignore\n/ignored/\nignored.md\n")
    return outside


def link_secrets(root: Path, outside: Path) -> None:
    """Make a pipe, and links out of the vault, to files that are not notes, to nothing, and to themselves."""
    for name, target in (
        ("out.md", outside / "secret.md"),
        ("outdir", outside),
        ("to-hidden.md", ".hidden/secret.md"),
        ("to-ignored.md", "ignored/secret.md"),
        ("to-text.md", "cust/secret.txt"),
        ("dangling.md", "nowhere.md"),
        ("loop.md", "loop.md"),
        ("loopdir", "."),
        ("through-a-file.md", "README.md/x.md"),
    ):
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe.md")


@posix_only
def test_no_spelling_of_a_path_reads_what_is_not_a_note(open_vault: OpenVault) -> None:
    workspace = open_vault(VAULT)
    outside = write_secrets(workspace.vault.root)
    link_secrets(workspace.vault.root, outside)
    assert len(CORPUS) >= 300
    for written, form in CORPUS:
        path = FORMS[form](written.replace("{outside}", str(outside)))
        try:
            said = ask(workspace.open, path) or ""
        except (OSError, ValueError, RuntimeError) as error:
            pytest.fail(f"{path[:80]!r} ({form}) raises {type(error).__name__}")
        assert HIDDEN_WORD not in said, (written, form)
    for refused in (*WRITTEN, *LINKED):
        with pytest.raises(WorkingsetError) as caught:
            printed(workspace.open(refused.replace("{outside}", str(outside))))
        assert HIDDEN_WORD not in str(caught.value)
        assert str(workspace.vault.root) not in str(caught.value)
        assert "None" not in str(caught.value)
    assert "nothing found" in printed(workspace.search(HIDDEN_WORD)).partition("\n")[0]
    assert "plainword at home" in printed(workspace.open("README.md"))


@posix_only
@pytest.mark.parametrize("path", [path for path in LINKED if path != "loopdir/loopdir/secret.md"])
def test_a_link_that_leads_nowhere_or_out_is_refused_in_a_sentence(
    open_vault: OpenVault, path: str
) -> None:
    workspace = open_vault(VAULT)
    link_secrets(workspace.vault.root, write_secrets(workspace.vault.root))
    with pytest.raises(WorkingsetError) as caught:
        printed(workspace.open(path))
    assert "None" not in str(caught.value)


def _file_for_link(note: Path, outside: Path) -> None:
    note.unlink()
    note.symlink_to(outside / "secret.md")


def _folder_for_link(note: Path, outside: Path) -> None:
    (outside / note.name).write_text(HIDDEN_WORD, encoding="utf-8")
    shutil.move(note.parent, note.parent.with_name("moved"))
    note.parent.symlink_to(outside)


def _carrier_for_link(note: Path, outside: Path) -> None:
    write_vault(outside, f"=== acme/a.md\n{HIDDEN_WORD}\n")
    shutil.move(note.parent.parent, note.parents[2] / "moved")
    note.parent.parent.symlink_to(outside)


def _file_for_hidden(note: Path, outside: Path) -> None:
    note.unlink()
    note.symlink_to("../../.hidden/secret.md")


def _file_for_pipe(note: Path, outside: Path) -> None:
    note.unlink()
    os.mkfifo(note)


def _file_for_folder(note: Path, outside: Path) -> None:
    note.unlink()
    note.mkdir()


SWAPS: dict[str, Callable[[Path, Path], None]] = {
    "a link out": _file_for_link,
    "a folder that is a link out": _folder_for_link,
    "two folders up a link out": _carrier_for_link,
    "a link to a hidden note": _file_for_hidden,
    "a pipe": _file_for_pipe,
    "a folder": _file_for_folder,
    "nothing": lambda note, _: note.unlink(),
}


@posix_only
@pytest.mark.parametrize("swap", SWAPS)
def test_a_link_swapped_in_between_check_and_open_is_not_read(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch, swap: str
) -> None:
    workspace = open_vault(VAULT)
    root = workspace.vault.root
    outside = write_secrets(root)
    checked = Vault.checked_path

    def then_swapped(self: Vault, given: str) -> tuple[str, str | None]:
        found = checked(self, given)
        SWAPS[swap](root / "cust/acme/a.md", outside)
        return found

    monkeypatch.setattr(Vault, "checked_path", then_swapped)
    with pytest.raises(WorkingsetError) as caught:
        printed(workspace.open("cust/acme/a.md"))
    assert HIDDEN_WORD not in str(caught.value)
    assert "None" not in str(caught.value)
    monkeypatch.undo()
    assert "plainword at home" in printed(workspace.open("README.md"))
    assert "nothing found" in printed(workspace.search(HIDDEN_WORD)).partition("\n")[0]
    assert HIDDEN_WORD not in printed(workspace.brief()) + printed(workspace.full())


# -- notes of every shape --------------------------------------------------------------------------


def _fields(block: str) -> str:
    return f"---\n{block}\n---\n# Fields\n\nhostileword\n"


MEGABYTE = 1_000_000
NOTES: dict[str, str] = {
    "a hundred thousand nested quotes": f"hostileword\n\n{'>' * 100_000} deep\n",
    "a hundred thousand spaced quotes": f"hostileword\n\n{'> ' * 100_000}deep\n",
    "ten thousand nested lists": f"hostileword\n\n{'- ' * 10_000}deep\n",
    "nested lists, line by line": "hostileword\n\n" + "".join(
        f"{' ' * 2 * level}- x\n" for level in range(400)
    ),
    "one line of 10 MB": f"hostileword {'words and ' * MEGABYTE}\n",
    "one word of 10 MB": f"hostileword {'x' * 10 * MEGABYTE}\n",
    "one CJK run of 3 MB": f"hostileword {'漢' * MEGABYTE}\n",
    "a million blanks": f"hostileword{' ' * MEGABYTE}end\n",
    "a million tabs": f"hostileword{chr(9) * MEGABYTE}end\n",
    "a million line ends": f"hostileword{chr(10) * MEGABYTE}end\n",
    "a hundred thousand NULs": f"hostileword {chr(0) * 100_000} end\n",
    "twenty thousand headings": "hostileword\n" + "# x\n" * 20_000,
    "five thousand statuses": "hostileword\n" + "## Status (2026-06-16)\n\nx\n\n" * 5_000,
    "twenty thousand boxes": "hostileword\n" + "- [ ] x\n" * 20_000,
    "twenty thousand labels": "hostileword\n" + "Decision: x\n" * 20_000,
    "fifty thousand fences": "hostileword\n" + "```\n" * 50_001,
    "a fence of 100,000 marks": f"hostileword\n\n{'`' * 100_000}\nx\n",
    "open brackets": f"hostileword {'[' * 100_000}\n",
    "open links": f"hostileword {'[a](b' * 50_000}\n",
    "emphasis": f"hostileword {'*a ' * 100_000}\n",
    "a wide table": f"hostileword\n\n{'|a' * 5_000}|\n{'|-' * 5_000}|\n" + f"{'|x' * 5_000}|\n" * 5,
    "dates": f"hostileword {'2026-06-16 ' * 100_000}\n",
    "owners": f"- [ ] hostileword {'@a, ' * 50_000}\n",
    "source marks": f"hostileword {'_[a.md:1]_ ' * 50_000}\n",
    "quote marks": "hostileword\n" + "".join(f"<!-- /quote {n} -->\n" for n in range(20_000)),
    "an alias bomb": _fields(
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
            for before, name in pairwise("abcdefghi")
        )
    ),
    "a small alias bomb": _fields(
        "k0: &k0 [x]\n"
        + "".join(f"k{n}: &k{n} [*k{n - 1}, *k{n - 1}]\n" for n in range(1, 10))
        + "tags: *k9"
    ),
    "a list that holds itself": _fields("tags: &a [*a]\naliases: &b {x: *b}"),
    "1 MB of front matter": _fields("".join(f"key{n}: value {n}\n" for n in range(60_000))),
    "1 MB of front matter, unclosed": "---\n" + "key: hostileword\n" * 60_000,
    "one field of 1 MB": _fields(f"title: {'x' * MEGABYTE}"),
    "deep brackets": _fields(f"a: {'[' * 30_000}"),
    "deep spaced brackets": _fields(f"a: {'[ ' * 30_000}"),
    "deep braces": _fields(f"a: {'{a: ' * 15_000}"),
    "deep dashes": _fields(f"a:\n  {'- ' * 30_000}x"),
    "deep questions": _fields(f"{'? ' * 30_000}x"),
    "deep indentation": _fields("".join(f"{' ' * n}a:\n" for n in range(190))),
    "a truth that is none": _fields("draft: !!bool maybe"),
    "a number that is none": _fields("a: !!int _\nb: !!float ''\nc: !!int ''"),
    "a time that is none": _fields("date: !!timestamp soon"),
    "a huge number": _fields(
        f"title: 0x{'f' * 5_000}\ndate: 0x{'f' * 5_000}\ntags: [0x{'f' * 5_000}]"
    ),
    "a huge number by sixties": _fields(f"title: 1{':59' * 3_000}"),
    "a huge key": _fields(f"0x{'f' * 5_000}: x"),
    "a day that is none": _fields("date: 2026-13-45\ncreated: 0000-00-00\nupdated: 9999-99-99"),
    "tags of Python": _fields("a: !!python/object/apply:os.system ['true']\nb: !x y"),
    "a lone surrogate by escape": _fields('title: "\\ud800 \\0 \\uffff"\ntags: ["\\ud800"]'),
    "bytes": "hostileword \udcff\udcfe\udc80 end\n",
    "line separators": "hostileword\u2028- [ ] a\u0085- [ ] b\x0b- [ ] c\n",
}  # fmt: skip


@pytest.mark.parametrize("name", NOTES)  # 10 MB take 2 to 4 s: index, then call every tool
def test_a_hostile_note_is_indexed_and_every_answer_keeps_its_time(
    make_vault: MakeVault, name: str
) -> None:
    root = make_vault(VAULT)
    note = root / "cust/acme/hostile.md"
    note.write_bytes(NOTES[name].encode("utf-8", "surrogateescape"))
    workspace = Workspace(root, Settings(), in_memory=True)
    try:
        started = time.thread_time()
        workspace.build()
        assert time.thread_time() - started < MOST_BUILD_SECONDS
        said = [
            ask(workspace.search, "hostileword"),
            ask(workspace.search, "plainword hostileword", branch="cust/acme"),
            ask(workspace.brief, "cust/acme"),
            ask(workspace.brief, "cust/acme", budget=400),
            ask(workspace.brief),
            ask(workspace.open, "cust/acme/hostile.md"),
            ask(workspace.open, "cust/acme/hostile.md", budget=200),
            ask(workspace.items, "open", branch="acme"),
            ask(workspace.items, "remark"),
            ask(workspace.full, "cust/acme", budget=1_000),
            ask(workspace.full, "cust/acme", query="hostileword"),
        ]
        assert None not in said
        if not name.startswith(("1 MB of front matter, unclosed", "bytes")):
            assert "cust/acme/hostile.md" in str(said[0])
        assert "plainword at home" in str(ask(workspace.search, "plainword"))
    finally:
        workspace.close()


@pytest.mark.parametrize("name", ["d", "a-long-name"], ids=["short names", "long names"])
def test_two_hundred_folders_deep_a_note_is_found_and_opened_as_printed(
    make_vault: MakeVault, name: str
) -> None:
    root = make_vault(VAULT)
    folder = "/".join(f"{name}{level}" for level in range(200))
    handle = os.open(root, os.O_RDONLY)
    try:  # level by level, because the whole path may be too long for the system
        for part in folder.split("/"):
            os.mkdir(part, dir_fd=handle)
            inner = os.open(part, os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = inner
        note = os.open("deep.md", os.O_WRONLY | os.O_CREAT, dir_fd=handle)
        os.write(note, b"# Deep\n\n- [ ] deepword\n")
        os.close(note)
    finally:
        os.close(handle)
    workspace = Workspace(root, Settings(), in_memory=True)
    try:
        started = time.thread_time()
        workspace.build()
        assert time.thread_time() - started < MOST_BUILD_SECONDS
        found = ask(workspace.search, "deepword", budget=8_000)
        path = f"{folder}/deep.md"
        assert path in str(found)
        opened = ask(workspace.open, path, budget=8_000)
        assert "- [ ] deepword" in str(opened)
        brief = ask(workspace.brief, f"{name}0", budget=8_000)
        assert "deepword" in str(brief)
    finally:
        workspace.close()


# -- notes and calls at random ---------------------------------------------------------------------

PIECES = [
    "# ", "## ", "- [ ] ", "- [x] ", "* ", "1. ", "> ", ">> ", "    ", "\t", "\n", "\n\n", "\r\n",
    "\r", "```", "~~~", "````", "---\n", "---", "***", "===", "|", "|-|-|\n", "<!--", "-->", "%%",
    "$$", "<", ">", "[", "]", "(", ")", "[[", "]]", "![", "](", "_[", "]_", "`", "**", "__", "~~",
    "\\", ":", "::", "@", "title: ", "tags: ", "date: ", "aliases: ", "kind: workingset-brief",
    "&a ", "*a", "!!int ", "!!bool ", "{", "}", "? ", ", ", "'", '"', "0x", "1e9", ".nan", "~",
    "null", "2026-06-16", "16.06.2026", "6/7/26", "2026-13-45", "2026年6月16日", "Status",
    "## Status (2026-06-16)", "STATUS", "Decision: ", "Owner: ", "Due: ", "Blocker: ", "TODO",
    "@bob", "[Vendor, URGENT]", "plainword", "AC-4471", "C++", "größe", "漢字", "現状", "설정",
    "🔥", "\u202e", "\u0301", "\ufeff", "\u200b", "\u2028", "\x85", "\x0b", "\x0c", "\0",
    "\udcff", "\udc80", "_[a.md:1]_", "<!-- quote 1 a.md:1 -->", "<!-- /quote 1 -->",
    "[workingset] ", "warning: ", "next: ", "### a.md:1-2", "<<<<<<< ", "=======", ">>>>>>> ",
    "x" * 400, " " * 2_500,
]  # fmt: skip
BODIES = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=24).map("".join)
FRONTS = BODIES.map(lambda block: f"---\n{block}\n---\n")
TEXTS = st.one_of(BODIES, BODIES, st.builds(str.__add__, FRONTS, BODIES))
HASTY = [Phase.explicit, Phase.reuse, Phase.generate]  # shrinking such lists takes minutes
NOTES_AN_EXAMPLE = 40
CALLS_AN_EXAMPLE = 40


@given(st.lists(TEXTS, min_size=NOTES_AN_EXAMPLE, max_size=NOTES_AN_EXAMPLE))
@hypothesis_settings(
    max_examples=2_000 // NOTES_AN_EXAMPLE, phases=HASTY, suppress_health_check=list(HealthCheck)
)  # 5 s: two thousand notes are indexed, opened and searched
def test_two_thousand_random_notes_are_indexed_and_answered_from(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    root = write_vault(tmp_path_factory.mktemp("fuzzed"), VAULT)
    for number, text in enumerate(texts):
        name = f"{number:02} 2026-06-16.md" if number % 5 == 0 else f"n{number:02}.md"
        (root / "cust/acme" / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    workspace = Workspace(root, Settings(), in_memory=True)
    try:
        workspace.build()
        briefs = sum("workingset-brief" in text for text in texts)  # such a note can be a brief
        counted = re.search(r"note: (\d+) in ", printed(workspace.items("note", budget=1_000)))
        assert counted
        assert 44 - briefs <= int(counted[1]) <= 44
        for number, text in enumerate(texts):
            name = f"{number:02} 2026-06-16.md" if number % 5 == 0 else f"n{number:02}.md"
            assert ask(workspace.open, f"cust/acme/{name}") is not None, text
        for budget in (400, 1_000, 8_000, 24_000):
            assert ask(workspace.brief, "cust/acme", budget=budget)
            assert ask(workspace.search, "plainword status", budget=budget)
            assert ask(workspace.full, "cust/acme", budget=budget)
        for kind in ("open", "status", "decision", "owner", "remark", "note"):
            assert ask(workspace.items, kind, budget=1_000)
        assert ask(workspace.brief)
    finally:
        workspace.close()
        shutil.rmtree(root)


class Long(NamedTuple):
    """A long text with a short repr."""

    piece: str
    times: int

    def __str__(self) -> str:
        return (self.piece * self.times)[:MEGABYTE]


def spelled(value: Any) -> Any:
    """Return an argument with its long texts expanded."""
    if isinstance(value, Long):
        return str(value)
    return [spelled(part) for part in value] if isinstance(value, list) else value


WORDS = st.one_of(
    BODIES,
    st.sampled_from(
        ["plainword", "offer", "the", "?", "*", '"', "NEAR(a b)", "a AND OR NOT", "-x", "\0"]
    ),
    st.sampled_from(["\ud800", "plainword \udfff", "\ud800\udc00", "\udcff"]),
    st.builds(Long, st.sampled_from(PIECES), st.sampled_from([50, 3_000, 100_000])),
)


def mostly(
    right: list[Any], wrong: list[Any], others: st.SearchStrategy[Any] = WORDS
) -> st.SearchStrategy[Any]:
    """Make four of five values valid, so that calls with several arguments succeed."""
    odd = st.one_of(st.sampled_from(wrong), others)
    return st.integers(0, 4).flatmap(lambda number: odd if number == 0 else st.sampled_from(right))


BRANCHES = mostly(
    [None, "cust/acme", "acme", "ACME", ".", "", " ", "cust/acme/", "cust\\acme"],
    ["../x", "/etc", "a\0b", "x" * 300, "x/" * 2_000, "cust/ac_e", "%", "cust", "a/b/c"],
)
DAYS = mostly(
    [None, "2026-06-16", "2026", "2026-06", "16.06.2026", "June 2026"],
    ["yesterday", "undated", "9999-99-99", "٢٠٢٦", "0", "-", "2026-06-16 " * 500],
)
BUDGETS = mostly(
    [None, 400, 401, 2_000, 24_000, 24_001, 10**9, 10**400], [200, 199, 1, 0, -1], st.just(300)
)
LINES = mostly(
    [None, "1", "1-2", "1-", "1@3", "1@99999999999", "1,2,3"],
    ["2-1", "0", "99", "-", "9" * 5_000, "1,2" * 5_000],
)
PATHS = mostly(
    ["README.md", "cust/acme/a.md", "cust/acme/b c.md:1", "cust\\acme\\a.md"], ["cust", "", "x.md"]
)


def _calls(
    tool: str, needed: dict[str, st.SearchStrategy[Any]], **others: st.SearchStrategy[Any]
) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.tuples(st.just(tool), st.fixed_dictionaries(needed, optional=others))


CALLS = st.one_of(
    _calls("brief", {}, branch=BRANCHES, budget=BUDGETS),
    _calls(
        "search",
        {"query": WORDS},
        also=st.lists(WORDS, max_size=4),
        budget=BUDGETS,
        branch=BRANCHES,
        since=DAYS,
        until=DAYS,
    ),
    _calls("open", {"path": PATHS}, lines=LINES, heading=WORDS, budget=BUDGETS),
    _calls(
        "full",
        {},
        branch=BRANCHES,
        query=WORDS,
        since=DAYS,
        until=DAYS,
        as_of=DAYS,
        budget=BUDGETS,
        cursor=st.one_of(WORDS, st.sampled_from(["p2.9f31c0", "p1.0.0.0", "p-1.x", "p9"])),
    ),
    _calls(
        "items",
        {"kind": mostly(["open", "note", "remark", "owner", "status"], ["x", "\ud800"])},
        branch=BRANCHES,
        owner=WORDS,
        text=WORDS,
        since=DAYS,
        due_before=DAYS,
        group_by=mostly(["branch", "owner", "month", "path"], ["x", "\ud800"]),
        budget=BUDGETS,
    ),
)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root = write_vault(tmp_path_factory.mktemp("called"), VAULT)
    workspace = Workspace(root, Settings(), in_memory=True)
    workspace.build()
    yield workspace
    workspace.close()


@given(calls=st.lists(CALLS, min_size=CALLS_AN_EXAMPLE, max_size=CALLS_AN_EXAMPLE))
@hypothesis_settings(
    max_examples=2_000 // CALLS_AN_EXAMPLE, phases=HASTY, suppress_health_check=list(HealthCheck)
)  # 6 s: two thousand calls, many of them with 100,000 characters
def test_two_thousand_random_calls_are_answered_or_refused_in_a_sentence(
    fuzzed: Workspace, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    for tool, arguments in calls:
        named = {name: spelled(value) for name, value in arguments.items()}
        try:
            ask(getattr(fuzzed, tool), **named)
        except Exception as error:
            raise AssertionError(f"{tool}({arguments})") from error
    assert "plainword at home" in printed(fuzzed.search("plainword"))


LONG = {
    "blanks": " " * MEGABYTE,
    "one word": "x" * MEGABYTE,
    "words": "word " * 200_000,
    "different words": " ".join(f"w{number}" for number in range(150_000)),
    "slashes": "a/" * 500_000,
    "dates": "2026-06-16 " * 90_000,
    "CJK": "漢字" * 300_000,
    "quotes": "'a' \"b\" " * 120_000,
    "surrogates": "\ud800" * 500_000,
}
ARGUMENTS: dict[str, Callable[[Workspace, str], Answer[object]]] = {
    "query": lambda w, text: w.search(text),
    "also": lambda w, text: w.search("plainword", also=(text,)),
    "many also": lambda w, text: w.search("plainword", also=tuple(text.split(" ")[:100_000])),
    "branch": lambda w, text: w.brief(text),
    "search in branch": lambda w, text: w.search("plainword", branch=text),
    "since": lambda w, text: w.search("plainword", since=text),
    "path": lambda w, text: w.open(text),
    "lines": lambda w, text: w.open("README.md", lines=text),
    "heading": lambda w, text: w.open("README.md", heading=text),
    "full query": lambda w, text: w.full(query=text),
    "as_of": lambda w, text: w.full("cust/acme", as_of=text),
    "cursor": lambda w, text: w.full("cust/acme", cursor=text),
    "kind": lambda w, text: w.items(text),
    "owner": lambda w, text: w.items("open", owner=text),
    "text": lambda w, text: w.items("open", text=text),
    "group_by": lambda w, text: w.items("open", group_by=text),
    "due_before": lambda w, text: w.items("open", due_before=text),
}


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_a_megabyte_in_any_argument_is_answered_or_refused_within_a_second(
    fuzzed: Workspace, argument: str
) -> None:
    for text in LONG.values():
        ask(ARGUMENTS[argument], fuzzed, text)


# -- no watches left -------------------------------------------------------------------------------


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not condition():
            await anyio.lowlevel.checkpoint()


@pytest.mark.anyio
@pytest.mark.parametrize("events", [0, 2], ids=["at once", "after some events"])
async def test_when_no_watches_are_left_the_follower_polls_and_finds_a_later_edit(
    open_vault: OpenVault, caplog: pytest.LogCaptureFixture, events: int
) -> None:
    workspace = open_vault(VAULT)
    root, freshness = workspace.vault.root, workspace.freshness

    async def watches() -> AsyncIterator[set[tuple[Change, str]]]:
        for _ in range(events):
            yield set()
        raise OSError(28, "No space left on device")

    follower = Follower(freshness, source=watches(), poll_seconds=0.001, sweep_seconds=0.001)
    async with anyio.create_task_group() as group:
        group.start_soon(follower.run)
        await until(lambda: freshness.watcher == "polling")
        before = workspace.status()["generation"]
        (root / "README.md").write_text("# Home\n\nlaterword\n", encoding="utf-8")
        await until(lambda: workspace.status()["generation"] > before)
        with workspace.index.snapshot() as snapshot:
            note = snapshot.note("README.md")
            assert note is not None
            assert "laterword" in snapshot.text(note.id)
        assert workspace.status()["watcher"] == "polling"
        group.cancel_scope.cancel()
    told = [record.getMessage() for record in caplog.records if "polling" in record.getMessage()]
    assert len(told) == 1
    assert "No space left on device" in told[0]
