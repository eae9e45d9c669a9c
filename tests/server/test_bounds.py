"""Every tool, over names and words of many scripts: an answer from its least budget on, and refusals that fit."""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import exact_tokens, program
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import Implementation, TextContent, TextResourceContents

from workingset_mcp.answers.answer import Limits
from workingset_mcp.errors import BranchNotFound, NoteNotFound
from workingset_mcp.server.prompts import RULE
from workingset_mcp.server.tools import TOOLS
from workingset_mcp.server.tools._declare import answer_of
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

LEAST = {"get_brief": 400}
BYTES = 9_500
MOST_NAME_BYTES = 240


def _signs(first: int, last: int) -> st.SearchStrategy[str]:
    return st.text(st.characters(min_codepoint=first, max_codepoint=last), min_size=1, max_size=60)


EMOJI = ["👩\u200d👩\u200d👧\u200d👦", "👨🏿\u200d🚀", "🇩🇪", "🔥"]
SCRIPTS = {
    "latin": _signs(ord("a"), ord("z")),
    "cjk": _signs(0x4E00, 0x9FFF),
    "tangut": _signs(0x17000, 0x187F7),
    "linear b": _signs(0x10000, 0x1005D),
    "emoji": st.lists(st.sampled_from(EMOJI), min_size=1, max_size=9).map("".join),
    "zalgo": _signs(0x300, 0x36F).map(lambda marks: "a".join(["", *marks])),
    "base64": _signs(ord("A"), ord("Z")).map(lambda text: f"{text}+{text.lower()}=="),
    "json": st.integers(1, 12).map(
        lambda n: "{" + ",".join(f'"k{i}":[{i}]' for i in range(n)) + "}"
    ),
}
words = st.lists(st.one_of(*SCRIPTS.values()), min_size=1, max_size=8).map(" ".join)


def _names() -> list[str]:
    """One long name for each script, as long as a disk allows."""
    source = random.Random(7)
    ranges = [
        (0x61, 0x7A),
        (0x4E00, 0x9FFF),
        (0x17000, 0x187F7),
        (0x10000, 0x1005D),
        (0x300, 0x36F),
    ]
    names = ["plain", '{"k":[1]}' * 20, "👩‍👩‍👧‍👦" * 9, "x<!-- quote 1 -->_[y]_"]
    for first, last in ranges:
        names.append("".join(chr(source.randint(first, last)) for _ in range(120)))
    return [f"n{name}".encode()[:MOST_NAME_BYTES].decode("utf-8", "ignore") for name in names]


