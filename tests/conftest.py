"""What every test may use: a vault made from one string, an opened workspace over it.

A vault in a test is text with file markers; a line `=== path` begins a file, `=== path/` makes an
empty folder. What stands between two markers is the file, byte for byte (`\\udcff` is the byte FF).
Tests see no environment of the person who runs them, and their day is 2026-06-16.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import hypothesis
import pytest

from workingset_mcp.answers import tokenizer
from workingset_mcp.index.sqlite.engine import SqliteEngine
from workingset_mcp.notes.lines import LABEL_KINDS, STANDING_KINDS
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

TODAY = "2026-06-16"
ITEM_KINDS = ("task", *LABEL_KINDS, *STANDING_KINDS)
_MARKER = re.compile(r"^=== (.+)\n", re.MULTILINE)

MakeVault = Callable[[str], Path]

hypothesis.settings.register_profile("workingset", deadline=None)
hypothesis.settings.load_profile("workingset")


class OpenVault(Protocol):
    """Opens a vault made from text, or a folder that is there already."""

    def __call__(self, vault: str | Path, /, **settings: Any) -> Workspace: ...


def write_vault(root: Path, text: str) -> Path:
    """Write the files that `text` describes below `root`."""
    head, *parts = _MARKER.split(text)
    if head.strip():
        raise ValueError(f"text before the first marker: {head!r}")
    for name, content in zip(parts[::2], parts[1::2], strict=True):
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
    return root


def program(vault: Path, folder: Path, *options: str) -> list[str]:
    """The command line of a server over `vault`, with its index in `folder`."""
    index = ["--index-dir", str(folder / "index")]
    return [
        sys.executable,
        "-m",
        "workingset_mcp",
        "serve",
        "--vault",
        str(vault),
        *index,
        *options,
    ]


def engine_of(workspace: Workspace) -> SqliteEngine:
    """The engine of a workspace, for a test of its file."""
    assert isinstance(workspace.index, SqliteEngine)
    return workspace.index


def contents_of(workspace: Workspace) -> dict[str, object]:
    """All that an index holds but for row numbers and file stamps: equal vaults, equal contents."""
    with workspace.index.snapshot() as snapshot:
        rows = snapshot.notes()
        notes = {row.id: row for row in rows}
        items = [(row.note.path, row.item) for row in snapshot.items(ITEM_KINDS, None, notes)]
        statuses = [(row.note.path, row.status) for row in snapshot.statuses(None, notes)]
        return {
            "paths": sorted(snapshot.known()),
            "notes": [row._replace(id=0, tokens=None) for row in rows],
            "texts": {row.path: snapshot.text(row.id) for row in rows},
            "line digests": {
                row.branch: sorted(memoryview(snapshot.line_digests(row.branch)).cast("I"))
                for row in rows
            },
            "items": items,
            "statuses": statuses,
            "words": list(snapshot.words_between("", "\U0010ffff", 1_000_000)),
        }


def contents_of_fresh(root: Path) -> dict[str, object]:
    """What an index that is built now, from nothing, holds."""
    workspace = Workspace(root, in_memory=True)
    try:
        workspace.build()
        return contents_of(workspace)
    finally:
        workspace.close()


@pytest.fixture(scope="session", autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("WORKINGSET_")]:
            patch.delenv(name)
        patch.setenv("WORKINGSET_TODAY", TODAY)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def make_vault(tmp_path: Path) -> MakeVault:
    """Make a vault from text; each call makes another folder."""
    made: list[Path] = []

    def make(text: str) -> Path:
        root = tmp_path / ("vault" if not made else f"vault-{len(made) + 1}")
        root.mkdir()
        made.append(root)
        return write_vault(root, text)

    return make


@pytest.fixture
def open_vault(make_vault: MakeVault, tmp_path: Path) -> Iterator[OpenVault]:
    """Open and build a workspace; it is closed when the test ends."""
    opened: list[Workspace] = []

    def open_it(vault: str | Path, /, **settings: Any) -> Workspace:
        root = make_vault(vault) if isinstance(vault, str) else vault
        settings.setdefault("index_dir", str(tmp_path / "index"))
        workspace = Workspace(root, Settings(**settings))
        opened.append(workspace)
        workspace.build()
        return workspace

    yield open_it
    for workspace in opened:
        workspace.close()


_another_encoder = cache(tokenizer._load.__wrapped__)  # the product's own may stay unloaded


def exact_tokens(text: str) -> int:
    """Tokens counted straight with an encoder, pathological lines included."""
    return len(_another_encoder().encode_ordinary(text))
