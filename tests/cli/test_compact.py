"""Moving older status blocks into an archive must never lose a byte, whatever happens at any moment.

Property tests run on the plan (bytes in, bytes out); tests on files run the command.
"""

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from operator import length_hint
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import MakeVault, OpenVault
from hypothesis import given, settings
from hypothesis import strategies as st

from workingset_mcp.answers.answer import printed
from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.cli import compact as compacting
from workingset_mcp.cli.compact import (
    LEAST_TOKENS,
    Compaction,
    archive_of,
    parts_of,
    plan_compaction,
)
from workingset_mcp.cli.main import main
from workingset_mcp.errors import ArgumentError, VaultError
from workingset_mcp.settings import Settings
from workingset_mcp.vault import replacing

if sys.platform != "win32":
    import fcntl

NAME = "index.archive.md"
BOM = b"\xef\xbb\xbf"
LONG = "the tide came in and went out again, and the gate was shut in between. " * 12 + "\n\n"
ENDS = {"LF": "\n", "CRLF": "\r\n", "CR": "\r"}


def planned(raw: bytes, archive: bytes = b"", keep: int = 1) -> Compaction:
    return plan_compaction(raw, archive, NAME, Settings(), keep)


def restored(rest: bytes, archive: bytes) -> bytes:
    """Rebuild the note before compaction: replace every pointer line with the part it points to."""
    parts = parts_of(archive)
    name = re.escape(NAME.encode())
    pointer = rb"_Older status: \[%b\]\(<%b>\), part (\d+)_(?:\r\n|\n|\r)" % (name, name)
    return re.sub(pointer, lambda found: parts.get(int(found[1]), found[0]), rest)


def unfolded(rest: bytes, archive: bytes) -> bytes:
    """Put every stretch back in its place, also one that moved inside another."""
    for _ in range(20):
        before, rest = rest, restored(rest, archive)
        if rest == before:
            return rest
    raise AssertionError("pointers go in circles")


def log(days: Sequence[str], filler: str = LONG * 5) -> str:
    """Return a note with one status block for each day."""
    blocks = (f"## STATUS ({day})\n\nOf {day}.\n\n{filler}" for day in days)
    return (
        "# Lock\n\nA lock with two gates.\n\n" + "".join(blocks) + "## Background\n\nOld stones.\n"
    )


DAYS = ("2026-06-12", "2026-05-28", "2026-05-02", "2026-04-11")


# -- archive and rest give back the note -----------------------------------------------------------

FIXED_PIECES = (
    "```markdown\n## STATUS (2020-01-01)\n\nIn a fence.\n```\n\n",
    "> ## STATUS (2020-01-02)\n>\n> In a quote.\n\n",
    "- item\n\n  ## STATUS (2020-01-03)\n\n",
    "<!--\n## STATUS (2020-01-04)\n-->\n\n",
    "## Status quo of the gates\n\nShut.\n\n",
    "## STATUS\n\nUndated.\n\n",
    "## Notes\n\nÜber Nacht 水門 zu, ⚓ — »oben«.\n\n",
    "### Deep\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "STATUS (2020-01-05)\n===================\n\nSetext.\n\n",
    "\n\n\n",
    "text right below\n",
    "_Older status: somewhere else_\n",
    "<!-- a comment -->\n",
)
DATED = st.builds(
    "{} STATUS ({}{})\n\n{}\n".format,
    st.sampled_from(["#", "##", "##", "###"]),
    st.dates(date(2026, 1, 1), date(2026, 12, 31)).map(str),
    st.sampled_from(["", " 09:30", " 14:00"]),
    st.sampled_from(["Shut.", "Offen — 開.", "- [ ] Oil it\n- [x] Paint it\n", "", LONG]),
)
PIECES = st.lists(st.one_of(DATED, st.sampled_from(FIXED_PIECES), st.just(LONG)), max_size=14)


