"""Which files are notes, which branch each belongs to; no path leads out of the vault."""

import errno
import os
import unicodedata
from pathlib import Path
from typing import Literal

import pytest
from conftest import MakeVault, OpenVault, write_vault
from hypothesis import given
from hypothesis import strategies as st

from workingset_mcp.answers.answer import printed
from workingset_mcp.errors import NoteNotFound, PathRefused, VaultNotFound, WorkingsetError
from workingset_mcp.settings import Settings
from workingset_mcp.vault.files import read_up_to
from workingset_mcp.vault.folder import MOST_NOTE_BYTES, LeftOut, Vault
from workingset_mcp.vault.ignoring import WhyLeftOut

posix_only = pytest.mark.skipif(os.name != "posix", reason="names and links as POSIX has them")


def notes_of(root: Path, branch: str | None = None, settings: Settings | None = None) -> list[str]:
    return sorted(Vault(root, settings).walk(branch).files)


def left_out_of(root: Path, settings: Settings | None = None) -> dict[str, str]:
    return {left.name: left.reason for left in Vault(root, settings).walk().left_out}


# -- the walk --------------------------------------------------------------------------------------

WALKS = [
    # name, vault, settings, notes, left out
    (
        "three endings in any case",
        "=== a.md\n=== B.MD\n=== c.markdown\n=== d.mdx\n=== e.Markdown\n=== f.MdX\n",
        Settings(),
        ["B.MD", "a.md", "c.markdown", "d.mdx", "e.Markdown", "f.MdX"],
        {},
    ),
    (
        "other endings",
        "=== a.txt\n=== b.md.bak\n=== c.mdown\n=== md\n=== d.amd\n=== e.md.png\n=== f.md\n",
        Settings(),
        ["f.md"],
        {},
    ),
    (
        "hidden folders",
        "=== .obsidian/a.md\n=== x/.trash/b.md\n=== x/c.md\n",
        Settings(),
        ["x/c.md"],
        {".obsidian": "hidden", "x/.trash": "hidden"},
    ),
    (
        "folders of programs, at any depth",
        "=== node_modules/a.md\n=== x/venv/a.md\n=== __pycache__/a.md\n=== dist/a.md\n"
        "=== x/y/build/a.md\n=== building/a.md\n=== x/dist.md\n",
        Settings(),
        ["building/a.md", "x/dist.md"],
        {
            "node_modules": "left out by default",
            "x/venv": "left out by default",
            "__pycache__": "left out by default",
            "dist": "left out by default",
            "x/y/build": "left out by default",
        },
    ),
    (
        "a folder that is named like a note",
        "=== x.md/inner.md\n=== empty.md/\n=== a.md\n",
        Settings(),
        ["a.md", "x.md/inner.md"],
        {},
    ),
    (
        "gitignore of a file, a folder, a pattern",
        "=== .gitignore\nsecret.md\nprivate/\n*.draft.md\n# comment\n\n"
        "=== a.md\n=== secret.md\n=== x/secret.md\n=== private/b.md\n=== x/private/c.md\n"
        "=== x/one.draft.md\n",
        Settings(),
        ["a.md"],
        {
            "secret.md": "ignored",
            "x/secret.md": "ignored",
            "private": "ignored",
            "x/private": "ignored",
            "x/one.draft.md": "ignored",
        },
    ),
    (
        "gitignore bound to its folder",
        "=== .gitignore\n/top.md\n=== top.md\n=== x/top.md\n",
        Settings(),
        ["x/top.md"],
        {"top.md": "ignored"},
    ),
    (
        "nested gitignore speaks of its own folder only",
        "=== x/.gitignore\nb.md\n=== b.md\n=== x/b.md\n=== x/y/b.md\n=== xy/b.md\n",
        Settings(),
        ["b.md", "xy/b.md"],
        {"x/b.md": "ignored", "x/y/b.md": "ignored"},
    ),
    (
        "negation in one file",
        "=== .gitignore\n*.md\n!keep.md\n=== a.md\n=== keep.md\n=== x/keep.md\n",
        Settings(),
        ["keep.md", "x/keep.md"],
        {"a.md": "ignored"},
    ),
    (
        "a nested gitignore takes back what one above it ignores",
        "=== .gitignore\n*.md\n=== a.md\n=== x/.gitignore\n!b.md\n=== x/b.md\n=== x/c.md\n",
        Settings(),
        ["x/b.md"],
        {"a.md": "ignored", "x/c.md": "ignored"},
    ),
    (
        "no negation inside an ignored folder",
        "=== .gitignore\nx/\n=== x/.gitignore\n!b.md\n=== x/b.md\n=== a.md\n",
        Settings(),
        ["a.md"],
        {"x": "ignored"},
    ),
    (
        "gitignore with Windows line ends",
        "=== .gitignore\nb.md\r\nc/\r\n=== a.md\n=== b.md\n=== c/d.md\n",
        Settings(),
        ["a.md"],
        {"b.md": "ignored", "c": "ignored"},
    ),
    (
        "gitignore that is no valid text",
        "=== .gitignore\n\udcff\udcfe\nb.md\n=== a.md\n=== b.md\n",
        Settings(),
        ["a.md"],
        {"b.md": "ignored"},
    ),
    (
        "a folder named .gitignore",
        "=== .gitignore/x.md\n=== a.md\n",
        Settings(),
        ["a.md"],
        {".gitignore": "hidden"},
    ),
    (
        "gitignore not respected",
        "=== .gitignore\nb.md\n=== a.md\n=== b.md\n",
        Settings(respect_gitignore=False),
        ["a.md", "b.md"],
        {},
    ),
    (
        "ignored by the settings, which no gitignore takes back",
        "=== .gitignore\n!b.md\n=== a.md\n=== b.md\n=== x/y/c.md\n=== x/b.md\n",
        Settings(ignore=("b.md", "x/y/")),
        ["a.md"],
        {"b.md": "ignored", "x/b.md": "ignored", "x/y": "ignored"},
    ),
    ("an empty vault", "", Settings(), [], {}),
]


