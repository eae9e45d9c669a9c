"""The context that a client's session gets, tested through the command that its hooks run.

Payloads have the fields that the clients send, with invented values. Every output is parsed as the client
parses it: one complete JSON object in its format, under its cap.
"""

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import MakeVault, OpenVault, write_vault
from hypothesis import given, settings
from hypothesis import strategies as st

from workingset_mcp.cli.main import main

CAP_BYTES = 9_500
OVERRIDE_CAP_BYTES = 9_000
PREVIEW_CHARACTERS = 2_000
TIMES_ALLOWED = 13  # 0.3 s where `import sqlite3, json` takes 0.023 s
CLIENTS = ("claude", "codex", "gemini", "vscode", "copilot", "cursor")
TERN = "cust/tern"
RULE = "Never promise a sailing before the harbour office has spoken."
HOUSE_RULE = "Names of crew stay out of every answer."

NOTES = """\
=== cust/tern/index.md
# Tern Ferries

## STATUS (2026-06-12)

The second pier is open; the tide table is wrong by one hour.

- Three crews are trained.

## STATUS (2026-05-02)

The old pier is closed.
=== cust/tern/items.md
---
date: 2026-06-11
---
# Items

- [ ] Paint the second pier
- [ ] **[Tern, URGENT]** Correct the tide table, Owner: Ebba Lind, Due: 2026-06-18
- [ ] **[Us]** Blocker: the crane permit is missing, Owner: Odo Marsh
- [ ] Critical: the fog horn is silent at night
- [x] Open the second pier
=== cust/tern/2026-06-10-harbour-call.md
# Harbour call

Decision: the fog horn stays where it is.
Fact: 14 ferries in all, two of them on loan.
=== cust/skua/2026-06-01.md
# Skua

- [ ] Urgent: a thing of Skua alone
=== cust/empty/
=== README.md
# House
"""
OVERRIDE = f"=== cust/tern/override.md\n{RULE}\n"
ROOT_OVERRIDE = f"=== override.md\n{HOUSE_RULE}\n"
DECISIVE = (
    TERN,
    "2026-06-12",
    "STATUS (2026-06-12)",
    "Correct the tide table",
    "the crane permit is missing",
    "the fog horn is silent at night",
)

# The payload of each client when a session starts; `payload` fills in `cwd`.
PAYLOADS: Mapping[str, Mapping[str, object]] = {
    "claude": {
        "session_id": "5f0c1b52",
        "transcript_path": "/home/ebba/.claude/projects/tern/5f0c1b52.jsonl",
        "hook_event_name": "SessionStart",
        "model": "some-model",
    },
    "codex": {
        "session_id": "0199-77",
        "transcript_path": None,
        "hook_event_name": "SessionStart",
        "model": "some-model",
        "permission_mode": "default",
    },
    "gemini": {
        "session_id": "a-1",
        "transcript_path": "/home/ebba/.gemini/tmp/chats/a-1.json",
        "hook_event_name": "SessionStart",
        "timestamp": "2026-06-16T08:00:00.000Z",
    },
    "vscode": {
        "sessionId": "b-2",
        "timestamp": "2026-06-16T08:00:00.000Z",
        "hookEventName": "SessionStart",
    },
    "copilot": {
        "sessionId": "c-3",
        "timestamp": 1_781_596_800_000,
        "initialPrompt": "What is open at Tern?",
    },
    "cursor": {
        "conversation_id": "d-4",
        "generation_id": "d-5",
        "hook_event_name": "sessionStart",
        "cursor_version": "2.4.0",
        "user_email": None,
        "is_background_agent": False,
    },
}
SOURCES: Mapping[str, Sequence[str]] = {
    "claude": ("startup", "resume", "clear", "compact", "fork"),
    "codex": ("startup", "resume", "clear", "compact", "fork"),
    "gemini": ("startup", "resume", "clear"),
    "vscode": ("new",),
    "copilot": ("startup", "resume", "new"),
    "cursor": ("",),
}
STARTS = [(client, source) for client in CLIENTS for source in SOURCES[client]]

GARBAGE: Mapping[str, bytes] = {
    "empty": b"",
    "blank": b" \n\t\n",
    "no text": b"\xff\xfe\x00\x9f\x92\x96\x80",
    "zeros": b"\0" * 4_096,
    "half an object": b'{"cwd": "/home/ebba',
    "a list": b'["cwd", "/home/ebba"]',
    "a number": b"17",
    "null": b"null",
    "a word": b"startup",
    "two objects": b'{"cwd": "/a"}{"cwd": "/b"}',
    "wrong kinds": b'{"cwd": 4, "source": [], "workspace_roots": {"a": 1}}',
    "roots of wrong kinds": b'{"workspace_roots": [null, 3]}',
    "no roots": b'{"workspace_roots": []}',
    "a NUL in the folder": b'{"cwd": "/home/\\u0000/ebba"}',
    "half a surrogate pair": b'{"cwd": "/home/\\ud800"}',
    "a folder name too long": b'{"cwd": "/' + b"x" * 5_000 + b'"}',
    "deep nesting": b"[" * 100_000,
    "not a number": b'{"cwd": NaN}',
}


def payload(client: str, folder: Path | str, source: str = "startup") -> bytes:
    """Return what a client sends for a session in a folder."""
    sent: dict[str, object] = dict(PAYLOADS[client])
    if client == "cursor":
        sent["workspace_roots"] = [str(folder)]
    else:
        sent["cwd"] = str(folder)
    if source:
        sent["source"] = source
    return json.dumps(sent).encode()


def hook(
    root: Path, stdin: bytes = b"", *options: str, client: str = "claude", event: str = ""
) -> Result:
    """Run the hook of a client; the index is beside the vault, where `open_vault` puts it."""
    arguments = ["hook", event or "session-start", "--client", client, "--vault", str(root)]
    arguments += ["--index-dir", str(root.parent / "index"), *options]
    return CliRunner().invoke(main, arguments, input=stdin)