@st.composite
def notes(draw: st.DrawFn) -> bytes:
    """Draw a note over the minimum size: any line ends, with or without BOM and final line end."""
    pieces = draw(PIECES)
    text = "".join(pieces)
    at = draw(st.integers(0, len(pieces)))
    filler = LONG * 18
    text = "".join([*pieces[:at], filler, *pieces[at:]])
    text = text.replace("\n", draw(st.sampled_from(list(ENDS.values()))))
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    return (BOM if draw(st.booleans()) else b"") + text.encode()


ARCHIVES = st.sampled_from(
    [b"", b"# Old things\n", b"no line end", b"\r\n", "Älteres\n".encode(), b"\xff\xfe no text\n"]
)


@settings(max_examples=150)
@given(notes(), ARCHIVES, st.integers(0, 3))
def test_archive_and_rest_give_back_the_note_byte_for_byte(
    raw: bytes, archive: bytes, keep: int
) -> None:
    done = planned(raw, archive, keep)
    assert restored(done.rest, done.archive) == raw
    assert done.archive.startswith(archive)
    parts = parts_of(done.archive)
    assert list(parts) == list(range(1, len(parts) + 1))
    at = 0
    for part in parts.values():  # in their original order
        at = raw.index(part, at) + len(part)
    assert bool(done.moved) == bool(parts)
    assert done.rest.startswith(BOM) == raw.startswith(BOM)


@settings(max_examples=100)
@given(notes(), st.integers(0, 3))
def test_the_newest_stay_and_nothing_moves_for_a_status_in_code_quotes_lists_or_comments(
    raw: bytes, keep: int
) -> None:
    done = planned(raw, keep=keep)
    assert [heading for heading in done.moved if re.search(r"2020-01-0[1-4]", heading)] == []
    assert [heading for heading in done.moved if not re.search(r"20\d\d-", heading)] == []
    text, rest = (re.sub(r"\r\n?", "\n", some.decode("utf-8-sig")) for some in (raw, done.rest))
    dated = re.findall(r"^#+ STATUS \((2026[^)]*)\)$", text, re.MULTILINE)
    for day in sorted(dated, reverse=True)[:keep]:
        assert f"STATUS ({day})" in rest


@settings(max_examples=60)
@given(notes(), notes(), st.integers(1, 2))
def test_compacted_twice_everything_is_still_there_in_order(
    first: bytes, second: bytes, keep: int
) -> None:
    once = planned(first, keep=keep)
    grown = second + b"\n" + once.rest.removeprefix(BOM)
    twice = planned(grown, once.archive, keep)
    assert twice.archive.startswith(once.archive)
    assert unfolded(twice.rest, twice.archive) == second + b"\n" + first.removeprefix(BOM)


@settings(max_examples=40)
@given(notes(), st.integers(1, 2))
def test_a_second_run_moves_nothing(raw: bytes, keep: int) -> None:
    once = planned(raw, keep=keep)
    again = planned(once.rest, once.archive, keep)
    assert again.moved == ()
    assert (again.rest, again.archive) == (once.rest, once.archive)


@pytest.mark.parametrize("bom", [b"", BOM], ids=["", "BOM"])
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_line_ends_and_marks_stay_as_they_were(end: str, bom: bytes) -> None:
    raw = bom + log(DAYS).replace("\n", end).encode()
    done = planned(raw)
    assert done.moved == tuple(f"STATUS ({day})" for day in DAYS[1:])
    assert restored(done.rest, done.archive) == raw
    left = done.rest.decode("utf-8-sig")
    assert set(re.findall(r"\r\n|\r|\n", left)) == {end}
    assert left.count(NAME) == 2  # one pointer line: its words and its target
    assert done.tokens_after < done.tokens_before


def test_a_last_block_without_a_line_end_comes_back_without_one() -> None:
    raw = (log(DAYS).partition("## Background")[0].rstrip("\n")).encode()
    done = planned(raw)
    assert len(done.moved) == 3
    assert restored(done.rest, done.archive) == raw
    assert not raw.endswith(b"\n")


