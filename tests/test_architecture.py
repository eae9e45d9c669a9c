"""The architecture: imports point down, the package grows only by decision, a start imports little."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import workingset_mcp

PACKAGE = Path(workingset_mcp.__file__).parent
PROJECT = Path(__file__).parents[1]  # the package may be installed elsewhere
MODULES = sorted(PACKAGE.rglob("*.py"))
SQLITE = PACKAGE / "index" / "sqlite"
# Our SQL is in capitals; FTS5 has operators, column filters and prefixes.
QUERY_TEXT = re.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|PRAGMA|BEGIN|COMMIT|WHERE|ORDER BY|JOIN|MATCH)\b"
    r"|(?:^| )(?:AND|OR|NOT|NEAR)(?: |$)|\b(?:body|title|heads|path|cjk|dt)\}? : |\" \*"
)


def name_of(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


class Record(NamedTuple):
    """A recorded maximum, and how far the measure may fall below it before the record must be lowered."""

    most: int
    slack: int


MOST = {
    "modules": Record(136, 3),
    "lines of the largest module": Record(514, 20),
    "lines of the package": Record(20_825, 300),
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


def test_the_package_grows_only_by_decision() -> None:
    """Lower a record freely; raising one is a decision for the commit that needs it."""
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


def test_every_module_has_a_docstring() -> None:
    silent = [
        module.relative_to(PACKAGE).as_posix()
        for module in MODULES
        if not ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    ]
    assert silent == ["__main__.py"]


def strings_in(tree: ast.AST) -> list[str]:
    """Return every string of a module that is not a docstring, and the fixed parts of f-strings."""
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
def test_only_the_engine_contains_sql_and_fts5_text(module: Path) -> None:
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
def test_query_text_is_distinguished_from_other_text(source: str, *, found: bool) -> None:
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
def test_fast_commands_import_nothing_heavy(module: str, heavy: list[str]) -> None:
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


# -- answers are values ----------------------------------------------------------------------------

# The modules where an answer becomes text, which goes straight to a client.
EDGES = {
    "answers/answer.py",
    "server/tools/_declare.py",
    "server/prompts.py",
    "cli/commands/answers.py",
}
LOOKS_INTO = {
    *("partition", "rpartition", "split", "rsplit", "splitlines", "startswith", "endswith", "find"),
    *("rfind", "index", "rindex", "count", "removeprefix", "removesuffix", "replace", "strip"),
}
PATTERNS = {"match", "search", "fullmatch", "findall", "finditer", "split", "sub"}


class AnswerText(NamedTuple):
    """Finds the text of an answer in a function: printed, its body, or a name for one of them."""

    names: frozenset[str] = frozenset()

    def is_in(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            return name == "printed" or (name == "join" and any(map(self.is_in, node.args)))
        if isinstance(node, ast.Attribute):
            return node.attr == "body"
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            return self.is_in(node.elt)
        if isinstance(node, ast.JoinedStr | ast.BinOp | ast.FormattedValue):
            return any(map(self.is_in, ast.iter_child_nodes(node)))
        return isinstance(node, ast.Name) and node.id in self.names

    def is_read_by(self, node: ast.AST) -> bool:
        """Return whether an expression reads the text: a method, a pattern, `in`, or a subscript."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            own = method in LOOKS_INTO and self.is_in(node.func.value)
            return own or (method in PATTERNS and any(map(self.is_in, node.args)))
        if isinstance(node, ast.Compare):
            looked_into = zip(node.ops, node.comparators, strict=True)
            return any(
                isinstance(op, ast.In | ast.NotIn) and self.is_in(t) for op, t in looked_into
            )
        return isinstance(node, ast.Subscript) and self.is_in(node.value)


def readings_of_answers(code: str) -> list[str]:
    """Return the expressions that read the text of an answer."""
    found = []
    for function in ast.walk(ast.parse(code)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            text = AnswerText()
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and text.is_in(node.value):
                    text = AnswerText(text.names | {ast.unparse(one) for one in node.targets})
            found += [ast.unparse(node) for node in ast.walk(function) if text.is_read_by(node)]
    return found


@pytest.mark.parametrize(
    "code",
    [
        "text = printed(workspace.full(branch))\n found = 'Nothing there.' not in text",
        "first = printed(answer).split(chr(10))[0]",
        "text = workspace.brief(name).body\n return _FENCE.sub('', text)",
        "return re.search('found', printed(answer))",
        "text = chr(10).join(one.body for one in answers)\n return text.startswith('---')",
        "return workspace.search(words).body[:80]",
        "whole = f'{answer.body} and more'\n return whole.partition(chr(10))",
    ],
)
def test_the_check_finds_code_that_reads_an_answers_text(code: str) -> None:
    assert readings_of_answers(f"def f():\n {code}\n")


@pytest.mark.parametrize(
    "module",
    [module for module in MODULES if name_of(module).startswith(("cli", "server", "workspace"))],
    ids=name_of,
)
def test_no_edge_reads_an_answers_text(module: Path) -> None:
    assert readings_of_answers(module.read_text(encoding="utf-8")) == []


def test_only_the_edges_print_answers() -> None:
    def prints(module: Path) -> bool:
        tree = ast.parse(module.read_text(encoding="utf-8"))
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        return any(ast.unparse(call.func).rpartition(".")[2] == "printed" for call in calls)

    assert {name_of(module) for module in MODULES if prints(module)} == EDGES