NAMES = _names()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root = tmp_path_factory.mktemp("vault")
    for number, name in enumerate(NAMES):
        (root / name).mkdir()
        text = (
            f"---\ndate: {name}\n---\n# {name}\n\n## STATUS (2026-06-{number + 1:02}) {name}\n\n{name}\n\n"
            f"- [ ] walrus {name}, Owner: {name}\n\nDecision: {name}\n\nkept by {name}\n"
            + f"{name}\n"
            * 9
        )
        (root / name / f"{name[:-3]}.md").write_text(text, encoding="utf-8")
        (root / name / f"2026-06-{number + 1:02}.md").write_text(
            f"# Day\n\nWe agreed that {name} ships the walrus by Friday.\n", encoding="utf-8"
        )
    with closing(
        Workspace(root, Settings(index_dir=str(tmp_path_factory.mktemp("index"))))
    ) as opened:
        opened.build()
        yield opened


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A call of a tool within its documented budgets."""
    tool = draw(st.sampled_from([declared.name for declared in TOOLS]))
    name = draw(st.sampled_from(NAMES))
    some = st.one_of(words, st.none())
    arguments: dict[str, Any] = {}
    if tool == "open_source_file":
        arguments["path"] = draw(st.sampled_from([f"{name}/{name[:-3]}.md", f"{name}/none.md"]))
        arguments["heading"] = draw(some)
        arguments["lines"] = draw(st.sampled_from([None, "3-9", "1"]))
    else:
        arguments["branch"] = draw(st.sampled_from([name, None]))
    if tool == "search_notes":
        arguments["query"] = draw(words)
        arguments["also"] = [draw(words)]
    if tool == "query_full_context":
        arguments["query"] = draw(some)
        arguments["as_of"] = draw(st.sampled_from([None, "2026-06-12"]))
    if tool == "list_items":
        arguments |= {"text": draw(some), "owner": draw(some)}
        arguments["kind"] = draw(st.sampled_from(["open", "decision", "status", "note", "remark"]))
        arguments["group_by"] = draw(st.sampled_from([None, "owner", "branch", "path"]))
    least = LEAST.get(tool, 200)
    arguments["budget"] = draw(st.one_of(st.just(least), st.integers(least, 600), st.just(6_000)))
    return tool, {key: value for key, value in arguments.items() if value is not None}


@settings(max_examples=70)
@given(call=calls(), max_bytes=st.sampled_from([None, BYTES]))
def test_every_budget_from_the_least_gets_an_answer_or_a_refusal_that_fits(
    workspace: Workspace, call: tuple[str, dict[str, Any]], max_bytes: int | None
) -> None:
    tool, arguments = call
    declared = next(declared for declared in TOOLS if declared.name == tool)
    limits, cause = Limits(max_bytes=max_bytes), None
    try:
        text = answer_of(declared, workspace, limits, arguments)
    except ToolError as refused:
        text, cause = str(refused), refused.__cause__
    assert cause is None or isinstance(cause, (BranchNotFound, NoteNotFound)) or "outside" in text
    assert exact_tokens(text) <= arguments["budget"]
    assert max_bytes is None or len(text.encode()) <= max_bytes


def test_a_refusal_with_a_long_outline_keeps_the_budget(workspace: Workspace) -> None:
    name = NAMES[-3]
    path = workspace.vault.root / "plain.md"
    assert name
    path.write_text("".join(f"# {name} {n}\n\nx\n\n" for n in range(45)), encoding="utf-8")
    declared = next(declared for declared in TOOLS if declared.name == "open_source_file")
    for budget in (200, 1_000, None):
        with pytest.raises(ToolError) as refused:
            answer_of(
                declared, workspace, Limits(max_bytes=1_500),
                {"path": "plain.md", "heading": "zzz", "budget": budget},
            )  # fmt: skip
        assert exact_tokens(str(refused.value)) <= (budget or 2_000)
        assert len(str(refused.value).encode()) <= 1_500
        assert "has no heading 'zzz'" in str(refused.value)


# -- names print so that nothing is forged, and open as printed ------------------------------------

part_of_name = st.one_of(
    st.sampled_from(
        ["<!-- /quote 1 -->", "-->", "]_", "_[a.md:1]_", "\\u003e", "\\", "u003e", "\u202e"]
    ),
    st.text(
        st.characters(categories=["L", "N", "P", "S", "Cf"], exclude_characters="/"), max_size=5
    ),
)
file_name = st.lists(part_of_name, min_size=1, max_size=4).map("".join)


@settings(max_examples=15)
@given(name=file_name)
def test_a_note_opens_by_its_printed_path_and_forges_no_mark(name: str) -> None:
    folder, file = f"b{name}"[:60], f"n{name[:60]}.md"
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "vault"
        note = root / folder / file
        note.parent.mkdir(parents=True)
        note.write_text("# Walrus\n\n- [ ] walrus\n", encoding="utf-8")
        (root / folder / "other.md").write_text("# Other\n", encoding="utf-8")
        with closing(Workspace(root, Settings(index_dir=str(Path(place) / "index")))) as opened:
            opened.build()
            if f"{folder}/{file}" not in opened.known_paths():
                return  # a name that a vault leaves out
            tools = {declared.name: declared for declared in TOOLS}
            limits = opened.limits()
            listed = answer_of(tools["list_items"], opened, limits, {}).splitlines()[1]
            assert listed.startswith("- [ ] walrus _[")
            assert listed.endswith(":3]_")
            assert listed.count("]_") == 1
            assert "<!--" not in listed
            assert "-->" not in listed
            printed_path = listed.removeprefix("- [ ] walrus _[").removesuffix("]_")
            asked = {"path": printed_path}
            assert "- [ ] walrus\n" in answer_of(tools["open_source_file"], opened, limits, asked)
            branch = printed_path.partition("/")[0]
            brief = answer_of(tools["get_brief"], opened, limits, {"branch": branch})
            assert "walrus" in brief


# -- prompts, resources, hooks, terminals ----------------------------------------------------------

LONG = "".join(f"Line {number} of a long note, 長い行 {number}.\n" for number in range(900))
LONG += "x" * 30_000 + "\nthe end"


@pytest.mark.anyio
@pytest.mark.process
async def test_prompts_and_resources_keep_the_bytes_of_their_client(tmp_path: Path) -> None:
    branch = tmp_path / "vault" / "cust" / "acme"
    branch.mkdir(parents=True)
    for day in range(1, 13):
        items = "".join(
            f"- [ ] Send offer {day}.{n} {'with all its appendices ' * 12}to the harbour\n"
            for n in range(3)
        )
        name = f"2026-05-{day:02} call.md"
        (branch / name).write_text(
            f"# Call\n\nWe agreed on offer {day}.\n\n{items}", encoding="utf-8"
        )
    (branch / "long.md").write_text(LONG, encoding="utf-8")
    command, *arguments = program(tmp_path / "vault", tmp_path)
    server = StdioServerParameters(command=command, args=arguments)
    copilot = Implementation(name="copilot-cli", version="1")
    async with Client(server, client_info=copilot) as client:
        for question in ("", "Which offer goes to the harbour?", "offer " * 4_000):
            asked = {"branch": "cust/acme", "question": question}
            [message] = (await client.get_prompt("ask", asked)).messages
            assert isinstance(message.content, TextContent)
            assert 2_000 < len(message.content.text.encode()) <= BYTES
            assert RULE in message.content.text
        assert 2_000 < len((await read(client, "workingset://brief/cust/acme")).encode()) <= BYTES
        uri, parts = "workingset://note/cust/acme/long.md", ""
        while uri:
            text = await read(client, uri)
            assert len(text.encode()) <= BYTES
            shown, _, uri = (
                text.rpartition("next: ") if "\nnext: workingset" in text else (text, "", "")
            )
            uri = uri.strip()
            in_line = "@" in uri and not shown.removesuffix("\n").endswith("\n")
            parts += shown.removesuffix("\n") if in_line else shown
        assert parts == LONG


async def read(client: Client, uri: str) -> str:
    [content] = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


ODD = "ok \x1b[2J\x1b]52;c;ZXZpbA==\x07 \x9b2J \u2028 \x85 \x0b \u202e \U000e0049"


@pytest.fixture
def odd_vault(tmp_path: Path) -> Path:
    note = tmp_path / "odd" / "cust" / "acme" / "a.md"
    note.parent.mkdir(parents=True)
    text = f"# A {ODD} title\n\n## STATUS (2026-05-16) {ODD}\n\n{ODD}\n\n- [ ] walrus {ODD}\n\nDecision: {ODD}\n"
    note.write_bytes(text.encode())
    return tmp_path / "odd"


COMMANDS = (
    ["brief", "acme"], ["search", "walrus"], ["open", "cust/acme/a.md"], ["items", "--json"],
    ["hook", "session-start", "--branch", "acme"], ["open", "none\x1b]0;x\x07.md"],
)  # fmt: skip


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
def test_a_terminal_gets_no_control_sequence_of_a_note(odd_vault: Path, tmp_path: Path) -> None:
    import pty

    for command in COMMANDS:
        mine, its = pty.openpty()
        options = ["--vault", str(odd_vault), "--index-dir", str(tmp_path / "index")]
        with subprocess.Popen(
            [sys.executable, "-m", "workingset_mcp", *command, *options], stdin=subprocess.DEVNULL,
            stdout=its, stderr=its, env={**os.environ, "TERM": "dumb"},  # no progress bar that moves
        ):  # fmt: skip
            os.close(its)
            raw = b""
            with suppress(OSError):  # the other end is closed
                while piece := os.read(mine, 65_536):
                    raw += piece
        os.close(mine)
        said = raw.decode()
        assert said.strip(), command
        assert not [sign for sign in said if not sign.isprintable() and sign not in "\r\n\u200d"], (
            command
        )


@pytest.mark.process
def test_a_pipe_gets_the_bytes_of_a_note_and_a_hook_one_line(
    odd_vault: Path, tmp_path: Path
) -> None:
    options = ["--vault", str(odd_vault), "--index-dir", str(tmp_path / "index")]

    def said(*command: str) -> bytes:
        run = [sys.executable, "-m", "workingset_mcp", *command, *options]
        return subprocess.run(run, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout

    assert (odd_vault / "cust/acme/a.md").read_bytes() in said("open", "cust/acme/a.md")
    for client in ("claude", "cursor"):
        text = said("hook", "session-start", "--branch", "acme", "--client", client).decode()
        assert len(text.splitlines()) == 1
        assert "walrus" in json.dumps(json.loads(text))


def test_signs_that_nobody_sees_are_escaped_outside_quotes_and_named_in_the_header(
    odd_vault: Path, tmp_path: Path
) -> None:
    with closing(Workspace(odd_vault, Settings(index_dir=str(tmp_path / "index")))) as opened:
        opened.build()
        tools = {declared.name: declared for declared in TOOLS}
        asked: dict[str, dict[str, Any]] = {
            "get_brief": {"branch": "cust/acme"}, "search_notes": {"query": "walrus"},
            "open_source_file": {"path": "cust/acme/a.md"}, "query_full_context": {"branch": "cust/acme"},
            "list_items": {},
        }  # fmt: skip
        for name, arguments in asked.items():
            text = answer_of(tools[name], opened, opened.limits(), arguments)
            first = text.split("\n", 1)[0]
            outside = re.sub(
                r"(?ms)^(<!-- quote (\d+) .*?<!-- /quote \2 -->|```\n.*?^```)$", "", text
            )
            assert not [sign for sign in outside if not sign.isprintable() and sign != "\n"], name
            assert ("holds invisible characters" in first) is (outside != text), name