# -- what moves ------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", range(6))
@pytest.mark.parametrize("days", [DAYS, DAYS[::-1], (DAYS[2], DAYS[0], DAYS[3], DAYS[1])])
def test_the_newest_stay_wherever_they_are(days: tuple[str, ...], keep: int) -> None:
    raw = log(days).encode()
    done = planned(raw, keep=keep)
    stays = sorted(DAYS, reverse=True)[:keep]
    assert sorted(done.moved) == sorted(f"STATUS ({day})" for day in DAYS if day not in stays)
    for day in DAYS:
        block = f"## STATUS ({day})\n\nOf {day}.\n".encode()
        assert (block in done.rest) == (day in stays)
        assert (block in b"".join(parts_of(done.archive).values())) == (day not in stays)
    assert b"A lock with two gates." in done.rest
    assert b"## Background\n\nOld stones.\n" in done.rest


def test_the_later_time_of_one_day_stays_else_the_lower_block() -> None:
    done = planned(log(("2026-06-12 09:00", "2026-06-12 14:30", "2026-06-12 11:00")).encode())
    assert sorted(done.moved) == ["STATUS (2026-06-12 09:00)", "STATUS (2026-06-12 11:00)"]
    done = planned(log(("2026-06-12", "2026-06-12"), LONG * 9).replace("Of", "Upper", 1).encode())
    assert b"Upper" in done.archive
    assert b"Upper" not in done.rest


def test_blocks_with_something_between_them_leave_a_pointer_each() -> None:
    text = log(DAYS).replace(
        "## STATUS (2026-05-02)", "## Berths\n\nFour.\n\n## STATUS (2026-05-02)"
    )
    done = planned(text.encode())
    lines = done.rest.decode().split("\n")
    pointers = [line for line in lines if line.startswith("_Older status: ")]
    assert pointers == [f"_Older status: [{NAME}](<{NAME}>), part {n}_" for n in (1, 2)]
    assert lines.index(pointers[0]) < lines.index("## Berths") < lines.index(pointers[1])
    assert list(parts_of(done.archive)) == [1, 2]


@pytest.mark.parametrize("piece", FIXED_PIECES[:6])
def test_a_section_without_a_status_or_without_a_date_stays(piece: str) -> None:
    text = log(DAYS[:1]) + f"\n{piece}" + LONG * 4
    assert count_tokens(text) > LEAST_TOKENS or count_tokens(text + LONG * 20) > LEAST_TOKENS
    raw = (text + LONG * 20).encode()
    assert planned(raw) == Compaction(raw, b"", (), count_tokens(raw.decode()), _tokens(raw))


def _tokens(raw: bytes) -> int:
    return count_tokens(raw.decode())


def test_a_block_that_contains_a_newer_one_stays() -> None:
    raw = ("# STATUS (2026-01-05)\n\n" + LONG * 20 + "## STATUS (2026-06-12)\n\nNew.\n").encode()
    assert planned(raw).moved == ()


def test_status_words_of_the_settings_count() -> None:
    raw = log(DAYS).replace("STATUS", "Läget").encode()
    assert planned(raw).moved == ()
    done = plan_compaction(raw, b"", NAME, Settings(status_words=("Läget",)), 1)
    assert done.moved == tuple(f"Läget ({day})" for day in DAYS[1:])


def test_a_note_of_at_most_three_thousand_tokens_is_left_alone() -> None:
    text = log(DAYS, filler="")
    words = LEAST_TOKENS - count_tokens(text)
    at_most = text + " gate" * words
    while count_tokens(at_most) > LEAST_TOKENS:
        at_most = at_most.removesuffix(" gate")
    while count_tokens(at_most + " gate") <= LEAST_TOKENS:
        at_most += " gate"
    assert count_tokens(at_most) == LEAST_TOKENS
    assert planned(at_most.encode()).moved == ()
    assert planned(f"{at_most} gate".encode()).moved == tuple(f"STATUS ({d})" for d in DAYS[1:])


