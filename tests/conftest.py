"""Fixtures for all tests: a vault made from one string, and an open workspace over it.

A vault in a test is text with file markers: a line `=== path` begins a file, `=== path/` makes an
empty folder. The text between two markers is the file, byte for byte (`\\udcff` is the byte FF).
Tests ignore the environment of the person who runs them, and their day is 2026-06-16.
"""

import hashlib
import importlib
import os
import pkgutil
import re
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import coverage
import hypothesis
import pytest
import tiktoken

import workingset_mcp
from workingset_mcp.answers.tokenizer import published_ranks
from workingset_mcp.index.sqlite.engine import SqliteEngine
from workingset_mcp.notes.lines import LABEL_KINDS, STANDING_KINDS
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

TODAY = "2026-06-16"
ITEM_KINDS = ("task", *LABEL_KINDS, *STANDING_KINDS)
LITTLE_SECONDS = 0.2  # a shorter time depends more on the machine than on the text
_MARKER = re.compile(r"^=== (.+)\n", re.MULTILINE)

MakeVault = Callable[[str], Path]

# `make test` draws the same examples every time; `make fuzz` (bench/fuzz_tests.py) draws new ones.
# The time of an example depends on the load of the machine, so there is no deadline.
hypothesis.settings.register_profile(
    "fuzz",
    derandomize=False,
    database=None,
    deadline=None,
    print_blob=False,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "workingset", hypothesis.settings.get_profile("fuzz"), derandomize=True
)
hypothesis.settings.load_profile("workingset")

# Hypothesis draws constants from loaded modules: load them all, or the examples depend
# on which tests ran before.
for _module in pkgutil.walk_packages(workingset_mcp.__path__, "workingset_mcp."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)


@pytest.fixture(autouse=True)
def _tracing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Trace no property test, and no test marked `untraced`, for coverage: it doubles their time."""
    marked = map(request.node.get_closest_marker, ("hypothesis", "untraced"))
    tracing = coverage.Coverage.current() if any(marked) else None
    if tracing:
        tracing.stop()
    yield
    if tracing:
        tracing.start()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the time limit when fuzzing, because shrinking a failing example takes long."""
    if config.getoption("--hypothesis-profile") == "fuzz":
        for item in items:
            item.add_marker(pytest.mark.timeout(0), append=False)


class OpenVault(Protocol):
    """Opens a vault made from text, or an existing folder."""

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
    """Return the command line of a server over `vault` with its index in `folder`."""
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
    """Return the engine of a workspace, to test its file."""
    assert isinstance(workspace.index, SqliteEngine)
    return workspace.index


def contents_of(workspace: Workspace) -> dict[str, object]:
    """Return an index's contents without row ids and fingerprints; they are equal for equal vaults."""
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
    """Return the contents of an index built from scratch now."""
    workspace = Workspace(root, in_memory=True)
    try:
        workspace.build()
        return contents_of(workspace)
    finally:
        workspace.close()


def least_seconds(call: Callable[[], object]) -> float:
    """Return the least CPU time of three calls, because other load only adds to it."""
    spent = []
    for _ in range(3):
        started = time.process_time()
        call()
        spent.append(time.process_time() - started)
    return min(spent)


def assert_costs_its_length(read: Callable[[str], object], text: str) -> None:
    """Check that 8 times the text costs less than 24 times as much; quadratic cost would be 64 times."""
    started = time.process_time()
    read(text)
    if time.process_time() - started > LITTLE_SECONDS:
        part = text[: len(text) // 8]
        assert least_seconds(lambda: read(text)) < 24 * least_seconds(lambda: read(part))


@pytest.fixture(scope="session", autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("WORKINGSET_")]:
            patch.delenv(name)
        patch.setenv("WORKINGSET_TODAY", TODAY)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
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


TABLE_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"


def published_table() -> bytes:
    """Return the table as published: one token in base64 and its rank per line."""
    in_order = sorted(published_ranks().items(), key=lambda each: each[1])
    return b"".join(b"%s %d\n" % (b64encode(token), rank) for token, rank in in_order)


@cache
def reference_encoder() -> tiktoken.Encoding:
    """Load tiktoken's own o200k_base from a cache with our table; it would refuse a different one.

    It is not the encoder of the package, which may stay unloaded.
    """
    name = hashlib.sha1(TABLE_ADDRESS.encode(), usedforsecurity=False).hexdigest()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder, name).write_bytes(published_table())
        patch.setenv("TIKTOKEN_CACHE_DIR", folder)
        return tiktoken.get_encoding("o200k_base")


def exact_tokens(text: str) -> int:
    """Count tokens directly with an encoder, also of pathological lines."""
    return len(reference_encoder().encode_ordinary(text))
