"""The house stands: imports point down, the package does not grow unseen, a start imports little."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import workingset_mcp

PACKAGE = Path(workingset_mcp.__file__).parent
PROJECT = Path(__file__).parents[1]  # the package may be an installed one
MODULES = sorted(PACKAGE.rglob("*.py"))


class Record(NamedTuple):
    """The most that was measured, and how far below it the measure may fall before it is lowered."""

    most: int
    slack: int


MOST = {
    "modules": Record(114, 3),
    "lines of the largest module": Record(379, 20),
    "lines of the package": Record(14_952, 300),
}


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


def test_the_house_does_not_grow_unseen() -> None:
    """A record may only be lowered; raising one is a decision, made in the commit that needs it."""
    lines = [module.read_text(encoding="utf-8").count("\n") for module in MODULES]
    measured = {
        "modules": len(MODULES),
        "lines of the largest module": max(lines),
        "lines of the package": sum(lines),
    }
    grown = {what: n for what, n in measured.items() if n > MOST[what].most}
    assert not grown, f"above the record: {grown}"
    shrunk = {what: n for what, n in measured.items() if n < MOST[what].most - MOST[what].slack}
    assert not shrunk, f"lower the record to {shrunk}"


def test_every_module_says_what_it_holds() -> None:
    silent = [
        module.relative_to(PACKAGE).as_posix()
        for module in MODULES
        if not ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    ]
    assert silent == ["__main__.py"]


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