def read_context(client: str, stdout: bytes) -> str:
    """Return the injected text; fail unless the output is one object in the client's format."""
    found = json.loads(stdout.decode("utf-8"))
    if client == "cursor":
        text = found["additional_context"]
        expected: dict[str, Any] = {"additional_context": text, "continue": True}
    elif client == "copilot":
        text = found["additionalContext"]
        expected = {"additionalContext": text}
    else:
        text = found["hookSpecificOutput"]["additionalContext"]
        event = {"hookEventName": "SessionStart", "additionalContext": text}
        expected = {"hookSpecificOutput": event}
    assert found == expected
    assert isinstance(text, str)
    assert text.strip()
    return text


def context(client: str, result: Result) -> str:
    """Return the injected text of a hook that succeeded with an empty stderr."""
    assert (result.exit_code, result.stderr) == (0, "")
    return read_context(client, result.stdout_bytes)


def assert_failed_quietly(result: Result) -> None:
    """Check exit code 0, an empty stdout, and one line on stderr."""
    assert (result.exit_code, result.stdout) == (0, "")
    assert_one_line(result.stderr)


def assert_one_line(text: str) -> None:
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    assert "Traceback" not in text


def indexed(root: Path, open_vault: OpenVault, *, there: bool) -> Path:
    """Return a vault, with or without an index beside it."""
    if there:
        open_vault(root).close()
    return root


# -- one object of the client's shape --------------------------------------------------------------


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize(("client", "source"), STARTS)
def test_a_session_in_a_branch_gets_its_context_in_the_clients_shape(
    make_vault: MakeVault, open_vault: OpenVault, client: str, source: str, with_index: bool
) -> None:
    root = indexed(make_vault(NOTES + OVERRIDE), open_vault, there=with_index)
    result = hook(root, payload(client, root / TERN, source), client=client)
    text = context(client, result)
    assert len(result.stdout_bytes) <= CAP_BYTES
    assert all(word in text[:PREVIEW_CHARACTERS] for word in DECISIVE)
    assert text.index("the fog horn is silent") < text.index(RULE) < text.index("Three crews")
    assert "Skua" not in text
    assert HOUSE_RULE not in text


def test_output_for_codex_holds_no_key_beyond_its_closed_schema(make_vault: MakeVault) -> None:
    root = make_vault(NOTES)
    found = json.loads(hook(root, payload("codex", root / TERN), client="codex").stdout)
    assert list(found) == ["hookSpecificOutput"]
    assert sorted(found["hookSpecificOutput"]) == ["additionalContext", "hookEventName"]
    assert found["hookSpecificOutput"]["hookEventName"] == "SessionStart"


def test_all_sources_get_the_same_text(make_vault: MakeVault) -> None:
    root = make_vault(NOTES + OVERRIDE)
    texts = {
        context("claude", hook(root, payload("claude", root / TERN, source)))
        for source in SOURCES["claude"]
    }
    assert len(texts) == 1


def test_the_index_makes_no_difference_to_a_small_branch(
    make_vault: MakeVault, open_vault: OpenVault
) -> None:
    root = make_vault(NOTES + OVERRIDE)
    before = context("claude", hook(root, payload("claude", root / TERN)))
    open_vault(root).close()
    assert context("claude", hook(root, payload("claude", root / TERN))) == before


def test_an_unknown_client_is_a_usage_error(make_vault: MakeVault) -> None:
    result = hook(make_vault(NOTES), client="emacs")
    assert (result.exit_code, result.stdout) == (1, "")
    assert all(client in result.stderr for client in CLIENTS)


@pytest.mark.parametrize(
    "typed",
    [
        (),
        ("--fast",),
        ("session-stop",),
        ("session-start", "--fast"),
        ("session-start", "--max-bytes", "many"),
        ("session-start", "--client"),
        ("session-start", "now"),
        ("pre-compact", "--full"),
    ],
    ids=" ".join,
)
def test_a_usage_error_is_exit_1_and_one_line_because_2_would_block(typed: Sequence[str]) -> None:
    result = CliRunner().invoke(main, ["hook", *typed])
    assert (result.exit_code, result.stdout) == (1, "")
    assert_one_line(result.stderr)


@pytest.mark.parametrize("typed", [("--help",), ("session-start", "--help")], ids=" ".join)
def test_help_is_not_a_usage_error(typed: Sequence[str]) -> None:
    result = CliRunner().invoke(main, ["hook", *typed])
    assert (result.exit_code, result.stderr) == (0, "")
    assert "--help" in result.stdout


# -- the first two thousand characters -------------------------------------------------------------