def test_a_negative_number_to_keep_is_refused() -> None:
    with pytest.raises(ArgumentError):
        planned(log(DAYS).encode(), keep=-1)


@pytest.mark.parametrize(
    "raw", [b"\xff\xfeS\0T\0", log(DAYS).encode("cp1252") + b"\xfcber\n", b"\xed\xa0\x80\n"]
)
def test_bytes_that_are_not_utf_8_are_refused(raw: bytes) -> None:
    with pytest.raises(VaultError, match="not UTF-8"):
        planned(raw)


# -- texts that look like our marks ----------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "<!-- part 1, 4 bytes -->",
        "<!-- part 2, 9999999 bytes -->",
        "<!-- part 7, 3 bytes -->",
        "<!-- /part 1 -->",
    ],
)
def test_marks_of_an_archive_inside_a_block_change_nothing(line: str) -> None:
    raw = log(DAYS).replace("Of 2026-05-02.", f"Of it.\n\n{line}\nabc\n").encode()
    done = planned(raw)
    assert len(done.moved) == 3
    assert restored(done.rest, done.archive) == raw


@pytest.mark.parametrize("number", [1, 2, 99])
def test_an_earlier_pointer_line_stays_in_the_note(number: int) -> None:
    pointer = f"_Older status: [{NAME}](<{NAME}>), part {number}_"
    raw = log(DAYS).replace("Old stones.", f"Old stones.\n\n{pointer}\n").encode()
    done = planned(raw)  # its archive was moved away or never existed
    assert len(done.moved) == 3
    assert restored(done.rest, done.archive) == raw


def test_parts_are_numbered_on_from_those_an_archive_holds() -> None:
    once = planned(log(DAYS[2:], LONG * 9).encode(), keep=0)
    twice = planned(log(DAYS[:2], LONG * 9).encode(), once.archive, keep=0)
    assert list(parts_of(once.archive)) == [1]
    assert list(parts_of(twice.archive)) == [1, 2]
    assert b"part 2_" in twice.rest


# -- files -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Files:
    """A note on disk, with its archive."""

    note: Path

    @property
    def archive(self) -> Path:
        return archive_of(self.note)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.note.parent.iterdir())


@pytest.fixture
def lock(make_vault: MakeVault) -> Files:
    """A long note in a vault."""
    root = make_vault("=== cust/lock/index.md\n" + log(DAYS))
    return Files(root / "cust" / "lock" / "index.md")


def compact(note: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["compact", str(note), *options])


def test_without_apply_nothing_is_written_and_the_moves_are_named(lock: Files) -> None:
    raw, seen = lock.note.read_bytes(), lock.note.stat()
    result = compact(lock.note)
    assert result.exit_code == 0
    assert lock.names() == ["index.md"]
    assert lock.note.read_bytes() == raw
    now = lock.note.stat()
    assert (now.st_mtime_ns, now.st_ino) == (seen.st_mtime_ns, seen.st_ino)
    assert f"would move 3 status blocks to {NAME}:" in result.stdout
    assert [day for day in DAYS if f"  STATUS ({day})" in result.stdout] == list(DAYS[1:])
    assert result.stderr == "hint: give --apply to do it\n"


def test_apply_writes_both_files_and_no_others(lock: Files) -> None:
    raw = lock.note.read_bytes()
    result = compact(lock.note, "--apply")
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"moved 3 status blocks to {NAME}:" in result.stdout
    assert lock.names() == [NAME, "index.md"]
    rest, archive = lock.note.read_bytes(), lock.archive.read_bytes()
    assert restored(rest, archive) == raw
    again = compact(lock.note, "--apply")
    assert "nothing to move" in again.stdout
    assert (lock.note.read_bytes(), lock.archive.read_bytes()) == (rest, archive)


def test_keep_says_how_many_stay(lock: Files) -> None:
    assert "move 2 status blocks" in compact(lock.note, "--keep", "2").stdout
    assert "nothing to move" in compact(lock.note, "--keep", "4").stdout
    assert compact(lock.note, "--keep", "-1").exit_code == 2


