"""The documents match the code: versions, names, commands, links, packages, commands to type."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tool_reference import PAGES_WITH_TITLES, reference, with_titles

import workingset_mcp
from workingset_mcp.cli.check import RULES
from workingset_mcp.cli.main import main
from workingset_mcp.settings import Settings

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "workingset_mcp"
CLIENTS = sorted(path.stem for path in (PROJECT / "docs/clients").glob("*.md"))
IN_A_SHELL = ("claude-code", "copilot", "gemini")
DOCUMENTS = sorted(
    [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")], key=lambda path: path.as_posix()
)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def json_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of(name))
    return found


def pyproject() -> dict[str, Any]:
    return tomllib.loads(text_of("pyproject.toml"))


def section_of(name: str, heading: str) -> str:
    """Return the text below a heading of the second level."""
    return text_of(name).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def label_of(name: str) -> str:
    found = re.search(rf'{re.escape(name)}="([^"]+)"', text_of("Dockerfile"))
    assert found, name
    return found[1]


def test_the_version_is_the_same_everywhere() -> None:
    server = json_of("server.json")
    packaging = "docs/packaging/"
    bundle = json_of(packaging + "mcpb/manifest.json")
    plugin = json_of(packaging + "claude-plugin/.claude-plugin/plugin.json")
    version = workingset_mcp.__version__
    assert pyproject()["project"]["version"] == version
    assert [server["version"], *(package["version"] for package in server["packages"])] == [
        version,
        version,
    ]
    assert label_of("org.opencontainers.image.version") == version
    assert (bundle["version"], plugin["version"]) == (version, version)
    assert f'version = "{version}"' in text_of(packaging + "mcpb/pyproject.toml")


def test_the_registry_name_is_the_same_everywhere() -> None:
    name = json_of("server.json")["name"]
    assert f"<!-- mcp-name: {name} -->" in text_of("README.md")
    assert label_of("io.modelcontextprotocol.server.name") == name
    project = pyproject()["project"]["name"]
    assert [package["identifier"] for package in json_of("server.json")["packages"]] == [project]


def test_the_readme_names_every_command() -> None:
    table = section_of("README.md", "Commands")
    assert [name for name in main.commands if f"`{name}`" not in table] == []


def test_the_readme_names_every_tool_with_its_arguments() -> None:
    tools = json.loads(text_of("tests/snapshots/tools.json"))
    assert tools
    rows = re.findall(r"^\| `(\w+)\((.*?)\)` \|", section_of("README.md", "Tools"), re.MULTILINE)
    shown = {name: re.split(r", ?", arguments) for name, arguments in rows}
    assert list(shown) == [tool["name"] for tool in tools]
    for tool in tools:
        taken = tool["inputSchema"]
        names = [re.sub(r"[?=].*", "", argument) for argument in shown[tool["name"]]]
        needed = [argument for argument in shown[tool["name"]] if argument.isidentifier()]
        assert sorted(names) == sorted(taken["properties"]), tool["name"]
        assert needed == taken.get("required", []), tool["name"]


@pytest.mark.process
def test_the_readme_shows_what_the_demo_prints() -> None:
    """Takes 2 s: starts a client and a server, and indexes the example vault."""

    def without_costs(line: str) -> str:
        return re.sub(r"[\d,]+/", "…/", line) if line.startswith("[workingset]") else line

    demo = [sys.executable, "-m", "workingset_mcp", "demo"]
    done = subprocess.run(demo, capture_output=True, encoding="utf-8", check=True)
    printed = iter([without_costs(line) for line in done.stdout.splitlines()])
    [transcript] = re.findall(
        r"^```text\n(.*?)^```$", text_of("README.md"), re.MULTILINE | re.DOTALL
    )
    for shown in filter(None, transcript.splitlines()):
        wanted = without_costs(shown).removesuffix("…")
        assert any(line.startswith(wanted) for line in printed), shown


def test_client_pages_name_the_tools_by_their_titles() -> None:
    for file in PAGES_WITH_TITLES:
        page = file.read_text(encoding="utf-8")
        assert "```text\nget_brief " in page
        assert with_titles(page) == page, "run: python tests/tool_reference.py"


def test_the_changelog_names_every_command_and_tool() -> None:
    text = text_of("CHANGELOG.md")
    tools = [tool["name"] for tool in json.loads(text_of("tests/snapshots/tools.json"))]
    assert [name for name in (*main.commands, *tools) if f"`{name}" not in text] == []
    assert "as_of" in text


@pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: path.relative_to(PROJECT).as_posix()
)
def test_links_point_to_existing_files(document: Path) -> None:
    targets = LINK.findall(FENCE.sub("", document.read_text(encoding="utf-8")))
    files = [target.partition("#")[0] for target in targets if "://" not in target]
    assert [name for name in files if name and not (document.parent / name).exists()] == []


def test_the_package_table_matches_the_import_contract() -> None:
    [ladder] = [
        c for c in pyproject()["tool"]["importlinter"]["contracts"] if c["type"] == "layers"
    ]
    rungs = [sorted(re.split(r"[ |]+", rung)) for rung in ladder["layers"]]
    rows = re.findall(
        r"^\| [^|]+ \| (`[^|]+`) \|", section_of("ARCHITECTURE.md", "The house"), re.MULTILINE
    )
    shown = [sorted(re.findall(r"`(\w+)(?:\.py|/)`", row)) for row in rows]
    assert shown == rungs
    assert ladder["exhaustive"]  # the contract names every package and module


@pytest.mark.parametrize(
    ("library", "place"), [("sqlite3", "index/sqlite/"), ("watchfiles", "sync/follower.py")]
)
def test_a_library_is_imported_only_where_the_architecture_says(library: str, place: str) -> None:
    assert f"`{library}` is imported only in `{place}`" in text_of("ARCHITECTURE.md").replace(
        "`watchfiles` only in", "`watchfiles` is imported only in"
    )
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if library in [name.partition(".")[0] for name in names]:
                assert path.relative_to(PACKAGE).as_posix().startswith(place)


def printed(client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return the block and the sentences that `install` prints when run through uvx."""
    uvx = tmp_path / "path" / "uvx"
    uvx.parent.mkdir()
    uvx.touch(mode=0o755)
    vault = tmp_path / "notes"
    vault.mkdir()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "archive-v0" / "x" / "bin" / "python"))
    monkeypatch.setenv("PATH", str(uvx.parent))
    result = CliRunner().invoke(main, ["install", client, "--vault", str(vault)])
    assert result.exit_code == 0, result.output
    named = "~/notes" if client in IN_A_SHELL else "/path/to/notes"
    block, call, sentences = result.stdout.replace(str(vault.resolve()), named).partition("Call ")
    return block, call + sentences


