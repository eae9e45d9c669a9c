"""Every command as a person or a script uses it: exit codes, output streams, options.

Most tests use click's runner; modules, terminals and pipes are tested in a process of their own.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import MakeVault, OpenVault, write_vault

from workingset_mcp import __version__
from workingset_mcp.answers.answer import printed
from workingset_mcp.cli.main import main
from workingset_mcp.notes.written_brief import unsigned
from workingset_mcp.workspace.facade import Workspace

LOCK = "cust/lock"
COMMANDS = {
    "serve", "index", "status", "brief", "search", "open", "full", "items", "measure", "check",
    "hook", "install", "compact", "demo",
}  # fmt: skip
NOTES = """\
=== cust/lock/index.md
# Lock

## STATUS (2026-06-12)

The lower gate is stuck, the diver comes on Monday.

## STATUS (2026-05-02)

All gates move.

Decision: the diver is paid by the hour.
Owner: Ebba Lind
=== cust/lock/2026-06-10-round.md
# Round

- [ ] Ring the diver, Owner: Odo Marsh, Due: 2026-06-18
- [ ] Urgent: order a seal, Owner: Ebba Lind, Due: 2026-07-20
- [x] Drain the basin
Fact: 4 gates in all.
=== cust/weir/2026-03-04.md
# Weir

- [ ] Measure the weir
=== log/2026-06-01.md
# Monday

The heron is back.
"""
ODD = """\
=== .gitignore
private/
=== private/secret.md
# Secret
=== cust/lock/2026-06-11 (conflicted copy 2026-06-12).md
# Copy
=== cust/lock/2026-06-09-old.md
# Old