@pytest.mark.parametrize(
    ("text", "settings", "notes", "left_out"),
    [pytest.param(*case[1:], id=case[0]) for case in WALKS],
)
def test_the_walk_finds_notes_and_names_what_it_leaves_out(
    make_vault: MakeVault,
    text: str,
    settings: Settings,
    notes: list[str],
    left_out: dict[str, str],
) -> None:
    root = make_vault(text)
    assert notes_of(root, settings=settings) == notes
    assert left_out_of(root, settings) == left_out


CONFLICT_COPIES = [
    "plan (Ana's conflicted copy 2026-06-16).md",
    "plan (conflicted copy).md",
    "plan (Conflict Copy 2).md",
    "plan (Anas in Konflikt stehende Kopie 2026-06-16).md",
    "plan (Copie en conflit de Ana 2026-06-16).md",
    "plan (Copia en conflicto de Ana).md",
    "plan.sync-conflict-20260616-111800-ABCDEFG.md",
    "plan_conflict-20260616-111800.md",
]
EDITOR_TEMPORARIES = ["~$plan.md", "plan.tmp.md", "plan.TMP.markdown"]
NO_COPIES = ["conflict of interest.md", "the conflict (resolved).md", "copy.md", "tmp.md", "a~b.md"]


@pytest.mark.parametrize("name", CONFLICT_COPIES + EDITOR_TEMPORARIES)
def test_copies_of_sync_programs_and_editors_are_left_out_and_named(
    make_vault: MakeVault, name: str
) -> None:
    root = make_vault(f"=== plan.md\n=== x/{name}\n")
    assert notes_of(root) == ["plan.md"]
    assert list(left_out_of(root)) == [f"x/{name}"]


@pytest.mark.parametrize("name", ["plan.md~", "#plan.md#", ".plan.md.swp", ".#plan.md", "4913"])
def test_other_editor_files_are_not_notes(make_vault: MakeVault, name: str) -> None:
    assert notes_of(make_vault(f"=== plan.md\n=== {name}\n")) == ["plan.md"]


@pytest.mark.parametrize("name", NO_COPIES)
def test_names_that_only_sound_like_copies_are_notes(make_vault: MakeVault, name: str) -> None:
    assert notes_of(make_vault(f"=== {name}\n")) == [name]


def test_a_hidden_note_is_left_out_and_named(make_vault: MakeVault) -> None:
    root = make_vault("=== .hidden.md\n=== x/.draft.md\n=== a.md\n")
    assert notes_of(root) == ["a.md"]
    assert left_out_of(root) == {".hidden.md": "hidden", "x/.draft.md": "hidden"}


