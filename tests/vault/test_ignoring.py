"""Ignore patterns match like pathspec, in linear time and within limits; pipes and devices block nothing."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import OpenVault, write_vault
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from workingset_mcp.answers.answer import printed
from workingset_mcp.vault.ignoring import MOST_PATTERNS, _compiled, rule_from

PARTS = ("a", "b", "*", "**", "?", "/", "**/", "/**", "[ab]", "[a-c]", "!", "\\*", ".", "a*", " ")
NAMES = st.text("ab.*", min_size=1, max_size=4)
PATHS = st.tuples(st.lists(NAMES, min_size=1, max_size=6).map("/".join), st.sampled_from(("", "/")))


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map("".join), PATHS.map("".join))
def test_a_pattern_matches_what_pathspec_matches(pattern: str, path: str) -> None:
    try:
        expected = GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        return
    assert rule_from([pattern]).says(path) == expected.check_file(path).include


def test_a_character_class_never_matches_a_slash() -> None:
    rule = rule_from(["a[!b]c", "x[^y]*[!z]*"])
    assert [rule.says(path) for path in ("a/c", "axc", "x/1/2", "x12")] == [None, True, None, True]


@pytest.mark.parametrize(
    "pattern",
    ["*a" * 9 + "*b", "*a*" * 300, "?*" * 300, "**/*a/" * 9 + "b", "**/a*/" * 50, "*" * 900],
)
@pytest.mark.parametrize("path", ["a" * 4_000, "a/" * 2_000, "/".join(["a" * 80] * 50) + "/x"])
def test_a_hostile_pattern_costs_linear_time(pattern: str, path: str) -> None:
    started = time.process_time()
    rule_from([pattern]).says(path)
    assert time.process_time() - started < 1


def test_a_server_starts_beside_a_hostile_ignore_file(open_vault: OpenVault) -> None:
    started = time.process_time()
    workspace = open_vault(f"=== n/{'a' * 100}.md\n# T\n\nwalrus\n\n=== .gitignore\n{'*a' * 9}*b\n")
    assert "walrus" in printed(workspace.search("walrus"))
    assert time.process_time() - started < 10


def test_an_ignore_file_over_its_limit_is_reported(open_vault: OpenVault) -> None:
    patterns = "".join(f"p{at}*x\n" for at in range(100_000))  # under 1 MB, the limit of its bytes
    before = _compiled.cache_info().misses
    workspace = open_vault(f"=== n/a.md\nwalrus\n\n=== .gitignore\n{patterns}")
    walked = workspace.vault.walk()
    assert list(walked.files) == ["n/a.md"]
    assert [out.said for out in walked.left_out if out.path == ".gitignore"] == [
        f"left out: over {MOST_PATTERNS:,} patterns: the rest is not used"
    ]
    write_vault(workspace.vault.root, "=== n/a.md\nnarwhal\n")
    assert "narwhal" in printed(workspace.search("narwhal"))
    assert _compiled.cache_info().misses == before + 1  # equal patterns are compiled once


CLIENT = {"name": "test", "version": "1"}
FIFO_NAMES = (
    ".gitignore", "n/.gitignore", "n/brief.md", "n/override.md", "workingset.toml", ".git", "n/pipe.md",
    "workingset-questions.yaml",
)  # fmt: skip
COMMANDS = (
    ("status",), ("search", "walrus"), ("brief", "n"), ("brief", "n", "--write"), ("check",),
    ("full", "--as-of", "2026-05-31"), ("open", "n/a.md"),
)  # fmt: skip


@pytest.mark.process
@pytest.mark.timeout(120)
@pytest.mark.skipif(os.name != "posix", reason="Windows has no named pipes in folders")
def test_pipes_in_a_vault_block_nothing(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "vault", "=== n/a.md\n# A\n\nwalrus\n")
    for name in FIFO_NAMES:
        os.mkfifo(vault / name)
    place = ("--vault", str(vault), "--index-dir", str(tmp_path / "index"))

    def run(*command: str, given: bytes = b"") -> bytes:
        done = subprocess.run(
            [sys.executable, "-m", "workingset_mcp", *command, *place],
            input=given, capture_output=True, timeout=25, check=False,
        )  # fmt: skip
        assert b"Traceback" not in done.stderr
        assert done.returncode in (0, 1, 3)  # 3: `brief.md` is left as it is
        return done.stdout

    for command in COMMANDS:
        run(*command)
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    lines = "".join(f"{json.dumps({'jsonrpc': '2.0', **one})}\n" for one in messages)
    assert b"search_notes" in run("serve", given=lines.encode())


@pytest.mark.skipif(os.name != "posix", reason="Windows has no named pipes in folders")
def test_a_pipe_is_refused_as_token_file(tmp_path: Path) -> None:
    from workingset_mcp.errors import SettingsError
    from workingset_mcp.server.http import read_token

    os.mkfifo(tmp_path / "token")
    with pytest.raises(SettingsError, match="not a regular file"):
        read_token(tmp_path / "token", None)
