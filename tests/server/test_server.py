"""What an agent gets over MCP: in memory, in both protocol eras."""

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import exact_tokens
from inline_snapshot import external_file
from mcp.client import Client
from mcp.client.client import ConnectMode
from mcp_types import TextResourceContents, Tool

from workingset_mcp.answers.answer import Answer
from workingset_mcp.cli.demo import example_vault
from workingset_mcp.cli.main import main
from workingset_mcp.server.server import INSTRUCTIONS, build_server
from workingset_mcp.settings import load_settings
from workingset_mcp.workspace.facade import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return Path(shutil.copytree(example_vault(), tmp_path / "vault"))


@pytest.fixture
def workspace(vault: Path, tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(vault, load_settings(vault, {"index_dir": str(tmp_path / "index")}))
    workspace.build()
    yield workspace
    workspace.close()


@pytest.fixture(params=["auto", "legacy"])
async def client(workspace: Workspace, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    async with Client(build_server(workspace, follow=False), mode=request.param) as client:
        yield client


async def text_of(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error is not True, result.content
    (block,) = result.content
    assert result.structured_content is None
    return str(getattr(block, "text", ""))


async def refusal_of(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error is True
    return str(getattr(result.content[0], "text", ""))


async def test_every_answer_keeps_its_budget(client: Client) -> None:
    for budget in (400, 1_000, 2_000, 8_000):
        for branch in (
            "cust/acme",
            "cust/acme-labs",
            "projects/billing-migration",
            "wiki",
            "log",
            ".",
        ):
            text = await text_of(client, "get_brief", branch=branch, budget=budget)
            assert exact_tokens(text) <= budget, (branch, budget)
        text = await text_of(client, "get_brief", budget=budget)
        assert exact_tokens(text) <= budget
    for budget in (200, 400, 1_000, 2_000, 8_000):
        for tool, arguments in (
            ("search_notes", {"query": "When is the workshop and who attends?"}),
            ("open_source_file", {"path": "cust/acme/context/index.md"}),
            ("query_full_context", {"branch": "cust/acme"}),
        ):
            text = await text_of(client, tool, budget=budget, **arguments)
            assert exact_tokens(text) <= budget, (tool, budget)


async def test_the_header_states_the_exact_cost(client: Client) -> None:
    text = await text_of(client, "get_brief", branch="acme")
    stated = re.search(r" · ([\d,]+)/8,000 tokens · index current$", text.partition("\n")[0])
    assert stated
    assert int(stated[1].replace(",", "")) == exact_tokens(text)


async def test_an_unchanged_vault_gives_identical_bytes(client: Client) -> None:
    for tool, arguments in (
        ("get_brief", {}),
        ("get_brief", {"branch": "acme"}),
        ("search_notes", {"query": "signing keys"}),
        ("open_source_file", {"path": "wiki/on-call.md"}),
        ("query_full_context", {"branch": "acme", "budget": 2_000}),
    ):
        assert await text_of(client, tool, **arguments) == await text_of(client, tool, **arguments)


async def test_a_branch_shows_nothing_of_another_with_the_same_prefix(client: Client) -> None:
    texts = [
        await text_of(client, "get_brief", branch="cust/acme", budget=24_000),
        await text_of(client, "search_notes", query="Quillfish acme-labs tank", branch="cust/acme"),
        await text_of(client, "query_full_context", branch="cust/acme", budget=24_000),
    ]
    for text in texts:
        assert "cust/acme-labs/" not in text
    assert "Quillfish" not in texts[0] + texts[2]
    assert "Quillfish" in await text_of(client, "get_brief", branch="cust/acme-labs")


FENCED = re.compile(r"^### (.+?) · .*?\n(`{3,})\n(.*?)^\2$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("budget", [500, 5_000, 20_000])
async def test_the_pages_of_full_context_join_to_the_notes(
    client: Client, vault: Path, budget: int
) -> None:
    joined: dict[str, str] = {}
    cursor = None
    while True:
        arguments = {"branch": "cust/acme", "budget": budget} | (
            {"cursor": cursor} if cursor else {}
        )
        page = await text_of(client, "query_full_context", **arguments)
        for heading, _, text in FENCED.findall(page):
            path = re.sub(r":\d+(-\d+)?$", "", heading)
            joined[path] = joined.get(path, "") + text
        following = re.search(r'^next: .*cursor="([^"]+)"', page, re.MULTILINE)
        if not following:
            break
        cursor = following[1]
    on_disk = {
        path.relative_to(vault).as_posix(): path.read_text(encoding="utf-8")
        for path in (vault / "cust/acme").rglob("*.md")
    }
    assert joined == on_disk


async def test_parts_of_an_opened_note_join_to_the_note(client: Client, vault: Path) -> None:
    path = "cust/acme/context/index.md"
    joined, lines = "", None
    while True:
        arguments = {"path": path, "budget": 300} | ({"lines": lines} if lines else {})
        part = await text_of(client, "open_source_file", **arguments)
        joined += re.findall(r"^(`{3,})\n(.*?)^\1$", part, re.MULTILINE | re.DOTALL)[0][1]
        following = re.search(r'^next: .*lines="([^"]+)"', part, re.MULTILINE)
        if not following:
            break
        lines = following[1]
    assert joined == (vault / path).read_text(encoding="utf-8")


async def test_a_note_saved_by_rename_is_in_the_next_search(client: Client, vault: Path) -> None:
    for number in range(3):
        saving = vault / "cust/acme/meetings/.saving"
        saving.write_text(f"# Call\n\nThe zanzibarword{number} was agreed.\n", encoding="utf-8")
        saving.rename(vault / "cust/acme/meetings/2026-06-16-call.md")
        text = await text_of(client, "search_notes", query=f"zanzibarword{number}")
        assert "cust/acme/meetings/2026-06-16-call.md:3" in text


async def test_a_deleted_note_is_never_quoted(client: Client, vault: Path) -> None:
    assert "contract notes.md" in await text_of(client, "search_notes", query="AC-4471-0932")
    (vault / "cust/acme/context/contract notes.md").unlink()
    text = await text_of(client, "search_notes", query="AC-4471-0932")
    assert "contract notes.md" not in text
    assert "contract notes.md" not in await text_of(client, "get_brief", branch="acme")


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("get_brief", {"branch": "cust/acmee"}, ["'cust/acmee' is no branch", "Near: cust/acme"]),
        ("open_source_file", {"path": "../outside.md"}, ["leads outside the vault"]),
        ("open_source_file", {"path": "/etc/passwd"}, ["leads outside the vault"]),
        (
            "open_source_file",
            {"path": "wiki/oncall.md"},
            ["There is no note", "Near: wiki/on-call.md"],
        ),
        ("open_source_file", {"path": "wiki"}, ["wiki is a folder"]),
        (
            "get_brief",
            {"branch": "acme", "budget": 10},
            ["budget=10 is too small", "400 to 24,000"],
        ),
        ("get_brief", {"branch": "acme", "budget": -1}, ["budget=-1 is too small"]),
        ("search_notes", {"query": "x", "budget": 0}, ["budget=0 is too small", "200 to 24,000"]),
        ("get_brief", {"branch": "acme", "budgt": 900}, ["Unknown argument 'budgt'", "'budget'"]),
        ("search_notes", {"query": "  "}, ["The query is empty"]),
        ("search_notes", {}, ["Argument 'query' is missing"]),
        ("search_notes", {"query": "x", "since": "soon"}, ["since='soon' is no date"]),
        ("query_full_context", {"cursor": "p9"}, ["cursor='p9' is not one of ours"]),
        ("open_source_file", {"path": "wiki/on-call.md", "lines": "9-2"}, ["lines='9-2'"]),
        (
            "open_source_file",
            {"path": "wiki/on-call.md", "heading": "Nope"},
            ["has no heading 'Nope'"],
        ),
    ],
)
async def test_bad_input_gets_one_plain_sentence_and_the_next_call_works(
    client: Client, tool: str, arguments: dict[str, object], words: list[str]
) -> None:
    text = await refusal_of(client, tool, **arguments)
    for word in words:
        assert word in text
    assert "\n" not in text
    assert "Traceback" not in text
    assert "pydantic" not in text
    assert "[workingset] log" in await text_of(client, "get_brief", branch="log", budget=400)


async def test_a_bug_that_pydantic_finds_is_masked_like_any_other(
    client: Client, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(workspace, "brief", lambda *_: Tool.model_validate({}))
        assert await refusal_of(client, "get_brief") == "Error executing tool get_brief"


async def test_a_near_miss_that_can_only_mean_one_branch_is_accepted(client: Client) -> None:
    exact = await text_of(client, "get_brief", branch="cust/acme")
    for spelled in ("acme", "Cust/Acme", "cust/acme/", " cust/acme "):
        assert await text_of(client, "get_brief", branch=spelled) == exact


async def test_a_query_of_only_punctuation_finds_nothing_and_says_so(client: Client) -> None:
    text = await text_of(client, "search_notes", query="?!... --- ()")
    assert text.startswith("[workingset] search · nothing found")
    assert "it holds no word" in text


async def test_a_budget_over_the_maximum_is_lowered_with_a_warning(client: Client) -> None:
    text = await text_of(client, "get_brief", branch="log", budget=1_000_000_000)
    assert "warning: budget lowered from 1,000,000,000 to 24,000" in text


async def test_the_advertised_surface(client: Client) -> None:
    tools: list[Tool] = (await client.list_tools()).tools
    shown = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert shown == external_file("../snapshots/tools.json")


async def test_the_advertised_surface_is_small(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert (
        sum(exact_tokens(t.model_dump_json(by_alias=True, exclude_none=True)) for t in tools)
        < 1_500
    )
    assert all(len(tool.description or "") < 1_000 for tool in tools)
    assert len(INSTRUCTIONS.encode()) < 1_200


@pytest.mark.parametrize(
    ("name", "most_bytes"), [("copilot-cli", 9_500), ("gemini-cli-mcp-client", 40_000)]
)
async def test_clients_that_cut_answers_get_answers_within_their_limits(
    workspace: Workspace, name: str, most_bytes: int
) -> None:
    from mcp_types import Implementation

    server = build_server(workspace, follow=False)
    async with Client(server, client_info=Implementation(name=name, version="1")) as client:
        text = await text_of(client, "get_brief", branch="acme", budget=24_000)
        full = await text_of(client, "query_full_context", branch="acme")
    assert len(text.encode()) <= most_bytes
    assert len(full.encode()) <= most_bytes


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_call_that_waits_for_the_first_build_reports_progress(
    vault: Path, tmp_path: Path, era: ConnectMode
) -> None:
    heard: list[str] = []
    with (
        closing(Workspace(vault, load_settings(vault, {"index_dir": str(tmp_path)}))) as elsewhere,
        closing(Workspace(vault, load_settings(vault, {"index_dir": str(tmp_path)}))) as here,
        ExitStack() as turn,
    ):
        assert turn.enter_context(elsewhere.index.build_turn())  # so nobody else builds

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.append(message or "")
            turn.close()

        async with Client(build_server(here, follow=False), mode=era) as client:
            result = await client.call_tool("get_brief", {}, progress_callback=hear)
            refused = await client.call_tool(
                "get_brief", {"branch": "nope"}, progress_callback=hear
            )
    assert heard
    assert heard[0].startswith("indexing 0 of ")
    assert "cust/acme" in getattr(result.content[0], "text", "")
    assert refused.is_error


async def test_the_brief_of_the_root_has_a_uri_that_no_client_shortens(client: Client) -> None:
    root = "workingset://brief/"
    assert root in [resource.uri for resource in (await client.list_resources()).resources]
    [listed] = (await client.read_resource(root)).contents
    [expanded] = (await client.read_resource(f"{root}.")).contents
    assert isinstance(listed, TextResourceContents)
    assert isinstance(expanded, TextResourceContents)
    assert "\nbranch: .\n" in listed.text
    assert listed.text == expanded.text


async def test_an_empty_folder_name_is_refused_in_one_sentence() -> None:
    refused = CliRunner().invoke(main, ["serve", "--vault", ""])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("Error: The folder of notes is empty.")


async def test_a_bug_is_masked_and_the_server_stays_up(
    client: Client, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(workspace, "brief", lambda *_: 1 / 0)
        assert await refusal_of(client, "get_brief") == "Error executing tool get_brief"
    assert "overview" in await text_of(client, "get_brief")


# -- texts that look like JSON ---------------------------------------------------------------------

JSON_TEXTS = ("null", "true", "3", "[]", "{}", '["a"]', "[1]", '{"a": 1}', '"null"', "[")


@pytest.mark.parametrize("text", JSON_TEXTS)
async def test_every_string_argument_of_every_tool_arrives_unchanged(
    client: Client, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    given: dict[str, object] = {}

    def noted(*positional: object, **named: object) -> Answer[None]:
        given.update(named, first=positional[0] if positional else None)
        return Answer("noted", "noted", None)

    for answer in ("brief", "search", "open", "full", "items"):
        monkeypatch.setattr(workspace, answer, noted)
    listed = (await client.list_tools()).tools
    tried = 0
    for tool in listed:
        for name, about in tool.input_schema["properties"].items():
            if about["type"] != "string" or "enum" in about:
                continue
            given.clear()
            needed = dict.fromkeys(tool.input_schema.get("required", []), "x")
            assert (await text_of(client, tool.name, **{**needed, name: text})).endswith("noted")
            assert text in (given.get(name), given["first"])
            tried += 1
    assert tried > 15


@pytest.mark.parametrize("text", ["null", '["open"]', "{}"])
async def test_json_text_is_refused_for_a_choice(client: Client, text: str) -> None:
    for name in ("kind", "group_by"):
        refusal = await refusal_of(client, "list_items", **{name: text})
        assert refusal.startswith(f"Argument {name!r} is wrong: Input should be")


async def test_a_branch_named_null_means_only_that_branch(client: Client, vault: Path) -> None:
    for branch in ("null", "other"):
        (vault / branch).mkdir()
        words = f"# A\n\n- [ ] count the walrus of {branch}\n"
        (vault / branch / "a.md").write_text(words, encoding="utf-8")
    for tool, arguments in (
        ("search_notes", {"query": "walrus"}),
        ("list_items", {}),
        ("get_brief", {}),
        ("query_full_context", {}),
    ):
        answer = await text_of(client, tool, **arguments, branch="null")
        assert "walrus of null" in answer
        assert "walrus of other" not in answer
    for nothing in ("[1]", "{}", '["null"]'):
        assert "branch" in await refusal_of(client, "get_brief", branch=nothing)


@pytest.mark.parametrize(
    ("also", "found"),
    [
        (["walrus"], True), ('["walrus"]', True), ('["seal", "walrus"]', True), ("walrus", True),
        ("[]", False), (None, False), ("null", False), ('{"walrus": 1}', True), ('["walrus"', True),
    ],
)  # fmt: skip
async def test_other_words_are_accepted_as_a_list_as_json_or_as_one_word(
    client: Client, vault: Path, also: object, found: bool
) -> None:
    (vault / "wiki" / "a.md").write_text("# A\n\nWe count the walrus.\n", encoding="utf-8")
    answer = await text_of(client, "search_notes", query="odobenid", also=also)
    assert ("count the walrus" in answer) == found


@pytest.mark.parametrize("also", ["[1]", '[["a"]]', [1], {"a": 1}])
async def test_other_words_that_are_not_strings_are_refused(client: Client, also: object) -> None:
    refusal = await refusal_of(client, "search_notes", query="x", also=also)
    assert refusal.startswith("Argument 'also")