@pytest.mark.skipif(sys.platform == "win32", reason="the lines are for a POSIX shell")
@pytest.mark.parametrize("client", CLIENTS)
def test_documented_commands_are_those_that_install_prints(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block, sentences = printed(client, tmp_path, monkeypatch)
    document = text_of(f"docs/clients/{client}.md")
    [first, *_, last] = re.findall(r"^```\w+\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    assert (first, last) == (block, sentences)
    install = section_of("README.md", "Install")
    assert f"(docs/clients/{client}.md)" in install
    if client in IN_A_SHELL or client == "codex":
        assert block.strip() in install


def test_every_client_has_a_page() -> None:
    from workingset_mcp.cli.install import CLIENTS as known

    assert sorted(known) == CLIENTS


def test_the_tool_reference_matches_the_servers_list() -> None:
    assert text_of("docs/tools.md") == reference(), "run: python tests/tool_reference.py"


def test_the_linter_page_names_every_rule_with_its_level() -> None:
    rows = re.findall(r"^\| (WS\d+) \| (\w+) \|", text_of("docs/check.md"), re.MULTILINE)
    assert rows == [(rule.code, rule.severity) for rule in RULES]


def test_the_readme_names_every_setting() -> None:
    named = re.findall(r"`(\w+)`", section_of("README.md", "Settings"))
    assert sorted(named) == sorted(
        field.name for field in fields(Settings) if field.name != "remarks"
    )
