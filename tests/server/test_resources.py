"""Briefs and notes as resources, and completion of their names, over stdio in both eras."""

import pytest
from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    PromptReference,
    Resource,
    ResourceTemplateReference,
    TextResourceContents,
)

from server.conftest import MANY, Served

pytestmark = [pytest.mark.anyio, pytest.mark.process]

BRIEF = "workingset://brief/"
NOTE = "workingset://note/"


async def text_of(served: Served, uri: str) -> str:
    [content] = (await served.client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "text/markdown")
    return content.text


async def refused(served: Served, uri: str) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await served.client.read_resource(uri)
    return caught.value


async def test_the_pages_of_the_list_contain_every_branch_once(served: Served) -> None:
    found: list[Resource] = []
    sizes = []
    cursor = None
    while True:
        page = await served.client.list_resources(cursor=cursor)
        found += page.resources
        sizes.append(len(page.resources))
        cursor = page.next_cursor
        if cursor is None:
            break
    assert max(sizes) <= 50
    uris = [resource.uri for resource in found]
    assert len(set(uris)) == len(uris)
    assert {f"{BRIEF}{name}" for name in ("cust/acme", "cust/acme-labs", "wiki", *MANY)} <= set(
        uris
    )
    assert {resource.mime_type for resource in found} == {"text/markdown"}


async def test_an_unknown_cursor_is_refused(served: Served) -> None:
    with pytest.raises(MCPError) as caught:
        await served.client.list_resources(cursor="never given")
    assert caught.value.code == INVALID_PARAMS


async def test_templates_name_briefs_and_notes(served: Served) -> None:
    templates = (await served.client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [
        f"{BRIEF}{{+branch}}",
        f"{NOTE}{{+path}}",
    ]
    assert all(template.description for template in templates)
    assert {template.mime_type for template in templates} == {"text/markdown"}


async def test_every_listed_brief_can_be_read(served: Served) -> None:
    for resource in (await served.client.list_resources()).resources[:5]:
        assert f"branch: {resource.name}\n" in await text_of(served, resource.uri)


async def test_a_brief_contains_the_state_of_its_branch_and_no_other(served: Served) -> None:
    text = await text_of(served, f"{BRIEF}cust/acme")
    assert "The pilot waits for a signature." in text
    assert "Send the contract" in text
    assert "Quillfish" not in text
    assert "Quillfish" in await text_of(served, f"{BRIEF}cust/acme-labs")


async def test_a_note_keeps_its_text_and_line_ends(served: Served) -> None:
    for path in ("wiki/on-call.md", "cust/acme/context/call notes.md"):
        text = await text_of(served, NOTE + path.replace(" ", "%20"))
        assert text.encode() == (served.vault / path).read_bytes()


async def test_a_saved_note_is_read_in_its_new_form(served: Served) -> None:
    note = served.vault / "wiki" / "saved.md"
    for word in ("first", "second"):
        note.write_text(f"# Saved\n\n- [ ] {word} wording\n", encoding="utf-8")
        assert word in await text_of(served, f"{NOTE}wiki/saved.md")
        assert f"{word} wording" in await text_of(served, f"{BRIEF}wiki")
    note.unlink()
    assert "no note" in (await refused(served, f"{NOTE}wiki/saved.md")).message


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        (BRIEF, "'.' is no branch"),
        (f"{BRIEF}%20", "No branch is named"),
        (f"{BRIEF}cust/acmee", "'cust/acmee' is no branch"),
        (f"{NOTE}wiki/oncall.md", "Near: wiki/on-call.md"),
        (f"{NOTE}wiki", "wiki"),
        (f"{NOTE}../outside.md", "Unknown resource"),
        (f"{NOTE}%2e%2e/outside.md", "Unknown resource"),
        (f"{NOTE}/etc/passwd", "Unknown resource"),
        ("workingset://else/wiki", "Unknown resource"),
        ("file:///etc/passwd", "Unknown resource"),
    ],
)
async def test_an_unknown_resource_is_refused_as_not_found(
    served: Served, uri: str, words: str
) -> None:
    error = await refused(served, uri)
    assert (error.code, error.data) == (INVALID_PARAMS, {"uri": uri})
    assert words in error.message
    assert str(served.vault) not in error.message


async def test_completion_lists_names_with_that_prefix_first(served: Served) -> None:
    branch = ResourceTemplateReference(type="ref/resource", uri=f"{BRIEF}{{+branch}}")
    path = ResourceTemplateReference(type="ref/resource", uri=f"{NOTE}{{+path}}")
    prompt = PromptReference(type="ref/prompt", name="load_branch")

    async def completed(
        ref: ResourceTemplateReference | PromptReference, **typed: str
    ) -> list[str]:
        [(name, value)] = typed.items()
        result = await served.client.complete(ref, {"name": name, "value": value})
        return result.completion.values

    assert await completed(branch, branch="CUST/a") == ["cust/acme", "cust/acme-labs"]
    assert await completed(prompt, branch="labs") == ["cust/acme-labs"]
    assert await completed(path, path="wiki/o") == ["wiki/on-call.md"]
    assert await completed(path, path="zanzibar") == []


async def test_a_long_completion_is_cut_and_says_how_long_it_was(served: Served) -> None:
    branch = ResourceTemplateReference(type="ref/resource", uri=f"{BRIEF}{{+branch}}")
    result = await served.client.complete(branch, {"name": "branch", "value": "day-"})
    assert len(result.completion.values) == 100
    assert (result.completion.total, result.completion.has_more) == (len(MANY), True)