Am Wehr \udcfcber Nacht.
"""


@pytest.fixture
def vault(make_vault: MakeVault) -> Path:
    return make_vault(NOTES)


def run(*arguments: str | Path, vault: Path | None = None, stdin: bytes = b"") -> Result:
    """Run a command; the index of a vault is beside it, where `open_vault` puts it."""
    line = [str(argument) for argument in arguments]
    if vault is not None:
        line += ["--vault", str(vault), "--index-dir", str(vault.parent / "index")]
    result = CliRunner().invoke(main, line, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def said_by(result: Result) -> tuple[int, str, list[str]]:
    """Return the exit code, stdout, and the beginning of each line of stderr."""
    return (
        result.exit_code,
        result.stdout,
        [line.partition(":")[0] for line in result.stderr.splitlines()],
    )


# -- exit codes and streams ------------------------------------------------------------------------

ANSWERED: Mapping[str, Sequence[str]] = {
    "index": ["index"],
    "index full": ["index", "--full"],
    "status": ["status"],
    "overview": ["brief"],
    "brief": ["brief", "lock"],
    "briefs": ["brief", "--all"],
    "search": ["search", "Who rings the diver?"],
    "open": ["open", "log/2026-06-01.md"],
    "full": ["full", "lock"],
    "full of all": ["full"],
    "items": ["items"],
    "measure": ["measure"],
    "check": ["check"],
}
NOT_FOUND: Mapping[str, Sequence[str]] = {
    "search": ["search", "zebra"],
    "items": ["items", "--text", "zebra"],
    "full": ["full", "lock", "--query", "zebra"],
    "measure": ["measure", "--include", "zebra/*"],
}
REFUSED: Mapping[str, tuple[int, Sequence[str]]] = {
    "an unknown branch": (1, ["brief", "lokc"]),
    "an unknown branch to search": (1, ["search", "diver", "--branch", "lokc"]),
    "an unknown branch for full": (1, ["full", "lokc"]),
    "an unknown branch of items": (1, ["items", "--branch", "lokc"]),
    "an unknown branch to measure": (1, ["measure", "lokc"]),
    "an unknown branch to write": (1, ["brief", "lokc", "--write"]),
    "an unknown note": (1, ["open", "log/2026-06-02.md"]),
    "an unknown heading": (1, ["open", "log/2026-06-01.md", "--heading", "Zebra"]),
    "a note outside": (2, ["open", "../x.md"]),
    "a folder": (2, ["open", "log"]),
    "a path that is no note": (2, ["open", "/etc/passwd"]),
    "lines that are none": (2, ["open", "log/2026-06-01.md", "--lines", "a-b"]),
    "a budget too small": (2, ["brief", "lock", "--budget", "5"]),
    "a search budget too small": (2, ["search", "diver", "--budget", "5"]),
    "bytes too few": (2, ["brief", "lock", "--max-bytes", "10"]),
    "an empty query": (2, ["search", " "]),
    "a day that is none": (2, ["search", "diver", "--since", "some day"]),
    "a day of items that is none": (2, ["items", "--due-before", "soon"]),
    "a state at no day": (2, ["full", "lock", "--as-of", "then"]),
    "a cursor of others": (2, ["full", "lock", "--cursor", "x"]),
    "an unknown kind": (2, ["items", "--kind", "zebra"]),
    "an unknown grouping": (2, ["items", "--group-by", "zebra"]),
}
USAGE: Mapping[str, Sequence[str]] = {
    "no such command": ["zebra"],
    "no such option": ["status", "--zebra"],
    "no query": ["search"],
    "no number": ["brief", "lock", "--budget", "many"],
    "no branch to write": ["brief", "--write"],
    "no branch to write out": ["brief", "--out", "x.md"],
    "no such format": ["check", "--format", "xml"],
    "no client": ["install"],
    "no file": ["compact"],
}


@pytest.mark.parametrize("line", ANSWERED.values(), ids=ANSWERED)
def test_an_answer_goes_to_stdout_alone_with_exit_0(vault: Path, line: Sequence[str]) -> None:
    result = run(*line, vault=vault)
    assert result.exit_code == 0
    if line[0] == "check":
        assert (result.stdout, result.stderr) == ("", "0 errors, 0 warnings\n")
    else:
        assert result.stdout.endswith("\n")
        assert not result.stdout.endswith("\n\n")
        assert result.stderr == ""


@pytest.mark.parametrize("line", NOT_FOUND.values(), ids=NOT_FOUND)
def test_nothing_found_is_an_answer_with_exit_1(vault: Path, line: Sequence[str]) -> None:
    result = run(*line, vault=vault)
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.strip()


@pytest.mark.parametrize(("code", "line"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_an_error_and_a_hint_on_stderr(
    vault: Path, code: int, line: Sequence[str]
) -> None:
    assert said_by(run(*line, vault=vault)) == (code, "", ["Error", "hint"])


@pytest.mark.parametrize("line", USAGE.values(), ids=USAGE)
def test_a_usage_error_is_exit_2_with_one_error_line(vault: Path, line: Sequence[str]) -> None:
    result = CliRunner().invoke(main, [*line])
    assert (result.exit_code, result.stdout) == (2, "")
    assert sum(begin.startswith("Error: ") for begin in result.stderr.splitlines()) == 1


def test_a_failure_is_exit_3(tmp_path: Path) -> None:
    note = tmp_path / "index.md"
    note.write_bytes(b"\xfcber Nacht\n")
    assert said_by(run("compact", note)) == (3, "", ["Error", "hint"])


VAULT_COMMANDS = (
    "index", "status", "brief", "search x", "open x.md", "full", "items", "measure", "check",
)  # fmt: skip


@pytest.mark.parametrize("line", VAULT_COMMANDS)
def test_a_vault_that_is_not_there_is_refused_by_every_command(tmp_path: Path, line: str) -> None:
    result = run(*line.split(), vault=tmp_path / "nowhere")
    assert said_by(result) == (2, "", ["Error", "hint"])
    assert "nowhere" in result.stderr


@pytest.mark.parametrize("line", VAULT_COMMANDS)
def test_an_unknown_setting_is_refused_by_every_command_with_a_suggestion(
    vault: Path, line: str
) -> None:
    (vault / "workingset.toml").write_text('carrier = ["cust"]\n', encoding="utf-8")
    result = run(*line.split(), vault=vault)
    assert said_by(result) == (2, "", ["Error", "hint"])
    assert "'carrier'" in result.stderr
    assert "Did you mean carriers" in result.stderr


def test_a_setting_of_the_environment_that_is_wrong_is_refused(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKINGSET_BRIEF_BUDGET", "plenty")
    assert said_by(run("brief", "lock", vault=vault)) == (2, "", ["Error", "hint"])


def test_a_near_name_is_in_the_hint(vault: Path) -> None:
    run("index", vault=vault)
    assert "cust/lock" in run("brief", "cust/lok", vault=vault).stderr
    assert "log/2026-06-01.md" in run("open", "log/2026-06-11.md", vault=vault).stderr


def test_debug_shows_where_an_expected_error_comes_from(vault: Path) -> None:
    result = CliRunner().invoke(main, ["--debug", "brief", "lokc", "--vault", str(vault)])
    assert type(result.exception).__name__ == "BranchNotFound"


UNWRITABLE: Mapping[str, Sequence[str]] = {
    "brief": ["brief", "lock", "--out"],
    "page": ["measure", "--html"],
}


@pytest.mark.parametrize("line", UNWRITABLE.values(), ids=UNWRITABLE)
@pytest.mark.parametrize("kind", ["no folder", "a folder"])
def test_a_file_that_cannot_be_written_is_reported_in_one_line(
    vault: Path, tmp_path: Path, line: Sequence[str], kind: str
) -> None:
    target = tmp_path / "missing" / "x" if kind == "no folder" else tmp_path
    result = run(*line, target, vault=vault)
    assert result.exit_code in (2, 3)
    assert sum(begin.startswith("Error: ") for begin in result.stderr.splitlines()) == 1


def test_the_version_and_all_commands_are_listed(vault: Path) -> None:
    assert __version__ in run("--version").stdout
    listed = run("--help").stdout.partition("Commands:")[2]
    assert set(re.findall(r"^  (\w+)", listed, re.MULTILINE)) == COMMANDS


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command: str) -> None:
    result = run(command, "--help")
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) > 4


DESIGNED = {
    "serve": "--vault --http --max-answer-bytes",
    "index": "--vault --full --json",
    "status": "--vault --json",
    "brief": "--vault --all --budget --max-bytes --write --force --out --json",
    "search": "--vault --branch --boost --top --budget --json",
    "open": "--vault --json",
    "full": "--vault --json",
    "items": "--vault --json",
    "measure": "--vault --include --overhead --html --json",
    "check": "--vault --format --strict --json",
    "hook session-start": "--vault --client --branch --max-bytes --full",
    "hook pre-compact": "--vault --client --branch",
    "install": "--vault --hooks",
    "compact": "--keep --apply",
}


@pytest.mark.parametrize(("command", "options"), DESIGNED.items(), ids=DESIGNED)
def test_a_command_takes_the_options_that_its_design_names(command: str, options: str) -> None:
    shown = run(*command.split(), "--help").stdout
    assert [option for option in options.split() if f"{option} " not in f"{shown} "] == []


# -- JSON ------------------------------------------------------------------------------------------

ENVELOPES: Mapping[str, tuple[Sequence[str], set[str]]] = {
    "index": (["index"], {"text", "notes", "branches", "state"}),
    "status": (["status"], {"text", "notes", "branches", "state", "remarks", "left_out"}),
    "brief": (["brief", "lock"], {"text", "header", "branch", "sections"}),
    "briefs": (["brief", "--all"], {"text", "briefs"}),
    "written": (["brief", "lock", "--write"], {"text", "written"}),
    "search": (["search", "diver"], {"text", "passages", "absent", "weak"}),
    "open": (["open", "log/2026-06-01.md"], {"text", "part"}),
    "full": (["full", "lock"], {"text", "page", "cursor", "extracts"}),
    "items": (["items"], {"text", "total", "items", "groups"}),
    "measure": (["measure"], {"text"}),
}


def envelope(result: Result) -> dict[str, Any]:
    """Parse stdout, which must be one envelope."""
    found: dict[str, Any] = json.loads(result.stdout)
    assert list(found) == ["schema_version", "command", "data"]
    assert found["schema_version"] == 2
    assert result.stdout.count("\n") == 1
    return found


@pytest.mark.parametrize(("line", "keys"), ENVELOPES.values(), ids=ENVELOPES)
def test_json_is_one_envelope_on_one_line(vault: Path, line: Sequence[str], keys: set[str]) -> None:
    result = run(*line, "--json", vault=vault)
    assert (result.exit_code, result.stderr) == (0, "")
    found = envelope(result)
    assert found["command"] == line[0]
    assert keys <= set(found["data"])


@pytest.mark.parametrize("line", [["search", "diver"], ["items"], ["full", "lock"], ["brief"]])
def test_json_holds_the_text_that_is_printed_without_it(vault: Path, line: Sequence[str]) -> None:
    run("index", vault=vault)
    text = run(*line, vault=vault).stdout
    assert envelope(run(*line, "--json", vault=vault))["data"]["text"].rstrip() == text.rstrip()


@pytest.mark.parametrize("line", NOT_FOUND.values(), ids=NOT_FOUND)
def test_nothing_found_is_an_envelope_with_exit_1(vault: Path, line: Sequence[str]) -> None:
    result = run(*line, "--json", vault=vault)
    assert result.exit_code == 1
    assert envelope(result)["command"] == line[0]


def test_an_error_is_no_envelope(vault: Path) -> None:
    assert said_by(run("brief", "lokc", "--json", vault=vault)) == (1, "", ["Error", "hint"])


# -- index and status ------------------------------------------------------------------------------


def test_index_says_how_much_it_holds(vault: Path) -> None:
    assert run("index", vault=vault).stdout == "4 notes in 3 branches indexed\n"


def test_index_picks_up_changes(vault: Path) -> None:
    run("index", vault=vault)
    write_vault(vault, "=== log/2026-06-02.md\n# Tuesday\n\nThe otter is back.\n")
    assert run("index", vault=vault).stdout == "5 notes in 3 branches indexed\n"
    assert "otter" in run("search", "otter", vault=vault).stdout


def test_index_full_rebuilds_the_same_index(vault: Path) -> None:
    run("index", vault=vault)
    before = run("full", vault=vault).stdout
    (vault / "log/2026-06-01.md").unlink()
    write_vault(vault, "=== log/2026-06-01.md\n# Monday\n\nThe heron is back.\n")
    assert run("index", "--full", vault=vault).stdout == "4 notes in 3 branches indexed\n"
    assert run("full", vault=vault).stdout == before
    assert envelope(run("status", "--json", vault=vault))["data"]["state"] == "index current"


def test_index_full_repairs_a_damaged_index(vault: Path) -> None:
    run("index", vault=vault)
    [file] = (vault.parent / "index").rglob("index.sqlite3")
    file.write_bytes(b"no database " * 3_000)
    assert run("index", "--full", vault=vault).exit_code == 0
    assert "diver" in run("search", "diver", vault=vault).stdout


def test_status_shows_what_is_ignored_and_remarked(make_vault: MakeVault) -> None:
    root = make_vault(NOTES + ODD)
    run("index", vault=root)
    result = run("status", vault=root)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert "notes: 5" in lines
    assert "branches: 3" in lines
    assert any(re.match(r"  dated note \d: a date \(\d\)", line) for line in lines), lines
    assert "remarks: 1" in lines
    assert "  cust/lock/2026-06-09-old.md:3 not UTF-8; read as Windows-1252" in lines
    assert any(re.match(r"  private/?: ignored", line) for line in lines)
    assert any("conflicted copy 2026-06-12).md: conflict copy" in line for line in lines)
    assert "secret" not in result.stdout.casefold()


def test_status_says_that_an_index_is_current(vault: Path) -> None:
    run("index", vault=vault)
    lines = run("status", vault=vault).stdout.splitlines()
    assert "state: index current" in lines
    assert any(line.startswith("watcher: ") for line in lines)


@pytest.mark.parametrize("change", ["edited", "added", "removed"])
def test_status_does_not_call_an_index_current_that_is_behind(vault: Path, change: str) -> None:
    run("index", vault=vault)
    note = vault / "log/2026-06-01.md"
    if change == "edited":
        note.write_text("# Monday\n\nThe heron left.\n", encoding="utf-8")
    elif change == "added":
        (vault / "log/2026-06-02.md").write_text("# Tuesday\n", encoding="utf-8")
    else:
        note.unlink()
    assert "state: index current" not in run("status", vault=vault).stdout.splitlines()


def test_status_of_a_vault_that_was_never_indexed_calls_nothing_current(vault: Path) -> None:
    result = run("status", vault=vault)
    assert result.exit_code == 0
    assert "current" not in result.stdout
    assert "vault: vault" in result.stdout


def test_status_says_which_order_the_dates_of_a_vault_suggest(make_vault: MakeVault) -> None:
    root = make_vault(
        "=== log/a.md\n## STATUS 25/05/2026\n\nA.\n=== log/b.md\n## STATUS 13/04/2026\n\nB.\n"
        "=== log/c.md\n## STATUS 05/06/2026\n\nC.\n"
    )
    run("index", vault=root)
    assert "dmy" in run("status", vault=root).stdout


# -- brief -----------------------------------------------------------------------------------------


def test_the_warnings_of_a_brief_go_to_stderr(make_vault: MakeVault) -> None:
    root = make_vault(f"{NOTES}{ODD}=== cust/lock/override.md\n{'w' * 9_001}")
    for options in ([], ["--json"]):
        result = run("brief", "lock", *options, vault=root)
        lines = result.stderr.splitlines()
        assert result.exit_code == 0
        assert len(lines) >= 3
        assert all(line.startswith("warning: ") for line in lines)
        assert "cust/lock/override.md is left out: 9,001 bytes" in lines[0]
        assert "warning: " not in result.stdout


def test_a_brief_is_printed_without_the_header(vault: Path, open_vault: OpenVault) -> None:
    answer = open_vault(vault).brief("lock")
    assert run("brief", "lock", vault=vault).stdout == answer.body
    assert run("brief", "lock", vault=vault).stdout.startswith("---\nvault: vault\n")


def test_all_briefs_come_one_after_another(vault: Path) -> None:
    text = run("brief", "--all", vault=vault).stdout
    assert re.findall(r"^branch: (.*)$", text, re.MULTILINE) == ["cust/lock", "cust/weir", "log"]


def test_the_overview_names_every_branch(vault: Path) -> None:
    text = run("brief", vault=vault).stdout
    assert [name for name in ("cust/lock", "cust/weir", "log") if f"**{name}**" not in text] == []


@pytest.mark.parametrize("most", [1_000, 1_500, 4_000, 9_500])
def test_a_brief_is_never_over_the_bytes_it_was_given(make_vault: MakeVault, most: int) -> None:
    items = "".join(f"- [ ] Äste schneiden am Ufer, Stück {n} »links«\n" for n in range(300))
    root = make_vault(f"{NOTES}=== cust/lock/2026-06-13.md\n# Ufer\n\n{items}")
    result = run("brief", "lock", "--max-bytes", str(most), vault=root)
    assert result.exit_code == 0
    assert len(result.stdout_bytes) <= most
    assert "\nbranch: cust/lock\n" in result.stdout


def test_a_smaller_budget_gives_a_smaller_brief(make_vault: MakeVault) -> None:
    items = "".join(f"- [ ] Cut tree {n} on the left bank\n" for n in range(30))
    root = make_vault(f"{NOTES}=== cust/lock/2026-06-13.md\n# Bank\n\n{items}")
    sizes = [
        len(run("brief", "lock", "--budget", budget, vault=root).stdout)
        for budget in ("400", "800", "8000")
    ]
    assert sizes == sorted(set(sizes))


def test_written_briefs_are_named_and_only_those_that_changed(vault: Path) -> None:
    first = run("brief", "--all", "--write", vault=vault)
    assert first.stdout.splitlines() == [
        "cust/lock/brief.md", "cust/weir/brief.md", "log/brief.md",
    ]  # fmt: skip
    stamp = (vault / "log/brief.md").stat().st_mtime_ns
    assert run("brief", "--all", "--write", vault=vault).stdout == "nothing changed\n"
    assert (vault / "log/brief.md").stat().st_mtime_ns == stamp
    write_vault(vault, "=== cust/weir/2026-03-05.md\n# Weir\n\nDry.\n")
    assert run("brief", "--all", "--write", vault=vault).stdout == "cust/weir/brief.md\n"
    written = (vault / "cust/weir/brief.md").read_text(encoding="utf-8")
    assert unsigned(written) == run("brief", "weir", vault=vault).stdout


def test_a_brief_goes_to_the_file_it_was_given(vault: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.md"
    assert run("brief", "lock", "--out", file, vault=vault).stdout == "out.md\n"
    assert file.read_text(encoding="utf-8") == run("brief", "lock", vault=vault).stdout
    assert not (vault / LOCK / "brief.md").exists()


def test_all_briefs_are_not_written_over_one_another(vault: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.md"
    result = run("brief", "--all", "--out", file, vault=vault)
    if result.exit_code == 0:
        text = file.read_text(encoding="utf-8")
        assert [n for n in (LOCK, "cust/weir", "log") if f"\nbranch: {n}\n" not in text] == []
    else:
        assert result.exit_code == 2
        assert not file.exists()


@pytest.mark.parametrize(
    "options",
    [("lock", "--all", "--write"), ("lock", "--write", "--out", "x.md"), ("--out", "x.md")],
)
def test_contradictory_options_are_a_usage_error(vault: Path, options: Sequence[str]) -> None:
    result = run("brief", *options, vault=vault)
    assert (result.exit_code, result.stdout) == (2, "")


# -- search, open, full, items ---------------------------------------------------------------------

WEIRS = """\
=== cust/lock/2026-06-01.md
# Lock

