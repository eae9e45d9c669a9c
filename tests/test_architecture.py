"""The house stands: imports point down, modules stay small, the light door stays light."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import workingset_mcp

PACKAGE = Path(workingset_mcp.__file__).parent
PROJECT = Path(__file__).parents[1]  # the package may be an installed one
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 350


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