def test_a_branch_says_the_same_after_its_note_was_compacted(
    lock: Files, open_vault: OpenVault
) -> None:
    workspace = open_vault(lock.note.parents[2])
    before = printed(workspace.brief("cust/lock"))
    compact(lock.note, "--apply")
    after = printed(workspace.brief("cust/lock"))
    for brief in (before, after):
        assert "_Source: [cust/lock/index.md:5]_" in brief
        assert "Of 2026-06-12." in brief
    arguments = ["check", "--vault", str(lock.note.parents[2]), "--strict"]
    index = str(lock.note.parents[2].parent / "checked")
    result = CliRunner().invoke(main, [*arguments, "--index-dir", index])
    assert (result.exit_code, result.stdout) == (0, "")


def test_a_kill_between_archive_and_note_loses_nothing_and_a_rerun_finishes(lock: Files) -> None:
    raw = lock.note.read_bytes()
    done = planned(raw)
    lock.archive.write_bytes(done.archive)  # the power fails here
    assert lock.note.read_bytes() == raw
    assert compact(lock.note, "--apply").exit_code == 0
    rest, archive = lock.note.read_bytes(), lock.archive.read_bytes()
    assert archive.startswith(done.archive)
    assert restored(rest, archive) == raw
    assert b"Of 2026-05-02." not in rest


KILLED = """
import os, signal, sys
from pathlib import Path
from workingset_mcp.cli.main import main
left = int(sys.argv[1])
def die(_):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
os.fsync = die
main(["compact", sys.argv[2], "--apply"])
"""


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("write", [1, 2], ids=["archive", "note"])
def test_the_next_run_removes_what_a_killed_one_left_but_nothing_else(
    lock: Files, write: int
) -> None:
    raw, folder = lock.note.read_bytes(), lock.note.parent
    done = subprocess.run([sys.executable, "-c", KILLED, str(write), str(lock.note)], check=False)
    assert done.returncode == -signal.SIGKILL
    [left] = [path for path in folder.iterdir() if path.name.startswith(".")]
    others = [f"..{left.name}", f"{left.name}.md", ".index.md.swp", ".other.md.workingset-part"]
    for name in others:
        (folder / name).write_bytes(b"mine")
    young = folder / f".{NAME}.young.workingset-part"
    young.write_bytes(b"of a run that is not done")
    for path in folder.iterdir():
        old = time.time() - (50 if path == young else 70)
        os.utime(path, (old, old))
    assert compact(lock.note).exit_code == 0
    assert left.exists()
    assert compact(lock.note, "--apply").exit_code == 0
    assert lock.names() == sorted([NAME, "index.md", young.name, *others])
    assert restored(lock.note.read_bytes(), lock.archive.read_bytes()) == raw


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


FAILURES: dict[str, tuple[object, str, int]] = {  # which call fails
    "the new note is written": (os, "fsync", 1),
    "the archive is written": (os, "fsync", 2),
    "the new note gets its mode": (Path, "chmod", 1),
    "the names swap": (replacing, "exchange", 1),
}


@pytest.mark.parametrize("moment", FAILURES)
@pytest.mark.parametrize("before", [None, b"# Old things\n"], ids=["new archive", "old archive"])
def test_a_write_that_fails_leaves_whole_files_and_no_others(
    lock: Files, monkeypatch: pytest.MonkeyPatch, before: bytes | None, moment: str
) -> None:
    raw = lock.note.read_bytes()
    if before is not None:
        lock.archive.write_bytes(before)
    with monkeypatch.context() as patch:
        holder, name, call = FAILURES[moment]
        calls = iter([None] * (call - 1))
        patch.setattr(holder, name, lambda *_: next(calls) if length_hint(calls) else full())
        with pytest.raises(OSError, match="No space"):
            compacting.apply_compaction(lock.note, raw, before or b"", planned(raw, before or b""))
    assert lock.note.read_bytes() == raw
    assert lock.names() == (["index.md"] if before is None else [NAME, "index.md"])
    if before is not None:
        assert lock.archive.read_bytes().startswith(before)
    assert compact(lock.note, "--apply").exit_code == 0
    assert restored(lock.note.read_bytes(), lock.archive.read_bytes()) == raw