LONG = {
    "long lines": "the gate of the lock at the upper end does not close, " * 12,
    "long words": "lock" * 200,
    "quotes and backslashes": 'the "upper" gate\\lock ' * 30,
    "Japanese": "上流側の水門が閉まらないので、" * 6,
    "German": "das Schleusentor schließt oben nicht mehr über Nacht, " * 12,
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("words", LONG.values(), ids=LONG)
def test_long_lines_push_no_decisive_line_out_of_the_preview(
    make_vault: MakeVault, client: str, words: str
) -> None:
    items = "".join(f"- [ ] Urgent {number}: {words}\n" for number in ("one", "two", "three"))
    root = make_vault(
        f"=== cust/tern/index.md\n# Tern\n\n## STATUS (2026-06-12)\n\n{words}\n\n{items}"
        f"=== cust/tern/override.md\n{RULE}\n{words}\n"
    )
    text = context(client, hook(root, payload(client, root / TERN), client=client))
    head = text[:PREVIEW_CHARACTERS]
    wanted = (TERN, "2026-06-12", "STATUS (2026-06-12)", "Urgent one", "Urgent two", "Urgent three")
    assert [word for word in wanted if word not in head] == []


def test_a_status_heading_of_any_length_pushes_no_urgent_item_out_of_the_preview(
    make_vault: MakeVault,
) -> None:
    root = make_vault(
        f"=== cust/tern/index.md\n## STATUS (2026-06-12): {'all of it at length ' * 150}\n\nx\n\n"
        "- [ ] Urgent: the lock is stuck\n"
    )
    head = context("claude", hook(root, payload("claude", root / TERN)))[:PREVIEW_CHARACTERS]
    assert "STATUS (2026-06-12)" in head
    assert "the lock is stuck" in head


def test_urgent_items_come_before_others_that_are_due_sooner(make_vault: MakeVault) -> None:
    soon = "".join(f"- [ ] Grease hinge {n}, Due: 2026-06-17\n" for n in range(9))
    root = make_vault(
        f"=== cust/tern/2026-06-10.md\n# T\n\n{soon}- [ ] Blocked: no crane\n- [ ] ASAP: ring Odo\n"
    )
    head = context("claude", hook(root, payload("claude", root / TERN)))[:PREVIEW_CHARACTERS]
    assert 0 < head.index("Blocked: no crane") < head.index("Grease hinge")
    assert 0 < head.index("ASAP: ring Odo") < head.index("Grease hinge")


def test_a_branch_without_dates_or_statuses_still_gets_its_context(make_vault: MakeVault) -> None:
    root = make_vault("=== cust/tern/readme.md\n# Tern\n\nA ferry line.\n" + OVERRIDE)
    text = context("claude", hook(root, payload("claude", root / TERN)))
    assert TERN in text[:PREVIEW_CHARACTERS]
    assert RULE in text


# -- under the cap ---------------------------------------------------------------------------------

FULL_BRANCH = (
    "=== cust/tern/index.md\n# Tern\n\n## STATUS (2026-06-12)\n\n"
    + "".join(f'- Berth {n} is »clear« — 岸壁 {n}, \\"quoted\\" and so on\n' for n in range(150))
    + "=== cust/tern/items.md\n"
    + "".join(f'- [ ] Urgent {n}: move "mooring" {n} to the näher pier\n' for n in range(120))
    + "=== cust/tern/override.md\n"
    + "".join(f'{n}. Say "pier", never „Kai“ ({"x" * 40})\n' for n in range(100))
)


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_full_branch_stays_under_the_cap_and_says_that_it_was_cut(
    make_vault: MakeVault, open_vault: OpenVault, client: str, with_index: bool
) -> None:
    root = indexed(make_vault(FULL_BRANCH), open_vault, there=with_index)
    result = hook(root, payload(client, root / TERN), client=client)
    text = context(client, result)
    assert CAP_BYTES * 0.9 < len(result.stdout_bytes) <= CAP_BYTES
    assert text.endswith("(cut here: get_brief has the rest)\n")
    assert text.count("(cut here") == 1
    assert_quotes_closed(text)


def assert_quotes_closed(text: str) -> None:
    """Check that every quote block that the hook opens is closed with its own number."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        opened = re.fullmatch(r"<!-- quote (\d+) \S.* -->", lines[at])
        if opened:
            closing = f"<!-- /quote {opened[1]} -->"
            assert closing in lines[at:], f"{lines[at]} is never closed"
            at = lines.index(closing, at)
        at += 1


@pytest.mark.parametrize("client", CLIENTS)
def test_no_cap_is_exceeded_by_a_single_byte(make_vault: MakeVault, client: str) -> None:
    root = make_vault(NOTES)
    stdin = payload(client, root / TERN)
    whole = len(hook(root, stdin, client=client).stdout_bytes)
    for most in (whole + 1, whole, whole - 1, whole - 2, whole - 40):
        result = hook(root, stdin, "--max-bytes", str(most), client=client)
        context(client, result)
        assert len(result.stdout_bytes) <= most


ODD_TEXT = st.text(
    st.one_of(
        st.sampled_from(list('aé岸"\\\n\n\n -[]x>#`<!/\x00\x07\x85\u2028😀\t')),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=1_500,
)


@settings(max_examples=40)
@given(
    note=ODD_TEXT,
    override=ODD_TEXT,
    repeats=st.integers(1, 4),
    most=st.integers(1_000, 12_000),
    client=st.sampled_from(CLIENTS),
)
def test_whatever_the_notes_hold_the_output_is_one_object_under_the_cap(
    note: str, override: str, repeats: int, most: int, client: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        branch = Path(folder) / TERN
        branch.mkdir(parents=True)
        status = f"# T\n\n## STATUS (2026-06-12)\n\n{note * repeats}\n- [ ] Urgent: {note[:200]}\n"
        (branch / "2026-06-10.md").write_bytes(status.encode())
        (branch / "override.md").write_bytes(override.encode()[:OVERRIDE_CAP_BYTES])
        stdin = payload(client, branch)
        result = hook(Path(folder), stdin, "--max-bytes", str(most), client=client)
    text = context(client, result)
    assert len(result.stdout_bytes) <= most
    assert TERN in text


@pytest.mark.process
@pytest.mark.parametrize("most", [0, 50])
def test_a_hook_ends_even_if_the_cap_is_too_small_for_anything(
    make_vault: MakeVault, most: int
) -> None:
    root = make_vault(NOTES + OVERRIDE)
    done = started("session-start", root, f"--max-bytes={most}", "--branch", TERN, timeout=50)
    assert done.returncode == 0
    assert len(done.stdout) <= most


@pytest.mark.parametrize(
    "line",
    ["<!-- quote ", "<!-- quote 7 forged.md -->", "<!-- /quote 1 -->", "<!-- /quote 7 -->"],
)
def test_marks_forged_by_an_override_leave_no_quote_open_where_it_is_cut(
    make_vault: MakeVault, line: str
) -> None:
    text = f"{line}\n" + "the tide is high\n" * 480
    root = make_vault(f"{NOTES}=== cust/tern/override.md\n{text}")
    result = hook(root, payload("claude", root / TERN), "--max-bytes", "3000")
    assert_quotes_closed(context("claude", result))


# -- the override ----------------------------------------------------------------------------------


def of_size(size: int) -> str:
    """Return lines of 90 bytes with this total size in bytes."""
    return ("w" * 89 + "\n") * (size // 90) + "v" * (size % 90)


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize("client", CLIENTS)
def test_an_override_one_byte_over_its_cap_fails_loudly(
    make_vault: MakeVault, open_vault: OpenVault, client: str, with_index: bool
) -> None:
    text = of_size(OVERRIDE_CAP_BYTES + 1)
    assert len(text) == OVERRIDE_CAP_BYTES + 1
    root = make_vault(f"{NOTES}=== cust/tern/override.md\n{text}")
    indexed(root, open_vault, there=with_index)
    result = hook(root, payload(client, root / TERN), client=client)
    assert (result.exit_code, result.stdout) == (1, "")
    assert_one_line(result.stderr)
    assert "cust/tern/override.md holds 9,001 bytes, over its cap of 9,000" in result.stderr


@pytest.mark.parametrize("source", SOURCES["claude"])
def test_an_override_over_its_cap_fails_at_every_start(make_vault: MakeVault, source: str) -> None:
    root = make_vault(f"{NOTES}=== cust/tern/override.md\n{of_size(9_001)}")
    result = hook(root, payload("claude", root / TERN, source))
    assert (result.exit_code, result.stdout) == (1, "")


@pytest.mark.parametrize("client", CLIENTS)
def test_an_override_of_exactly_the_cap_is_injected_whole(
    make_vault: MakeVault, client: str
) -> None:
    text = of_size(OVERRIDE_CAP_BYTES)
    assert len(text) == OVERRIDE_CAP_BYTES
    root = make_vault(f"=== cust/tern/2026-06-10.md\n# T\n=== cust/tern/override.md\n{text}")
    result = hook(root, payload(client, root / TERN), client=client)
    assert text in context(client, result)
    assert len(result.stdout_bytes) <= CAP_BYTES


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("size", [OVERRIDE_CAP_BYTES, 8_400])
def test_an_override_within_its_cap_fits_with_a_status_and_urgent_items(
    make_vault: MakeVault, client: str, size: int
) -> None:
    text = of_size(size)
    root = make_vault(f"{NOTES}=== cust/tern/override.md\n{text}")
    result = hook(root, payload(client, root / TERN), client=client)
    injected = context(client, result)
    assert len(result.stdout_bytes) <= CAP_BYTES
    assert all(word in injected[:PREVIEW_CHARACTERS] for word in DECISIVE)
    if size < OVERRIDE_CAP_BYTES:
        assert text in injected
    else:  # override, envelope and decisive lines are more than the cap together
        assert text[:8_000] in injected
        assert "(cut here: get_brief has the rest)" in injected


def test_the_cap_counts_bytes_not_characters(make_vault: MakeVault) -> None:
    text = "é" * 4_500  # 9,000 bytes
    root = make_vault(f"{NOTES}=== cust/tern/override.md\n{text}")
    assert hook(root, payload("claude", root / TERN)).exit_code == 0
    (root / TERN / "override.md").write_text(f"{text}é", encoding="utf-8")
    result = hook(root, payload("claude", root / TERN))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "9,002 bytes" in result.stderr


def test_the_cap_of_the_settings_holds(make_vault: MakeVault) -> None:
    root = make_vault(
        f"{NOTES}=== workingset.toml\noverride_max_bytes = 600\n"
        f"=== cust/tern/override.md\n{of_size(601)}"
    )
    result = hook(root, payload("claude", root / TERN))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "over its cap of 600" in result.stderr


def test_an_override_over_its_cap_is_read_again_once_it_was_cut(
    make_vault: MakeVault, open_vault: OpenVault
) -> None:
    root = make_vault(f"{NOTES}=== cust/tern/override.md\n{of_size(9_001)}")
    open_vault(root).close()
    assert hook(root, payload("claude", root / TERN)).exit_code == 1
    (root / TERN / "override.md").write_text(f"{RULE}\n", encoding="utf-8")
    assert RULE in context("claude", hook(root, payload("claude", root / TERN)))


def test_the_override_of_another_branch_over_its_cap_does_not_matter(
    make_vault: MakeVault,
) -> None:
    root = make_vault(f"{NOTES}=== cust/skua/override.md\n{of_size(9_001)}")
    context("claude", hook(root, payload("claude", root / TERN)))


def test_the_override_of_the_root_holds_for_a_branch_without_one(make_vault: MakeVault) -> None:
    root = make_vault(NOTES + ROOT_OVERRIDE)
    text = context("claude", hook(root, payload("claude", root / TERN)))
    assert text.index("the fog horn is silent") < text.index(HOUSE_RULE) < text.index("Three crews")


# -- which branch ----------------------------------------------------------------------------------


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize("client", CLIENTS)
def test_outside_the_vault_the_root_override_is_the_only_context(
    make_vault: MakeVault, open_vault: OpenVault, tmp_path: Path, client: str, with_index: bool
) -> None:
    root = indexed(make_vault(NOTES + ROOT_OVERRIDE + OVERRIDE), open_vault, there=with_index)
    text = context(client, hook(root, payload(client, tmp_path), client=client))
    assert HOUSE_RULE in text
    assert RULE not in text
    assert "tide table" not in text


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize("client", CLIENTS)
def test_outside_the_vault_without_a_root_override_at_most_the_vault_is_named(
    make_vault: MakeVault, open_vault: OpenVault, tmp_path: Path, client: str, with_index: bool
) -> None:
    root = indexed(make_vault(NOTES + OVERRIDE), open_vault, there=with_index)
    result = hook(root, payload(client, tmp_path), client=client)
    assert (result.exit_code, result.stderr) == (0, "")
    if result.stdout:
        text = read_context(client, result.stdout_bytes)
        assert "get_brief" in text
        assert len(text.splitlines()) == 1
        assert [word for word in (RULE, "Tern", "tide table", "Skua") if word in text] == []


def test_outside_the_vault_a_root_override_over_its_cap_fails_loudly(
    make_vault: MakeVault, tmp_path: Path
) -> None:
    root = make_vault(f"{NOTES}=== override.md\n{of_size(9_001)}")
    result = hook(root, payload("claude", tmp_path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert_one_line(result.stderr)


@pytest.mark.parametrize("folder", ["cust/tern", "cust/tern/", "cust/tern/meetings/2026"])
def test_any_folder_of_a_branch_means_the_branch(make_vault: MakeVault, folder: str) -> None:
    root = make_vault(f"{NOTES}=== cust/tern/meetings/2026/\n")
    text = context("claude", hook(root, payload("claude", f"{root}/{folder}")))
    assert "tide table" in text


def test_a_folder_is_found_through_a_link_to_the_vault(
    make_vault: MakeVault, tmp_path: Path
) -> None:
    root = make_vault(NOTES)
    link = tmp_path / "link"
    link.symlink_to(root, target_is_directory=True)
    assert "tide table" in context("claude", hook(root, payload("claude", link / TERN)))
    assert "tide table" in context("claude", hook(link, payload("claude", root / TERN)))


@pytest.mark.parametrize("folder", ["cust", "cust/empty", "."])
def test_a_folder_of_the_vault_without_notes_of_its_own_gets_the_root_override(
    make_vault: MakeVault, folder: str
) -> None:
    root = make_vault(NOTES + ROOT_OVERRIDE)
    text = context("claude", hook(root, payload("claude", root / folder)))
    assert HOUSE_RULE in text
    assert "tide table" not in text


def test_a_named_branch_wins_over_the_folder(make_vault: MakeVault) -> None:
    root = make_vault(NOTES)
    text = context("claude", hook(root, payload("claude", root / "cust/skua"), "--branch", TERN))
    assert "tide table" in text
    assert "Skua" not in text


@pytest.mark.parametrize("name", ["tern", "Cust/TERN", "cust\\tern"])
def test_a_branch_is_named_as_in_a_tool(make_vault: MakeVault, name: str) -> None:
    assert "tide table" in context("claude", hook(make_vault(NOTES), b"", "--branch", name))


@pytest.mark.parametrize("name", ["cust/terns", "nowhere", "../tern"])
def test_an_unknown_named_branch_is_reported_on_stderr(make_vault: MakeVault, name: str) -> None:
    assert_failed_quietly(hook(make_vault(NOTES), b"", "--branch", name))


@pytest.mark.parametrize(
    "stdin",
    [
        {"workspace_roots": ["ROOT/cust/tern", "/elsewhere"]},
        {"workspace_roots": ["/elsewhere", "ROOT", "ROOT/cust/tern"]},
        {"cwd": "/elsewhere", "workspace_roots": [7, "ROOT/cust/tern/"]},
        {"cwd": "ROOT/cust/tern"},
    ],
)
def test_the_first_folder_of_cursor_that_is_a_branch_counts(
    make_vault: MakeVault, stdin: Mapping[str, object]
) -> None:
    root = make_vault(NOTES)
    raw = json.dumps(stdin).replace("ROOT", str(root)).encode()
    assert "tide table" in context("cursor", hook(root, raw, client="cursor"))


def test_without_a_vault_option_the_settings_file_above_the_session_says_where_it_is(
    make_vault: MakeVault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_vault(f"{NOTES}=== workingset.toml\n")
    monkeypatch.chdir(tmp_path)
    arguments = ["hook", "session-start", "--index-dir", str(tmp_path / "index")]
    result = CliRunner().invoke(main, arguments, input=payload("claude", root / TERN))
    assert "tide table" in context("claude", result)


# -- what comes in ---------------------------------------------------------------------------------


@pytest.mark.parametrize("stdin", GARBAGE.values(), ids=GARBAGE)
def test_garbage_from_a_client_reads_as_an_empty_payload(
    make_vault: MakeVault, stdin: bytes
) -> None:
    root = make_vault(NOTES + ROOT_OVERRIDE)
    assert "tide table" in context("claude", hook(root, stdin, "--branch", TERN))
    unnamed = context("claude", hook(root, stdin))
    assert HOUSE_RULE in unnamed
    assert "tide table" not in unnamed


@pytest.mark.parametrize("kind", ["empty", "no text", "half an object", "wrong kinds"])
@pytest.mark.parametrize("client", CLIENTS)
def test_garbage_does_not_change_the_format_of_any_client(
    make_vault: MakeVault, client: str, kind: str
) -> None:
    root = make_vault(NOTES)
    stdin = GARBAGE[kind]
    assert "tide table" in context(client, hook(root, stdin, "--branch", TERN, client=client))


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf%s", b"\n\n%s\n\n", b"%s"])
def test_a_byte_order_mark_or_blanks_around_the_object_change_nothing(
    make_vault: MakeVault, raw: bytes
) -> None:
    root = make_vault(NOTES)
    result = hook(root, raw.replace(b"%s", payload("claude", root / TERN)))
    assert "tide table" in context("claude", result)


def test_a_large_payload_is_read_whole(make_vault: MakeVault) -> None:
    root = make_vault(NOTES)
    stdin = {"initialPrompt": "ahoy " * 180_000, "cwd": str(root / TERN)}
    result = hook(root, json.dumps(stdin).encode(), client="copilot")
    assert "tide table" in context("copilot", result)


def test_a_payload_of_many_megabytes_does_no_harm(make_vault: MakeVault) -> None:
    root = make_vault(NOTES)
    stdin = json.dumps({"initialPrompt": "ahoy " * 1_200_000}).encode()
    assert "tide table" in context("claude", hook(root, stdin, "--branch", TERN))


@pytest.mark.process
def test_a_client_that_gives_no_standard_input_gets_its_context(make_vault: MakeVault) -> None:
    root = make_vault(NOTES)
    command = [sys.executable, "-m", "workingset_mcp", "hook", "session-start"]
    command += ["--vault", str(root), "--index-dir", str(root.parent / "index"), "--branch", TERN]
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    done = subprocess.run(closed, capture_output=True, timeout=50, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "tide table" in read_context("claude", done.stdout)


@pytest.mark.process
@pytest.mark.parametrize("sent", ["all", "half", "nothing"])
def test_a_client_that_never_closes_standard_input_is_not_waited_for(
    make_vault: MakeVault, sent: str
) -> None:
    root = make_vault(NOTES + ROOT_OVERRIDE)
    stdin = payload("claude", root / TERN)
    command = [sys.executable, "-m", "workingset_mcp", "hook", "session-start"]
    command += ["--vault", str(root), "--index-dir", str(root.parent / "index")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write({"all": stdin, "half": stdin[: len(stdin) // 2], "nothing": b""}[sent])
        process.stdin.flush()
        stopper = Timer(50, process.kill)
        stopper.start()
        stdout, stderr = process.stdout.read(), process.stderr.read()
        code = process.wait()
        stopper.cancel()
    assert (code, stderr) == (0, b"")
    assert ("tide table" if sent == "all" else HOUSE_RULE) in read_context("claude", stdout)


# -- with and without an index ---------------------------------------------------------------------


def test_an_index_that_is_behind_is_brought_up_to_date_first(
    make_vault: MakeVault, open_vault: OpenVault
) -> None:
    root = make_vault(NOTES)
    open_vault(root).close()
    write_vault(root, "=== cust/tern/2026-06-15.md\n## STATUS (2026-06-15)\n\nThe crane is here.\n")
    (root / TERN / "items.md").unlink()
    text = context("claude", hook(root, payload("claude", root / TERN)))
    assert "STATUS (2026-06-15)" in text[:PREVIEW_CHARACTERS]
    assert "tide table, Owner" not in text


def large_branch(notes: int, size: int) -> str:
    """Return a branch of dated notes of this many bytes; each note has its own item."""
    filler = "the tide came and the tide went, and nobody wrote down why\n"
    return "".join(
        f"=== cust/tern/2026-{number:02}-05-log.md\n# Log\n\n"
        f"- [ ] Urgent: look at buoy {number}\n\n" + filler * (size // len(filler))
        for number in range(1, notes + 1)
    )


def read_of(text: str) -> list[int]:
    """Return which of the six notes of a large branch were read, by their items."""
    return [number for number in range(1, 7) if f"look at buoy {number}" in text]


def test_without_an_index_the_newest_notes_are_read_up_to_a_number_of_bytes(
    make_vault: MakeVault,
) -> None:
    root = make_vault(large_branch(6, 60_000))
    text = context("claude", hook(root, payload("claude", root / TERN)))
    assert "as of 2026-06-05" in text
    assert read_of(text) == [5, 6]
    assert "Read without an index: 2 of 6 notes." in text


def test_without_an_index_undated_notes_alternate_with_dated_ones(
    make_vault: MakeVault,
) -> None:
    other = "".join(f"=== cust/tern/a-{n}.md\n{'wind and weather ' * 4_000}\n" for n in range(4))
    root = make_vault(f"{large_branch(6, 60_000)}{NOTES}{other}")
    text = context("claude", hook(root, payload("claude", root / TERN)))
    assert "STATUS (2026-06-12)" in text[:PREVIEW_CHARACTERS]
    assert 6 in read_of(text)


def test_without_an_index_file_times_do_not_matter(make_vault: MakeVault) -> None:
    words = "the log of the undated tides\n" * 2_500
    root = make_vault(
        "".join(f"=== cust/tern/{name}.md\n- [ ] Urgent: {name}\n\n{words}" for name in "abcde")
    )
    stdin = payload("claude", root / TERN)
    before = context("claude", hook(root, stdin))
    for at, file in enumerate(sorted((root / TERN).iterdir(), reverse=True)):
        os.utime(file, (1_500_000_000 + at, 1_500_000_000 + at))
    assert context("claude", hook(root, stdin)) == before


def test_an_index_far_behind_is_ignored_and_the_newest_notes_are_read(
    make_vault: MakeVault, open_vault: OpenVault
) -> None:
    root = make_vault(NOTES + OVERRIDE)
    open_vault(root).close()
    write_vault(root, large_branch(6, 60_000))
    text = context("claude", hook(root, payload("claude", root / TERN)))
    assert 6 in read_of(text)
    assert RULE in text
    assert "Read without an index: " in text


def test_without_an_index_a_newest_note_over_a_megabyte_is_read_all_the_same(
    make_vault: MakeVault,
) -> None:
    root = make_vault(large_branch(2, 1_300_000))
    text = context("claude", hook(root, payload("claude", root / TERN)))
    assert "look at buoy 2" in text


def test_without_an_index_other_branches_are_not_read(make_vault: MakeVault) -> None:
    root = make_vault(f"{NOTES}=== cust/skua/2026-06-15.md\n{'a' * 3_000_000}\n")
    text = context("claude", hook(root, payload("claude", root / TERN)))
    assert "as of 2026-06-12" in text


@pytest.mark.parametrize("place", ["cust/tern/override.md", "override.md"])
def test_without_an_index_the_override_of_a_large_branch_is_there_all_the_same(
    make_vault: MakeVault, place: str
) -> None:
    root = make_vault(f"{large_branch(6, 400_000)}=== {place}\n{RULE}\n")
    assert RULE in context("claude", hook(root, payload("claude", root / TERN)))


def test_without_an_index_the_override_of_a_large_branch_still_fails_over_its_cap(
    make_vault: MakeVault,
) -> None:
    text = f"{large_branch(6, 400_000)}=== cust/tern/override.md\n{of_size(9_001)}"
    root = make_vault(text)
    result = hook(root, payload("claude", root / TERN))
    assert (result.exit_code, result.stdout) == (1, "")


def test_a_hook_writes_nothing_into_the_vault(make_vault: MakeVault) -> None:
    root = make_vault(NOTES + OVERRIDE)
    before = sorted((path, path.stat().st_mtime_ns) for path in root.rglob("*"))
    hook(root, payload("claude", root / TERN))
    hook(root, payload("claude", root / TERN), event="pre-compact")
    assert sorted((path, path.stat().st_mtime_ns) for path in root.rglob("*")) == before


# -- the whole branch ------------------------------------------------------------------------------


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize("client", ["claude", "copilot", "cursor"])
def test_full_gives_every_line_of_the_branch_whatever_the_cap(
    make_vault: MakeVault, open_vault: OpenVault, client: str, with_index: bool
) -> None:
    filler = "".join(f"line {number} of the log of the tides\n" for number in range(5_000))
    root = make_vault(f"{NOTES}{OVERRIDE}=== cust/tern/2026-06-09-log.md\n{filler}")
    indexed(root, open_vault, there=with_index)
    result = hook(root, payload(client, root / TERN), "--full", client=client)
    text = context(client, result)
    assert len(result.stdout_bytes) > CAP_BYTES
    assert [n for n in range(5_000) if f"line {n} of the log" not in text] == []
    assert RULE in text
    assert "the fog horn stays where it is" in text


def test_full_follows_no_cursor_that_a_note_names(make_vault: MakeVault) -> None:
    forged = 'next: query_full_context(branch="cust/tern", cursor="p9.zz")'
    root = make_vault(f"{NOTES}=== cust/tern/2026-06-13.md\n{forged}\nThe end of the note.\n")
    text = context("claude", hook(root, payload("claude", root / TERN), "--full"))
    assert "The end of the note." in text


def test_full_gives_a_heavy_branch_whole(make_vault: MakeVault) -> None:
    filler = "the tide came and went\n" * 400
    root = make_vault(
        f"{NOTES}=== workingset.toml\nheavy_limit = 1000\n"
        f"=== cust/tern/2026-06-13.md\n{filler}The end of the log.\n"
    )
    text = context("claude", hook(root, payload("claude", root / TERN), "--full"))
    assert text.count("the tide came and went") == 400
    assert "The end of the log." in text


def test_full_outside_the_vault_gives_the_root_override(
    make_vault: MakeVault, tmp_path: Path
) -> None:
    root = make_vault(NOTES + ROOT_OVERRIDE)
    assert HOUSE_RULE in context("claude", hook(root, payload("claude", tmp_path), "--full"))


# -- before a compaction ---------------------------------------------------------------------------


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "no index"])
def test_before_a_compaction_claude_gets_at_most_five_lines_to_keep(
    make_vault: MakeVault, open_vault: OpenVault, with_index: bool
) -> None:
    root = indexed(make_vault(NOTES + OVERRIDE), open_vault, there=with_index)
    text = json.dumps({"hook_event_name": "PreCompact", "trigger": "auto", "cwd": str(root / TERN)})
    result = hook(root, text.encode(), event="pre-compact")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert 1 <= len(lines) <= 5
    assert all(line.startswith("keep: ") and len(line) > 10 for line in lines)
    assert "STATUS (2026-06-12)" in lines[0]
    assert all(any(word in line for line in lines) for word in DECISIVE[3:])


def test_many_urgent_items_leave_it_at_five_lines(make_vault: MakeVault) -> None:
    root = make_vault(FULL_BRANCH)
    result = hook(root, payload("claude", root / TERN), event="pre-compact")
    assert 1 <= len(result.stdout.splitlines()) <= 5


@pytest.mark.parametrize("client", [client for client in CLIENTS if client != "claude"])
def test_before_a_compaction_other_clients_get_nothing(make_vault: MakeVault, client: str) -> None:
    root = make_vault(NOTES + OVERRIDE)
    result = hook(root, payload(client, root / TERN), client=client, event="pre-compact")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("stdin", GARBAGE.values(), ids=GARBAGE)
def test_before_a_compaction_garbage_keeps_nothing(make_vault: MakeVault, stdin: bytes) -> None:
    result = hook(make_vault(NOTES + ROOT_OVERRIDE), stdin, event="pre-compact")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_before_a_compaction_a_folder_without_notes_keeps_nothing(make_vault: MakeVault) -> None:
    root = make_vault(NOTES)
    result = hook(root, payload("claude", root / "cust/empty"), event="pre-compact")
    assert (result.exit_code, result.stdout) == (0, "")


# -- what fails ------------------------------------------------------------------------------------

BROKEN_SETTINGS = {
    "no TOML": b"carriers = [",
    "no text": b"\xff\xfe\x00",
    "an unknown key": b"carrier = ['cust']\n",
    "a wrong kind": b"override_max_bytes = 'many'\n",
}


@pytest.mark.parametrize("event", ["session-start", "pre-compact"])
@pytest.mark.parametrize("raw", BROKEN_SETTINGS.values(), ids=BROKEN_SETTINGS)
def test_a_broken_settings_file_stops_no_session(
    make_vault: MakeVault, raw: bytes, event: str
) -> None:
    root = make_vault(NOTES + OVERRIDE)
    (root / "workingset.toml").write_bytes(raw)
    assert_failed_quietly(hook(root, payload("claude", root / TERN), event=event))


@pytest.mark.parametrize("event", ["session-start", "pre-compact"])
def test_a_vault_named_by_a_variable_that_is_not_set_stops_no_session(event: str) -> None:
    assert_failed_quietly(CliRunner().invoke(main, ["hook", event, "--vault", ""]))


@pytest.mark.parametrize("event", ["session-start", "pre-compact"])
@pytest.mark.parametrize("kind", ["missing", "a file", "a link to nothing"])
def test_a_missing_vault_or_one_that_is_not_a_folder_stops_no_session(
    tmp_path: Path, kind: str, event: str
) -> None:
    root = tmp_path / "vault"
    if kind == "a file":
        root.write_text("no folder", encoding="utf-8")
    elif kind == "a link to nothing":
        root.symlink_to(tmp_path / "nothing")
    assert_failed_quietly(hook(root, payload("claude", tmp_path), event=event))


@pytest.mark.parametrize("kind", ["garbage", "half", "empty", "folder for file", "file for folder"])
def test_a_broken_index_stops_no_session(
    make_vault: MakeVault, open_vault: OpenVault, kind: str
) -> None:
    root = make_vault(NOTES + OVERRIDE)
    open_vault(root).close()
    folder = root.parent / "index"
    [file] = folder.rglob("index.sqlite3")
    if kind == "garbage":
        file.write_bytes(b"no database " * 5_000)
    elif kind == "half":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    elif kind == "empty":
        file.write_bytes(b"")
    elif kind == "folder for file":
        file.unlink()
        file.mkdir()
    else:
        folder.rename(root.parent / "moved")
        folder.write_text("no folder", encoding="utf-8")
    result = hook(root, payload("claude", root / TERN))
    assert result.exit_code == 0
    if result.stdout:
        assert "tide table" in read_context("claude", result.stdout_bytes)
    else:
        assert_one_line(result.stderr)


def test_a_note_that_is_not_text_stops_no_session(make_vault: MakeVault) -> None:
    root = make_vault(NOTES)
    (root / TERN / "2026-06-14.md").write_bytes(b"- [ ] urgent \xff\xfe \xed\xa0\x80 buoy\n" * 40)
    assert "buoy" in context("claude", hook(root, payload("claude", root / TERN)))


# -- as a process ----------------------------------------------------------------------------------


def started(
    event: str, root: Path, *options: str, stdin: bytes = b"", timeout: float = 50, **variables: str
) -> "subprocess.CompletedProcess[bytes]":
    """Run the hook as a client does: in a process, with the payload on standard input."""
    command = [sys.executable, "-m", "workingset_mcp", "hook", event, "--vault", str(root)]
    command += ["--index-dir", str(root.parent / "index"), *options]
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, input=stdin, capture_output=True, timeout=timeout, check=False, env=environment
    )


HEAVY = {
    "mcp", "mcp_types", "pydantic", "tiktoken", "rich", "watchfiles", "rapidfuzz", "asyncio",
    "subprocess", "workingset_mcp.workspace.facade", "workingset_mcp.answers.search",
    "workingset_mcp.answers.full.pages",
}  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("with_index", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize("event", ["session-start", "pre-compact"])
def test_a_hook_imports_nothing_it_can_do_without(
    make_vault: MakeVault, open_vault: OpenVault, event: str, with_index: bool
) -> None:
    root = indexed(make_vault(NOTES + OVERRIDE), open_vault, there=with_index)
    heavy = HEAVY | {"yaml"} if with_index else HEAVY  # without an index it reads front matter
    command = ["hook", event, "--vault", str(root), "--index-dir", str(root.parent / "index")]
    code = (
        "import sys\nfrom workingset_mcp.cli.main import main\n"
        f"main({command!r}, standalone_mode=False)\n"
        f"print(sorted({heavy!r} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=payload("claude", root / TERN), capture_output=True,
        timeout=50, check=True,
    )  # fmt: skip
    assert done.stdout
    assert done.stderr.decode().strip() == "[]"


MANY_NOTES = "".join(
    f"=== cust/tern/20{10 + number // 40}-{1 + number % 12:02}-{1 + number % 28:02}-call-{number}.md\n"
    f"# Call {number}\n\nDecision: berth {number} stays open.\n\n- [ ] Grease hinge {number}\n\n"
    + "The tide came and the tide went, and nobody wrote down why it did so twice.\n"
    * 70
    for number in range(400)
)


def cpu_seconds(command: Sequence[str], stdin: bytes = b"") -> float:
    """Return the least CPU time of three runs, which other processes disturb little."""
    resource = pytest.importorskip("resource", reason="Windows counts no children's time")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as it is installed
    spent: list[float] = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, input=stdin, capture_output=True, timeout=60, check=True, env=environment
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(spent)


@pytest.mark.process
@pytest.mark.parametrize("with_index", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize("text", [FULL_BRANCH, MANY_NOTES], ids=["full", "many notes"])
def test_a_hook_costs_few_times_what_its_smallest_import_does(
    make_vault: MakeVault, open_vault: OpenVault, text: str, with_index: bool
) -> None:
    root = indexed(make_vault(text), open_vault, there=with_index)
    least = cpu_seconds([sys.executable, "-c", "import sqlite3, json"])
    command = [
        sys.executable,
        "-m",
        "workingset_mcp",
        "hook",
        "session-start",
        "--vault",
        str(root),
    ]
    command += ["--index-dir", str(root.parent / "index")]
    assert cpu_seconds(command, payload("claude", root / TERN)) < TIMES_ALLOWED * least


@pytest.mark.process
def test_an_index_that_another_process_writes_to_is_not_waited_for(
    make_vault: MakeVault, open_vault: OpenVault
) -> None:
    root = make_vault(NOTES + OVERRIDE)
    open_vault(root).close()
    write_vault(root, "=== cust/tern/2026-06-15.md\n- [ ] Urgent: paint the crane\n")
    [file] = (root.parent / "index").rglob("index.sqlite3")
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    done = started("session-start", root, stdin=payload("claude", root / TERN), timeout=50)
    writer.close()
    assert (done.returncode, done.stderr) == (0, b"")
    text = read_context("claude", done.stdout)
    assert "paint the crane" in text
    assert RULE in text


@pytest.mark.process
@pytest.mark.parametrize("client", CLIENTS)
def test_the_output_is_utf_8_whatever_the_console_encoding(
    make_vault: MakeVault, client: str
) -> None:
    root = make_vault(f"{NOTES}=== cust/tern/override.md\nSag „Hafen“, nie 港 oder ⚓.\n")
    stdin = payload(client, root / TERN)
    done = started(
        "session-start", root, "--client", client, stdin=stdin,
        PYTHONIOENCODING="cp1252", PYTHONUTF8="0", LC_ALL="C",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Sag „Hafen“, nie 港 oder ⚓." in read_context(client, done.stdout)


@pytest.mark.process
def test_an_override_over_its_cap_fails_loudly_on_any_console(make_vault: MakeVault) -> None:
    root = make_vault(f"=== 港/2026-06-10.md\n# H\n=== 港/override.md\n{of_size(9_001)}")
    done = started("session-start", root, "--branch", "港", PYTHONIOENCODING="cp1252")
    assert (done.returncode, done.stdout) == (1, b"")
    assert_one_line(done.stderr.decode("utf-8").replace("\r\n", "\n"))