@posix_only
@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("two\nlines.md", "two\\u000alines.md"),
        ("bell\x07.md", "bell\\u0007.md"),
        ("tab\t/a.md", "tab\\u0009/a.md"),
        ("line\u2028separator.md", "line\\u2028separator.md"),
        ("next\x85line.md", "next\\u0085line.md"),
        ("bytes\udcff.md", "bytes\\xff.md"),
        ("folder\udcfe/a.md", "folder\\xfe/a.md"),
    ],
    ids=["newline", "control", "folder", "U+2028", "U+0085", "undecodable", "undecodable folder"],
)
def test_a_name_that_is_not_plain_text_is_left_out_and_printed_escaped(
    make_vault: MakeVault, name: str, printed: str
) -> None:
    root = make_vault("=== a.md\n")
    try:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"x")
    except OSError as error:
        pytest.skip(f"this file system refuses the name: {error}")
    assert notes_of(root) == ["a.md"]
    assert left_out_of(root) == {printed: "name is not valid text"}


@posix_only
def test_links_are_never_followed_and_are_named(make_vault: MakeVault, tmp_path: Path) -> None:
    outside = write_vault(tmp_path / "outside", "=== secret.md\nsecret\n=== folder/deep.md\nx\n")
    root = make_vault("=== a.md\ntext\n=== real/b.md\ntext\n")
    links = {
        "to-file.md": root / "a.md",
        "to-folder": root / "real",
        "folder.md": root / "real",
        "out.md": outside / "secret.md",
        "out": outside / "folder",
        "dangling.md": root / "nowhere.md",
        "itself.md": root / "itself.md",
        "real/loop": root,
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    assert notes_of(root) == ["a.md", "real/b.md"]
    assert left_out_of(root) == dict.fromkeys(links, "link")
    assert notes_of(root, "to-folder") == []
    assert notes_of(root, "out") == []


@posix_only
def test_a_pipe_named_like_a_note_is_left_out_and_does_not_hang(make_vault: MakeVault) -> None:
    root = make_vault("=== a.md\n")
    os.mkfifo(root / "pipe.md")
    assert notes_of(root) == ["a.md"]
    assert left_out_of(root) == {"pipe.md": "not a regular file"}
    with pytest.raises(OSError, match=r"pipe\.md"):
        Vault(root).read("pipe.md")


@posix_only
def test_a_file_too_large_for_a_note_is_left_out(make_vault: MakeVault) -> None:
    root = make_vault("=== a.md\n=== huge.md\n")
    os.truncate(root / "huge.md", MOST_NOTE_BYTES + 1)
    assert notes_of(root) == ["a.md"]
    assert left_out_of(root) == {"huge.md": "over 64 MB"}


@posix_only
def test_a_tree_of_a_thousand_folders_does_not_stop_the_walk(make_vault: MakeVault) -> None:
    root = make_vault("=== a.md\n")
    folder = root
    for _ in range(1_100):
        folder = folder / "d"
        folder.mkdir()
    try:
        assert "a.md" in notes_of(root)
    finally:
        while folder != root:  # pytest's own removal is recursive too
            folder.rmdir()
            folder = folder.parent


@posix_only
def test_a_linked_gitignore_is_ignored_for_a_branch_as_for_the_vault(
    make_vault: MakeVault,
) -> None:
    root = make_vault("=== rules\nsecret.md\n=== cust/acme/secret.md\n")
    (root / ".gitignore").symlink_to(root / "rules")
    assert notes_of(root) == notes_of(root, "cust/acme")


def test_an_edited_gitignore_applies_to_the_next_walk(make_vault: MakeVault) -> None:
    root = make_vault("=== .gitignore\na.md\n=== a.md\n=== b.md\n=== cust/acme/a.md\n")
    vault = Vault(root)
    assert sorted(vault.walk().files) == ["b.md"]
    (root / ".gitignore").write_text("b.md\n", encoding="utf-8")
    assert sorted(vault.walk().files) == ["a.md", "cust/acme/a.md"]
    (root / ".gitignore").write_text("cust/\n", encoding="utf-8")
    assert sorted(vault.walk("cust/acme").files) == []
    (root / ".gitignore").unlink()
    assert sorted(vault.walk("cust/acme").files) == ["cust/acme/a.md"]
    assert sorted(vault.walk().files) == ["a.md", "b.md", "cust/acme/a.md"]


def test_a_removed_gitignore_no_longer_applies_to_a_branch_with_its_own(
    make_vault: MakeVault,
) -> None:
    root = make_vault(
        "=== .gitignore\nsecret.md\n"
        "=== cust/acme/.gitignore\nother.md\n=== cust/acme/other.md\n=== cust/acme/secret.md\n"
    )
    vault = Vault(root)
    assert sorted(vault.walk("cust/acme").files) == []
    (root / ".gitignore").unlink()
    assert sorted(vault.walk("cust/acme").files) == ["cust/acme/secret.md"]


def test_a_vault_must_be_an_existing_folder(tmp_path: Path) -> None:
    (tmp_path / "file.md").write_text("x", encoding="utf-8")
    for path in (tmp_path / "missing", tmp_path / "file.md"):
        with pytest.raises(VaultNotFound) as raised:
            Vault(path)
        assert str(tmp_path) not in str(raised.value)
        assert raised.value.hint


# -- branches --------------------------------------------------------------------------------------

BRANCHES = [
    ("a.md", "."),
    ("log/a.md", "log"),
    ("log/2026/06/a.md", "log"),
    ("cust/acme/a.md", "cust/acme"),
    ("cust/acme/meetings/2026/a.md", "cust/acme"),
    ("cust/acme-labs/a.md", "cust/acme-labs"),
    ("cust/a.md", "cust"),
    ("customers/brunnfeld/a.md", "customers/brunnfeld"),
    ("accounts/x/a.md", "accounts/x"),
    ("projects/x/a.md", "projects/x"),
    ("clients/x/a.md", "clients/x"),
    ("Cust/acme/a.md", "Cust"),
    ("wiki/cust/acme/a.md", "wiki"),
    ("cust.md/acme/a.md", "cust.md"),
    ("x.md/a.md", "x.md"),
]


@pytest.mark.parametrize(("path", "branch"), BRANCHES)
def test_a_branch_is_two_levels_under_a_carrier_else_the_top_folder(
    tmp_path: Path, path: str, branch: str
) -> None:
    assert Vault(tmp_path).branch_of(path) == branch


def test_carriers_are_a_setting(tmp_path: Path) -> None:
    vault = Vault(tmp_path, Settings(carriers=("teams",)))
    assert [vault.branch_of(path) for path in ("teams/a/x.md", "cust/a/x.md")] == [
        "teams/a",
        "cust",
    ]


EVERYWHERE = (
    "".join(f"=== {path}\n" for path, _ in BRANCHES)
    + "=== .gitignore\n*.draft.md\n/log/old/\n=== cust/.gitignore\nhidden.md\n"
    "=== cust/acme/x.draft.md\n=== cust/acme/hidden.md\n=== log/old/a.md\n"
    "=== cust/node_modules/a.md\n"
    "=== cust/acme/.git/a.md\n=== cust/acme/node_modules/a.md\n=== hidden.md\n"
)


@pytest.mark.parametrize("settings", [Settings(), Settings(ignore=("meetings/",))], ids=["", "own"])
def test_the_walk_of_a_branch_is_its_part_of_the_whole_walk(
    make_vault: MakeVault, settings: Settings
) -> None:
    root = make_vault(EVERYWHERE)
    whole = Vault(root, settings).walk().files
    branches = {Vault(root, settings).branch_of(path) for path in whole}
    assert len(branches) > 10
    for branch in branches:
        vault = Vault(root, settings)
        part = {path: seen for path, seen in whole.items() if vault.branch_of(path) == branch}
        assert vault.walk(branch).files == part, branch


@pytest.mark.parametrize(
    "branch", ["cust/node_modules", ".git", "log/old", "missing", "cust/acme/.git", "a.md"]
)
def test_a_branch_that_is_hidden_ignored_or_missing_has_no_notes(
    make_vault: MakeVault, branch: str
) -> None:
    assert notes_of(make_vault(EVERYWHERE), branch) == []


# -- paths that callers give -----------------------------------------------------------------------

NEIGHBOUR = "what the house next door says"
INSIDE = (
    "=== a.md\ninside\n=== cust/acme/index.md\ninside\n=== cust/acme-labs/index.md\ninside\n"
    "=== .hidden.md\ninside\n=== .git/config.md\ninside\n=== plain.txt\ninside\n"
    "=== README\ninside\n"
    "=== node_modules/x.md\ninside\n=== ignored.md\ninside\n=== x/ignored/y.md\ninside\n"
    "=== .gitignore\nignored.md\nignored/\n=== x.md/inner.md\ninside\n=== notes 12:30.md\ninside\n"
)


@pytest.fixture
def linked_vault(make_vault: MakeVault, tmp_path: Path) -> Path:
    """Make a vault with links of every kind beside folders that it must never show."""
    write_vault(
        tmp_path / "outside", f"=== secret.md\n{NEIGHBOUR}\n=== deep/secret.md\n{NEIGHBOUR}\n"
    )
    write_vault(tmp_path / "vault-next", f"=== secret.md\n{NEIGHBOUR}\n")
    root = make_vault(INSIDE)
    if os.name == "posix":
        (root / "out.md").symlink_to(tmp_path / "outside" / "secret.md")
        (root / "out").symlink_to(tmp_path / "outside")
        (root / "up").symlink_to("..")
        (root / "hop.md").symlink_to("out.md")
        (root / "dangling.md").symlink_to("nowhere.md")
        (root / "dangling-out.md").symlink_to(tmp_path / "nowhere.md")
        (root / "loop.md").symlink_to("loop.md")
        (root / "ping.md").symlink_to("pong.md")
        (root / "pong.md").symlink_to("ping.md")
        (root / "round").symlink_to(root)
        (root / "to-hidden.md").symlink_to(".hidden.md")
        (root / "to-ignored.md").symlink_to("ignored.md")
        (root / "to-text.md").symlink_to("plain.txt")
        (root / "to-folder.md").symlink_to("cust")
    return root


HOSTILE = [
    "",
    " ",
    "/",
    ".",
    "./",
    "..",
    "../",
    "../outside/secret.md",
    "../vault-next/secret.md",
    "x/../../outside/secret.md",
    "cust/acme/../../../outside/secret.md",
    "cust/../a.md",
    "./../outside/secret.md",
    ".//..//outside/secret.md",
    "a.md/../../outside/secret.md",
    "..\\outside\\secret.md",
    "x\\..\\..\\outside\\secret.md",
    "\\..\\outside\\secret.md",
    "/etc/passwd",
    "//etc/passwd",
    "/etc/passwd.md",
    "\\etc\\passwd",
    "\\\\server\\share\\secret.md",
    "\\\\?\\C:\\secret.md",
    "C:\\secret.md",
    "C:/secret.md",
    "C:secret.md",
    "c:../outside/secret.md",
    "~/secret.md",
    "~root/secret.md",
    "~",
    "$HOME/secret.md",
    "%HOME%/secret.md",
    "file:///etc/passwd",
    "http://example.invalid/secret.md",
    "workingset://note/../outside/secret.md",
    "%2e%2e/outside/secret.md",
    "%2e%2e%2foutside%2fsecret.md",
    "..%2foutside/secret.md",
    "..%5coutside%5csecret.md",
    "%252e%252e/outside/secret.md",
    "..%c0%afoutside/secret.md",
    "．．/outside/secret.md",
    "‥/outside/secret.md",
    "..∕outside∕secret.md",
    "..／outside／secret.md",
    ".../outside/secret.md",
    "....//outside/secret.md",
    "..;/outside/secret.md",
    ".. /outside/secret.md",
    "..\n/outside/secret.md",
    "a.md\0",
    "a.md\0.txt",
    "\0",
    "../outside/secret.md\0a.md",
    "\ud800.md",
    "a\udcff.md",
    "../outside/\udcff.md",
    "a" * 300 + ".md",
    "a" * 5_000 + ".md",
    "a/" * 1_000 + "a.md",
    "../" * 300 + "etc/passwd.md",
    "x" * 2_000_000,
    "x:" * 400,
    ".hidden.md",
    ".git/config.md",
    "./.git/config.md",
    "node_modules/x.md",
    "ignored.md",
    "x/ignored/y.md",
    "cust",
    "cust/",
    "cust/acme",
    "x.md",
    "x.md/",
    "plain.txt",
    "README",
    ".gitignore",
    "missing.md",
    "cust/acme/missing.md",
    "cust/acm/index.md",
    "a.md/b.md",
    "a.md:0-9:12",
    "../outside/secret.md:1-2",
    "/etc/passwd:1",
    "missing.md:12-40",
    "out.md",
    "out/secret.md",
    "out/deep/secret.md",
    "out",
    "up/outside/secret.md",
    "up/vault-next/secret.md",
    "up",
    "hop.md",
    "dangling.md",
    "dangling-out.md",
    "loop.md",
    "ping.md",
    "loop.md/x.md",
    "round/out.md",
    "round/up/outside/secret.md",
    "to-hidden.md",
    "to-ignored.md",
    "to-text.md",
    "to-folder.md",
]


@posix_only
@pytest.mark.parametrize("given_path", HOSTILE, ids=lambda path: f"{len(path)} {ascii(path)[:60]}")
def test_a_hostile_path_is_refused_in_plain_words(linked_vault: Path, given_path: str) -> None:
    with pytest.raises((PathRefused, NoteNotFound)) as raised:
        Vault(linked_vault).checked_path(given_path)
    message = str(raised.value)
    assert NEIGHBOUR not in message
    assert str(linked_vault.parent) not in message
    assert raised.value.message.endswith((".", "'", '"'))


@posix_only
def test_a_hostile_path_opens_nothing_through_the_workspace(
    linked_vault: Path, open_vault: OpenVault
) -> None:
    workspace = open_vault(linked_vault)
    answers = []
    for given_path in HOSTILE:
        with pytest.raises(WorkingsetError) as raised:
            answers.append(printed(workspace.open(given_path)))
        assert str(linked_vault.parent) not in str(raised.value)
        assert NEIGHBOUR not in str(raised.value)
    assert answers == []
    assert NEIGHBOUR not in printed(workspace.full(budget=20_000))
    assert "inside" in printed(workspace.open("a.md"))


PIECES = st.sampled_from(
    [
        *("..", ".", "/", "\\", "//", "a.md", "cust", "acme", "index.md", "x.md", ".hidden.md"),
        *("outside", "secret.md", "vault", "vault-next", "out", "up", "round", "hop.md", "loop.md"),
        *("dangling.md", "to-folder.md", "C:", "~", "%2e", "%2f", ":1", ":1-2", " ", "\0"),
        *("／", "．", "\u0301", "\ud800"),
    ]
)


@posix_only
def test_no_path_made_of_hostile_pieces_leads_out(linked_vault: Path) -> None:
    vault = Vault(linked_vault)
    shown = set(vault.walk().files)

    @given(st.lists(PIECES, max_size=9).map("".join), st.booleans())
    def leads_nowhere_else(path: str, slashes: bool) -> None:
        if slashes:
            path = path.replace("\\", "/")
        try:
            found, _ = vault.checked_path(path)
        except (PathRefused, NoteNotFound):
            return
        assert found in shown
        assert vault.read(found)[0] == b"inside\n"

    leads_nowhere_else()


FRIENDLY = [
    ("a.md", "a.md", None),
    (" a.md\n", "a.md", None),
    ("./a.md", "a.md", None),
    ("a.md/", "a.md", None),
    ("cust//acme/./index.md", "cust/acme/index.md", None),
    ("cust\\acme\\index.md", "cust/acme/index.md", None),
    ("a.md:12", "a.md", "12"),
    ("a.md:12-40", "a.md", "12-40"),
    ("cust\\acme\\index.md:3-4", "cust/acme/index.md", "3-4"),
    ("x.md/inner.md", "x.md/inner.md", None),
    ("notes 12:30.md", "notes 12:30.md", None),
    ("notes 12:30.md:7", "notes 12:30.md", "7"),
]


@posix_only
@pytest.mark.parametrize(("given_path", "path", "lines"), FRIENDLY)
def test_what_a_caller_types_names_the_note(
    linked_vault: Path, given_path: str, path: str, lines: str | None
) -> None:
    assert Vault(linked_vault).checked_path(given_path) == (path, lines)


@posix_only
def test_a_link_inside_the_vault_names_the_real_note(linked_vault: Path) -> None:
    (linked_vault / "short.md").symlink_to("cust/acme/index.md")
    (linked_vault / "folder").symlink_to("cust/acme")
    vault = Vault(linked_vault)
    expected = ("cust/acme/index.md", None)
    assert vault.checked_path("short.md") == expected
    assert vault.checked_path("folder/index.md") == expected
    assert vault.checked_path("round/cust/acme/index.md") == expected
    assert vault.checked_path("short.md:2-3") == ("cust/acme/index.md", "2-3")


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
def test_a_path_is_found_in_either_unicode_form(
    make_vault: MakeVault, on_disk: Literal["NFC", "NFD"], typed: Literal["NFC", "NFD"]
) -> None:
    path = "Größe/Ağustos/日程が.md"
    disk = unicodedata.normalize(on_disk, path)
    root = make_vault(f"=== {disk}\ntext\n")
    vault = Vault(root)
    (listed,) = vault.walk().files
    assert vault.checked_path(unicodedata.normalize(typed, path)) == (listed, None)
    assert vault.read(listed)[0] == b"text\n"


ODD_NAMES = [
    " leading blank.md",
    "trailing blank .md",
    "Q: what now.md",
    "C:.md",
    "a:12.md",
    "~/home.md",
    "~.md",
    "back\\slash.md",
    "percent%2fform.md",
    "quote\"'`.md",
    "(brackets) [and] {braces}.md",
    "#hash.md",
    "a..b/c...md",
    "\u200bzero width.md",
    "\u202eright to left.md",
    "emoji 🚦.md",
    "-dash.md",
    "*star?.md",
    "con.md",
    "a.md/b.md/c.md",
    f"{'d' * 80}/" * 9 + "deep.md",
]


@posix_only
@pytest.mark.parametrize("path", ODD_NAMES, ids=ascii)
def test_every_path_that_the_walk_prints_can_be_opened(make_vault: MakeVault, path: str) -> None:
    vault = Vault(make_vault(f"=== {path}\ntext\n"))
    assert list(vault.walk().files) == [path]
    assert vault.checked_path(path) == (path, None)
    assert vault.checked_path(f"{path}:1-2") == (path, "1-2")
    assert vault.read(path)[0] == b"text\n"


@posix_only
@pytest.mark.parametrize("swapped", ["note", "folder"])
def test_a_link_swapped_in_after_the_check_is_not_read(
    make_vault: MakeVault, tmp_path: Path, swapped: str
) -> None:
    outside = write_vault(tmp_path / "outside", f"=== b.md\n{NEIGHBOUR}\n")
    root = make_vault("=== x/b.md\ninside\n")
    vault = Vault(root)
    path, _ = vault.checked_path("x/b.md")
    if swapped == "note":
        (root / "x/b.md").unlink()
        (root / "x/b.md").symlink_to(outside / "b.md")
    else:
        (root / "x").rename(root / "y")
        (root / "x").symlink_to(outside)
    with pytest.raises(OSError, match=r".") as raised:
        vault.read(path)
    assert raised.value.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


def test_only_files_have_a_fingerprint(make_vault: MakeVault) -> None:
    root = make_vault("=== a.md\ntext\n=== x.md/b.md\n")
    vault = Vault(root)
    found = vault.fingerprint("a.md")
    assert found == vault.walk().files["a.md"] == vault.read("a.md")[1]
    assert found is not None
    assert found.size == 5
    assert [vault.fingerprint(path) for path in ("x.md", "missing.md", "a\0.md")] == [None] * 3


def test_status_lists_what_is_left_out(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== a.md\n=== .gitignore\nb.md\n=== b.md\n=== plan (conflicted copy).md\n=== dist/x.md\n"
    )
    assert sorted(workspace.status()["left_out"]) == [
        "b.md: ignored",
        "dist: left out by default",
        "plan (conflicted copy).md: conflict copy of a sync program",
    ]
    assert set(workspace.left_out()) == {
        LeftOut("b.md", WhyLeftOut.IGNORED),
        LeftOut("dist", WhyLeftOut.BY_DEFAULT),
        LeftOut("plan (conflicted copy).md", WhyLeftOut.CONFLICT_COPY),
    }


@pytest.mark.parametrize(
    ("most", "size"), [(200_000, 150_000), (200_000, 0), (200_000, 170_000), (100_000, 70_000)]
)
def test_a_file_is_read_to_its_end_even_if_its_stated_size_is_wrong(
    tmp_path: Path, most: int, size: int
) -> None:
    content = os.urandom(150_000)
    (tmp_path / "a").write_bytes(content)
    handle = os.open(tmp_path / "a", os.O_RDONLY)
    try:
        assert read_up_to(most, handle, size) == content[:most]
    finally:
        os.close(handle)