def test_a_full_disk_is_reported_in_one_line(lock: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", full)
    result = compact(lock.note, "--apply")
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 3
    assert result.stderr.startswith("Error: ")
    assert lock.names() == ["index.md"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664])
def test_both_files_keep_their_modes(lock: Files, mode: int) -> None:
    lock.archive.write_bytes(b"# Old things\n")
    lock.archive.chmod(mode)
    lock.note.chmod(mode)
    assert compact(lock.note, "--apply").exit_code == 0
    assert stat.S_IMODE(lock.note.stat().st_mode) == mode
    assert stat.S_IMODE(lock.archive.stat().st_mode) == mode
    assert lock.archive.read_bytes().startswith(b"# Old things\n")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_new_archive_has_no_wider_mode_than_its_note(lock: Files, mode: int) -> None:
    lock.note.chmod(mode)
    assert compact(lock.note, "--apply").exit_code == 0
    assert stat.S_IMODE(lock.archive.stat().st_mode) & ~mode == 0


# -- another program at the same moment ------------------------------------------------------------

WORDS = b"\nwhat a person wrote\n"


def append(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(WORDS)


def save_by_renaming(file: Path) -> None:
    beside = file.with_name("beside.tmp")
    beside.write_bytes((file.read_bytes() if file.exists() else b"") + WORDS)
    beside.replace(file)


def save_both(lock: Files) -> None:
    append(lock.note)
    save_by_renaming(lock.archive)


SAVES: dict[str, Callable[[Files], None]] = {
    "the note is added to": lambda lock: append(lock.note),
    "the note is saved by renaming": lambda lock: save_by_renaming(lock.note),
    "the archive is added to": lambda lock: append(lock.archive),
    "the archive is saved by renaming": lambda lock: save_by_renaming(lock.archive),
    "both are": save_both,
}
MOMENTS = ("planned", "new note written", "archive written", "names swapped", "names swapped back")


def interrupted_at(patch: pytest.MonkeyPatch, moment: str, save: Callable[[], None]) -> None:
    """Let another program save something at one point of `apply_compaction`."""
    steps = iter(MOMENTS[1:3])
    swaps = iter(MOMENTS[3:])
    really_sync, really_swap = os.fsync, replacing.exchange

    def fsync(handle: int) -> None:
        really_sync(handle)
        if next(steps, None) == moment:
            save()

    def exchange(one: Path, other: Path) -> None:
        really_swap(one, other)
        step = next(swaps)
        if step == moment or (step == MOMENTS[3] and moment == MOMENTS[4]):
            save()  # a swap is undone only if something was saved after it

    patch.setattr(os, "fsync", fsync)
    patch.setattr(replacing, "exchange", exchange)
    if moment == MOMENTS[0]:
        save()


@pytest.mark.parametrize("at_once", [True, False], ids=["swapped at once", "in three steps"])
@pytest.mark.parametrize("before", [None, b"# Old things\n"], ids=["new archive", "old archive"])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("save", SAVES)
def test_what_another_program_saves_at_any_moment_stays(
    lock: Files, monkeypatch: pytest.MonkeyPatch, save: str, moment: str, before: bytes | None,
    at_once: bool,
) -> None:  # fmt: skip
    raw, saved = lock.note.read_bytes(), [0]
    if before is not None:
        lock.archive.write_bytes(before)

    def person() -> None:
        SAVES[save](lock)
        saved[0] += 1

    done = planned(raw, before or b"")
    with monkeypatch.context() as patch:
        if not at_once:
            patch.setattr(replacing, "_system_call", lambda: None)
        interrupted_at(patch, moment, person)
        with suppress(VaultError):
            compacting.apply_compaction(lock.note, raw, before or b"", done)
    assert saved[0] >= 1
    assert [name for name in lock.names() if name.startswith(".")] == []
    texts = [path.read_bytes() for path in lock.note.parent.iterdir()]
    assert sum(text.count(WORDS) for text in texts) >= saved[0] * (2 if save == "both are" else 1)
    assert all(any(f"Of {day}.".encode() in text for text in texts) for day in DAYS)
    for part in parts_of(done.archive).values():  # every part is in the note or in the archive
        assert part in lock.note.read_bytes() or part in lock.archive.read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who has a file open")
def test_a_note_that_another_program_has_open_for_writing_stays(lock: Files) -> None:
    raw = lock.note.read_bytes()
    with lock.note.open("ab") as opened:
        result = compact(lock.note, "--apply")
        opened.write(WORDS)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "index.md changed meanwhile" in result.stderr
    assert lock.note.read_bytes() == raw + WORDS
    assert lock.names() == ["index.md"]


RACER = """
import sys, time
from pathlib import Path
kind, folder, until = sys.argv[1], Path(sys.argv[2]), time.monotonic() + float(sys.argv[3])
note, archive, count = folder / "index.md", folder / "index.archive.md", 0
print("ready", flush=True)
while time.monotonic() < until:
    words = f"\\nsaved {count}\\n"
    try:
        with (archive if kind == "adds to the archive" else note).open("a") as opened:
            opened.write(words)
    except OSError:
        continue
    count += 1
print(count)
"""


@pytest.mark.process
@pytest.mark.parametrize("kind", ["adds to the archive", "adds to the note"])
def test_nothing_is_lost_while_another_process_keeps_saving(lock: Files, kind: str) -> None:
    lock.archive.write_bytes(b"# Old things\n")
    command = [sys.executable, "-c", RACER, kind, str(lock.note.parent), "1.0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as racer:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
        results = []
        while racer.poll() is None:
            results.append(compact(lock.note, "--apply").exit_code)
        count = int(racer.stdout.read())
    assert count > 10
    assert set(results) <= {0, 3}
    texts = [path.read_text(encoding="utf-8") for path in lock.note.parent.iterdir()]
    lost = [n for n in range(count) if not any(f"\nsaved {n}\n" in text for text in texts)]
    assert lost == []
    assert [day for day in DAYS if not any(f"Of {day}." in text for text in texts)] == []


@pytest.mark.process
def test_two_runs_at_once_lose_no_block(lock: Files) -> None:
    raw = lock.note.read_bytes()
    command = [sys.executable, "-m", "workingset_mcp", "compact", str(lock.note), "--apply"]
    runs = [
        subprocess.Popen(
            [*command, "--keep", str(keep)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for keep in (1, 2)
    ]  # fmt: skip
    for run in runs:
        run.communicate()
    assert {run.returncode for run in runs} <= {0, 3}
    assert unfolded(lock.note.read_bytes(), lock.archive.read_bytes()) == raw
    assert lock.names() == [NAME, "index.md"]


@pytest.mark.skipif(os.name != "posix", reason="locks as POSIX has them")
def test_nothing_is_done_while_another_run_holds_the_archive(lock: Files) -> None:
    raw = lock.note.read_bytes()
    lock.archive.write_bytes(b"# Old things\n")
    with lock.archive.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = compact(lock.note, "--apply")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(f"Error: Another run is writing {NAME}.")
    assert (lock.note.read_bytes(), lock.archive.read_bytes()) == (raw, b"# Old things\n")


LINKS: dict[str, Callable[[Files, Path], object]] = {
    "the archive leads outside": lambda lock, other: lock.archive.symlink_to(other),
    "the archive leads nowhere": lambda lock, other: lock.archive.symlink_to(
        other.with_name("missing.md")
    ),
    "the archive has another name": lambda lock, other: os.link(other, lock.archive),
    "the note has another name": lambda lock, other: os.link(
        lock.note, other.with_name("second.md")
    ),
    "the note is a link": lambda lock, other: lock.note.symlink_to(
        lock.note.rename(other.with_name("moved.md"))
    ),
    "the archive is a pipe": lambda lock, _: os.mkfifo(lock.archive),
}


@pytest.mark.skipif(os.name != "posix", reason="links and pipes as POSIX has them")
@pytest.mark.parametrize("apply", [(), ("--apply",)], ids=["asked", "applied"])
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_links_are_refused_and_their_targets_stay(
    lock: Files, tmp_path: Path, link: Callable[[Files, Path], object], apply: tuple[str, ...]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "other.md").write_bytes(b"# Of another\n")
    link(lock, outside / "other.md")
    before = {file.name: file.read_bytes() for file in outside.iterdir()}
    names, raw = lock.names(), lock.note.read_bytes()
    result = compact(lock.note, *apply)
    assert (result.exit_code, result.stdout) == (3, "")
    assert re.search(r"is a link|names \(hard links\)|not a regular file", result.stderr)
    assert {file.name: file.read_bytes() for file in outside.iterdir()} == before
    assert (lock.names(), lock.note.read_bytes()) == (names, raw)


def test_the_leftover_of_a_killed_swap_is_removed_only_if_all_of_it_is_elsewhere(
    lock: Files,
) -> None:
    raw = lock.note.read_bytes()
    assert compact(lock.note, "--apply").exit_code == 0
    held = {
        ".index.md.a.workingset-swap": raw,
        ".index.md.b.workingset-swap": lock.note.read_bytes(),
    }
    alone = {".index.md.c.workingset-swap": raw + WORDS}
    for name, text in {**held, **alone}.items():
        (lock.note.parent / name).write_bytes(text)
        os.utime(lock.note.parent / name, (time.time() - 70, time.time() - 70))
    result = compact(lock.note, "--apply")
    assert result.exit_code == 0
    assert ".index.md.c.workingset-swap holds text" in result.stderr
    assert lock.names() == sorted([*alone, NAME, "index.md"])


def test_a_note_that_is_not_utf_8_is_refused_plainly(lock: Files) -> None:
    raw = lock.note.read_bytes() + b"\xfcber Nacht\n"
    lock.note.write_bytes(raw)
    result = compact(lock.note, "--apply")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "Error: The note is not UTF-8.\nhint: Save it as UTF-8 first.\n"
    assert lock.note.read_bytes() == raw
    assert lock.names() == ["index.md"]


@pytest.mark.parametrize("name", ["missing.md", "."])
def test_a_path_that_is_not_a_file_is_a_usage_error(tmp_path: Path, name: str) -> None:
    result = compact(tmp_path / name)
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_short_note_is_left_alone_with_a_message(make_vault: MakeVault) -> None:
    root = make_vault("=== index.md\n" + log(DAYS, filler=""))
    result = compact(root / "index.md", "--apply")
    assert result.exit_code == 0
    assert "nothing to move" in result.stdout
    assert "(needs over 3,000)" in result.stdout
    assert [path.name for path in root.iterdir()] == ["index.md"]


def test_the_settings_of_the_vault_apply(lock: Files) -> None:
    text = lock.note.read_text(encoding="utf-8").replace("STATUS", "Läget")
    lock.note.write_text(text, encoding="utf-8")
    assert "nothing to move" in compact(lock.note).stdout
    settings_file = lock.note.parents[2] / "workingset.toml"
    settings_file.write_text('status_words = ["Läget"]\n', encoding="utf-8")
    assert "move 3 status blocks" in compact(lock.note).stdout


@pytest.mark.parametrize(
    ("name", "archive"),
    [("index.md", "index.archive.md"), ("my log.markdown", "my log.archive.markdown")],
)
def test_the_archive_is_beside_the_note_under_its_name(name: str, archive: str) -> None:
    assert archive_of(Path("cust") / name) == Path("cust") / archive
