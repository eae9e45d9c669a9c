"""The house stands: imports point down, modules stay small, the light door stays light."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import workingset_mcp

PACKAGE = Path(workingset_mcp.__file__).parent
PROJECT = Path(__file__).parents[1]  # the package may be an installed one
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 350
SQLITE = PACKAGE / "index" / "sqlite"
# SQL in capitals, as all of ours is; FTS5: its operators, a column filter, a prefix.
QUERY_TEXT = re.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|PRAGMA|BEGIN|COMMIT|WHERE|ORDER BY|JOIN|MATCH)\b"
    r"|(?:^| )(?:AND|OR|NOT|NEAR)(?: |$)|\b(?:body|title|heads|path|cjk|dt)\}? : |\" \*"
)


def name_of(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


@pytest.mark.process
def test_imports_point_down_the_ladder() -> None:
    code = "from importlinter.cli import lint_imports_command as run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_is_small_and_says_what_it_holds(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    lines = text.count("\n")
    assert lines <= MOST_LINES
    assert ast.get_docstring(ast.parse(text)) or name_of(module) == "__main__.py"


def strings_in(tree: ast.AST) -> list[str]:
    """Every string of a module that is not a docstring, and the fixed parts of those with fields."""
    docstrings = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node not in docstrings and isinstance(node.value, str)
    ]


def query_text_in(source: str) -> list[str]:
    return [text for text in strings_in(ast.parse(source)) if QUERY_TEXT.search(text)]


@pytest.mark.parametrize(
    "module", [module for module in MODULES if SQLITE not in module.parents], ids=name_of
)
def test_no_sql_and_no_fts5_text_stands_outside_the_engine(module: Path) -> None:
    assert query_text_in(module.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('sql = f"SELECT path FROM note WHERE branch = {name}"', True),
        ("run('PRAGMA page_size')", 1),
        ("""term = f'"{word}" *'""", True),
        ("""term = f'cjk : "{word}"'""", True),
        ("""both = f"({one} AND {other})\"""", True),
        ('" OR ".join(terms)', True),
        ('"""SELECT is explained here."""\nx = "select a note, or a path: two"', False),
        ('"NOTE: ORDER matters"', False),
    ],
)
def test_query_text_is_told_from_other_text(source: str, *, found: bool) -> None:
    assert bool(query_text_in(source)) == found


@pytest.mark.process
@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("workingset_mcp", ["mcp", "click", "rich", "tiktoken", "sqlite3", "watchfiles", "yaml"]),
        ("workingset_mcp.cli.main", ["mcp", "tiktoken"]),
        ("workingset_mcp.workspace.facade", ["mcp", "click", "rich", "tiktoken"]),
    ],
)
def test_what_starts_fast_imports_nothing_heavy(module: str, heavy: list[str]) -> None:
    code = f"import sys, {module}; print(*(name for name in {heavy!r} if name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.split() == []
