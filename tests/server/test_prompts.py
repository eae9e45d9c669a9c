"""The prompts that a person picks in a client, over stdio in both eras."""

import pytest
from mcp import MCPError
from mcp_types import INVALID_PARAMS, TextContent, TextResourceContents

from server.conftest import Served

pytestmark = [pytest.mark.anyio, pytest.mark.process]

RULE = "Answer only from these notes."


async def text_of(served: Served, name: str, **arguments: str) -> str:
    [message] = (await served.client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


async def refused(served: Served, name: str, arguments: dict[str, str]) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await served.client.get_prompt(name, arguments)
    return caught.value


async def test_there_are_three_prompts_with_their_arguments(served: Served) -> None:
    prompts = (await served.client.list_prompts()).prompts
    asked = {p.name: [(a.name, a.required) for a in p.arguments or ()] for p in prompts}
    assert asked == {
        "load_branch": [("branch", True)],
        "ask": [("branch", True), ("question", False)],
        "hand_over": [("branch", True)],
    }
    assert all(prompt.title and prompt.description for prompt in prompts)


async def test_load_branch_returns_the_brief_and_the_rule(served: Served) -> None:
    text = await text_of(served, "load_branch", branch="acme")
    [brief] = (await served.client.read_resource("workingset://brief/cust/acme")).contents
    assert isinstance(brief, TextResourceContents)
    assert text.startswith(brief.text)
    assert RULE in text.removeprefix(brief.text)


async def test_ask_adds_what_a_search_finds_and_ends_with_the_question(served: Served) -> None:
    question = "What is the account number?"
    text = await text_of(served, "ask", branch="cust/acme", question=question)
    assert "cust/acme/context/call notes.md" in text
    assert "AC-4471" in text
    assert text.index("AC-4471") < text.index(RULE) < text.index(f"Question: {question}")
    without = await text_of(served, "ask", branch="cust/acme")
    assert without == await text_of(served, "load_branch", branch="cust/acme")


async def test_hand_over_names_the_branch_and_the_call_that_reloads_it(served: Served) -> None:
    assert 'get_brief(branch="cust/acme")' in await text_of(served, "hand_over", branch="acme")


@pytest.mark.parametrize("name", ["load_branch", "ask", "hand_over"])
async def test_an_unknown_branch_is_refused_with_near_matches(served: Served, name: str) -> None:
    error = await refused(served, name, {"branch": "cust/acmee"})
    assert error.code == INVALID_PARAMS
    assert "'cust/acmee' is no branch" in error.message
    assert "Near: cust/acme" in error.message


@pytest.mark.parametrize("name", ["load_branch", "ask", "hand_over"])
async def test_an_empty_branch_is_refused(served: Served, name: str) -> None:
    error = await refused(served, name, {"branch": " "})
    assert error.message == 'No branch is named. Name one, e.g. "cust/acme".'


async def test_an_unknown_prompt_is_refused_and_the_next_one_is_answered(served: Served) -> None:
    await refused(served, "no_such_prompt", {})
    await refused(served, "load_branch", {})
    await refused(served, "load_branch", {"branch": "wiki", "colour": "blue"})
    assert RULE in await text_of(served, "load_branch", branch="wiki")


@pytest.mark.parametrize(
    ("name", "arguments", "word"),
    [
        ("no_such_prompt", {}, "no_such_prompt"),
        ("load_branch", {}, "branch"),
        ("load_branch", {"branch": "wiki", "colour": "blue"}, "colour"),
    ],
)
async def test_a_refusal_says_what_was_wrong(
    served: Served, name: str, arguments: dict[str, str], word: str
) -> None:
    error = await refused(served, name, arguments)
    assert error.code == INVALID_PARAMS
    assert word in error.message