The weir of the lock, the old weir, is dry.
=== cust/weir/2026-06-01.md
# Weirs

Beside the mill there is a weir, long and low, with two gates, and nobody opens them in summer.
"""


def passages_of(root: Path, *options: str) -> list[str]:
    text = run("search", "weir dry", *options, vault=root).stdout
    return re.findall(r"^### ([^:]+):", text, re.MULTILINE)


def test_a_boosted_branch_comes_first_only_where_it_is_near(make_vault: MakeVault) -> None:
    near = WEIRS.replace("with two gates", "with two gates, dry")
    assert passages_of(make_vault(near), "--boost", "lock")[0] == "cust/lock/2026-06-01.md"
    assert passages_of(make_vault(near), "--boost", "weir")[0] == "cust/weir/2026-06-01.md"


def test_top_keeps_only_the_best_sections(make_vault: MakeVault) -> None:
    root = make_vault(WEIRS)
    both = passages_of(root)
    assert len(both) == 2
    assert passages_of(root, "--top", "9") == both
    assert passages_of(root, "--top", "1") == both[:1]
    assert run("search", "weir", "--top", "0", vault=root).exit_code == 2


def test_an_unknown_boosted_branch_is_reported(vault: Path) -> None:
    result = run("search", "weir", "--boost", "lokc", vault=vault)
    assert (result.exit_code, result.stdout) == (1, "")


def test_status_shows_a_date_order_that_is_set_instead_of_a_suggestion(
    make_vault: MakeVault,
) -> None:
    root = make_vault('=== workingset.toml\ndate_order = "mdy"\n=== log/a.md\n# A\n')
    assert "date order: mdy (set)" in run("status", vault=root).stdout.splitlines()


SAME: Mapping[str, tuple[Sequence[str], Callable[[Workspace], str]]] = {
    "search": (["search", "diver"], lambda w: printed(w.search("diver"))),
    "search also": (
        ["search", "frogman", "--also", "diver", "--also", "seal"],
        lambda w: printed(w.search("frogman", also=("diver", "seal"))),
    ),
    "search branch": (
        ["search", "weir", "--branch", "weir", "--budget", "300"],
        lambda w: printed(w.search("weir", branch="weir", budget=300)),
    ),
    "search days": (
        ["search", "gate", "--since", "10 June 2026", "--until", "2026-06"],
        lambda w: printed(w.search("gate", since="2026-06-10", until="2026-06")),
    ),
    "open": (["open", "log/2026-06-01.md"], lambda w: printed(w.open("log/2026-06-01.md"))),
    "open lines": (
        ["open", "cust/lock/index.md", "--lines", "3-5"],
        lambda w: printed(w.open("cust/lock/index.md", lines="3-5")),
    ),
    "open lines behind": (
        ["open", "cust/lock/index.md:3-5"],
        lambda w: printed(w.open("cust/lock/index.md:3-5")),
    ),
    "open heading": (
        ["open", "cust/lock/index.md", "--heading", "STATUS (2026-05-02)", "--budget", "400"],
        lambda w: printed(w.open("cust/lock/index.md", heading="STATUS (2026-05-02)", budget=400)),
    ),
    "full": (["full", "lock"], lambda w: printed(w.full("lock"))),
    "full query": (["full", "--query", "diver"], lambda w: printed(w.full(query="diver"))),
    "full days": (
        ["full", "lock", "--since", "2026-06-10", "--until", "2026-06-11"],
        lambda w: printed(w.full("lock", since="2026-06-10", until="2026-06-11")),
    ),
    "full undated": (["full", "--since", "undated"], lambda w: printed(w.full(since="undated"))),
    "full as of": (
        ["full", "lock", "--as-of", "2026-05-10"],
        lambda w: printed(w.full("lock", as_of="2026-05-10")),
    ),
    "items": (["items"], lambda w: printed(w.items())),
    "items done": (["items", "--kind", "done"], lambda w: printed(w.items("done"))),
    "items decision": (["items", "--kind", "decision"], lambda w: printed(w.items("decision"))),
    "items owner": (
        ["items", "--owner", "Odo", "--branch", "lock"],
        lambda w: printed(w.items(owner="Odo", branch="lock")),
    ),
    "items due": (
        ["items", "--due-before", "2026-07-01", "--text", "diver"],
        lambda w: printed(w.items(due_before="2026-07-01", text="diver")),
    ),
    "items grouped": (
        ["items", "--group-by", "branch", "--since", "2026-01", "--budget", "400"],
        lambda w: printed(w.items(group_by="branch", since="2026-01", budget=400)),
    ),
}


@pytest.mark.parametrize(("line", "asked"), SAME.values(), ids=SAME)
def test_people_read_what_agents_read(
    vault: Path, open_vault: OpenVault, line: Sequence[str], asked: Callable[[Workspace], str]
) -> None:
    expected = asked(open_vault(vault))
    result = run(*line, vault=vault)
    assert result.stdout.rstrip("\n") == expected.rstrip("\n")
    assert result.stderr == ""
    assert expected.startswith("[workingset] ")


def test_options_narrow_what_items_counts(vault: Path) -> None:
    def counted(*options: str) -> str:
        return run("items", *options, vault=vault).stdout.split(" · ")[1]

    assert counted() == "open: 3 in 2 branches"
    assert counted("--branch", "lock") == "open: 2 in cust/lock"
    assert counted("--owner", "Odo").startswith("open: 1 in 1 branch")
    assert counted("--due-before", "2026-07-01").startswith("open: 1 in 1 branch")
    assert counted("--since", "2026-06").startswith("open: 2 in 1 branch")
    assert counted("--kind", "done") == "done: 1 in 1 branch"


def test_full_follows_its_cursor_to_the_end(make_vault: MakeVault) -> None:
    lines = "".join(f"Stone {number} of the wall.\n" for number in range(200))
    root = make_vault(f"=== log/2026-06-01.md\n{lines}")
    text, pages = "", 0
    cursor: list[str] = []
    while True:
        page = run("full", "log", "--budget", "600", *cursor, vault=root).stdout
        text += page
        pages += 1
        following = re.match(r'.*\nnext: .*cursor="([^"]+)"', page)
        if not following:
            break
        cursor = ["--cursor", following[1]]
    assert pages > 2
    assert re.findall(r"^Stone (\d+) ", text, re.MULTILINE) == [str(n) for n in range(200)]


def test_open_needs_no_index(vault: Path) -> None:
    assert "The heron is back." in run("open", "log/2026-06-01.md", vault=vault).stdout
    assert "notes: 0" in run("status", vault=vault).stdout


# -- measure ---------------------------------------------------------------------------------------


def test_measure_counts_the_branches_asked_for(vault: Path) -> None:
    data = envelope(run("measure", "--include", "cust/*", "--json", vault=vault))["data"]
    assert LOCK in json.dumps(data)
    assert "cust/weir" in json.dumps(data)
    assert '"log"' not in json.dumps(data)
    table = run("measure", "lock", vault=vault).stdout
    assert LOCK in table
    assert "cust/weir" not in table


def test_measure_writes_one_page_that_loads_nothing(vault: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("measure", "--html", page, vault=vault).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert LOCK in text
    assert "<svg" in text
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//|@import|url\(http", text)


# -- which vault -----------------------------------------------------------------------------------


def test_the_vault_is_the_option_else_the_variable_else_the_settings_above_else_the_folder(
    make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    option, variable, above = (
        make_vault(f"=== {name}/2026-06-01.md\n# {name}\n") for name in ("option", "var", "above")
    )
    (above / "workingset.toml").touch()
    monkeypatch.chdir(above / "above")
    assert "**above**" in run("brief").stdout
    (above / "workingset.toml").unlink()
    assert "**.**" in run("brief").stdout
    monkeypatch.setenv("WORKINGSET_VAULT", str(variable))
    assert "**var**" in run("brief").stdout
    assert "**option**" in run("brief", "--vault", option).stdout


def test_serve_without_a_vault_refuses_a_whole_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    link = tmp_path / "link"
    link.symlink_to(home, target_is_directory=True)
    monkeypatch.setenv("USERPROFILE", str(home))
    for home_path, folder in ((home, home), (link, home), (home, link), (home, "/")):
        monkeypatch.setenv("HOME", str(home_path))
        monkeypatch.chdir(folder)
        result = run("serve")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "--vault PATH" in result.stderr


# -- as a process ----------------------------------------------------------------------------------


def command(*arguments: str | Path, vault: Path) -> list[str]:
    own = [sys.executable, "-m", "workingset_mcp", *map(str, arguments)]
    return [*own, "--vault", str(vault), "--index-dir", str(vault.parent / "index")]


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "code"),
    [(["brief", "lock"], 0), (["search", "zebra"], 1), (["open", "../x"], 2), (["brief", "no"], 1)],
)
def test_a_process_ends_with_the_same_codes(vault: Path, line: Sequence[str], code: int) -> None:
    done = subprocess.run(
        command(*line, vault=vault), capture_output=True, text=True, timeout=50, check=False,
        encoding="utf-8", stdin=subprocess.DEVNULL,
    )  # fmt: skip
    here = run(*line, vault=vault)
    assert (done.returncode, done.stdout, done.stderr) == (code, here.stdout, here.stderr)


@pytest.mark.process
def test_only_serve_and_demo_import_mcp(vault: Path) -> None:
    """One process runs all other commands in turn, in 2 s, and names the first that imports `mcp`."""
    lines = [
        *ANSWERED.values(), ["brief", "--all", "--write"], ["hook", "session-start"],
        ["hook", "pre-compact"], ["install", "codex", "--hooks"],
    ]  # fmt: skip
    full = [[*line, *command(vault=vault)[3:]] for line in lines]
    full += [["compact", str(vault / LOCK / "index.md")], ["--help"], ["--version"]]
    code = (
        "import contextlib, io, json, sys\n"
        "from workingset_mcp.cli.main import main\n"
        "found = {}\n"
        "for line in json.loads(sys.argv[1]):\n"
        "    with contextlib.redirect_stdout(io.StringIO()):\n"
        "        main(line, standalone_mode=False)\n"
        "    name = ' '.join(line[:2])\n"
        "    found[name] = sorted({'mcp', 'mcp_types'} & set(sys.modules))\n"
        "print(json.dumps(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(full)], capture_output=True, timeout=50, check=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) > 12
    assert {name: modules for name, modules in found.items() if modules} == {}


@pytest.mark.process
@pytest.mark.parametrize("line", [["brief", "lock"], ["search", "Käse"], ["items"]])
def test_output_is_utf_8_whatever_the_console_encoding(
    make_vault: MakeVault, line: Sequence[str]
) -> None:
    root = make_vault(
        f"{NOTES}=== cust/lock/2026-06-13.md\n# 水門\n\n- [ ] Käse für 水門 ⚓ „oben“\n"
    )
    variables = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = subprocess.run(
        command(*line, vault=root), capture_output=True, timeout=50, check=True, env=variables
    )
    assert "Käse für 水門 ⚓ „oben“" in done.stdout.decode("utf-8")


@pytest.mark.process
def test_a_reader_that_leaves_early_sees_no_traceback(make_vault: MakeVault) -> None:
    lines = "".join(
        f"Stone {number} of the wall, and what lies below it.\n" for number in range(9_000)
    )
    root = make_vault(f"=== log/2026-06-01.md\n{lines}")
    with subprocess.Popen(
        command("full", "log", "--budget", "24000", vault=root),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(12) == b"[workingset]"
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


LONG_WORK: Mapping[str, tuple[Sequence[str], str]] = {
    "index": (["index"], "indexing notes"),
    "index full": (["index", "--full"], "indexing notes"),
    "briefs": (["brief", "--all", "--write"], "writing briefs"),
    "measure": (["measure"], "making briefs"),
    "check": (["check"], "checking"),
}


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made with pty")
@pytest.mark.parametrize(("line", "title"), LONG_WORK.values(), ids=LONG_WORK)
def test_a_terminal_shows_progress_and_a_pipe_does_not(
    vault: Path, line: Sequence[str], title: str
) -> None:
    import pty  # not on Windows

    terminal, end = pty.openpty()
    variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen(
        command(*line, vault=vault), stdout=subprocess.PIPE, stderr=end,
        stdin=subprocess.DEVNULL, env=variables,
    ) as process:  # fmt: skip
        os.close(end)
        shown = b""
        while True:
            try:
                more = os.read(terminal, 65_536)
            except OSError:  # Linux: the other end is closed
                break
            if not more:
                break
            shown += more
        os.close(terminal)
        assert process.stdout is not None
        output = process.stdout.read().decode("utf-8")
    assert process.returncode == 0
    assert title in shown.decode("utf-8")
    assert title not in output
    assert "\x1b" not in output

    result = run(*line, vault=vault)
    assert title not in result.stderr
    assert "\x1b" not in result.output


@pytest.mark.process
def test_the_demo_shows_every_kind_of_answer_from_a_real_client() -> None:
    """Takes 2 s: a client and a server start, and the example vault is indexed."""
    done = subprocess.run(
        [sys.executable, "-m", "workingset_mcp", "demo"],
        capture_output=True, timeout=50, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    text = done.stdout.decode("utf-8")
    assert re.findall(r"^(?:\x1b\[1m)?>>> (\w+)", text, re.MULTILINE) == [
        "get_brief", "get_brief", "search_notes", "open_source_file", "query_full_context",
    ]  # fmt: skip
    assert "AC-4471-0932" in text
    assert len(re.findall(r"^--- [\d,]+ tokens$", text, re.MULTILINE)) == 5
