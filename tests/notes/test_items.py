"""What lines say: tasks, labelled lines, decisions, owners, due days, status blocks."""

from typing import Any

import pytest
from conftest import OpenVault
from hypothesis import given
from hypothesis import strategies as st

from workingset_mcp.notes.lines import OPEN_STATES, UNREAD_KIND, Item
from workingset_mcp.notes.note import parse_note
from workingset_mcp.notes.statuses import StatusBlock
from workingset_mcp.notes.words import CONTACT, RHYTHM, ROLE, RULE, UPDATED, hints_of, plainly
from workingset_mcp.settings import LABELS, Settings


def items_of(text: str, path: str = "2026-06-16.md", **chosen: object) -> list[Item]:
    """The items of a dated note (so that no standing lines are among them)."""
    settings = Settings(**chosen)  # type: ignore[arg-type]  # fields by name
    return list(parse_note(path, text.encode(), settings).items)


def found(text: str) -> list[tuple[int, str, str]]:
    return [(item.line, item.kind, item.text) for item in items_of(text)]


# -- tasks -----------------------------------------------------------------------------------------

TASKS = [
    # name, text, tasks as (line, state, text)
    ("dash", "- [ ] x\n", [(1, " ", "x")]),
    ("star", "* [ ] x\n", [(1, " ", "x")]),
    ("plus", "+ [ ] x\n", [(1, " ", "x")]),
    ("number", "1. [ ] x\n2. [ ] y\n", [(1, " ", "x"), (2, " ", "y")]),
    ("number with bracket", "7) [ ] x\n", [(1, " ", "x")]),
    ("no line end", "- [ ] x", [(1, " ", "x")]),
    ("blanks around", "-   [ ]   x y  \n", [(1, " ", "x y")]),
    ("tabs inside", "-\t[ ]\tx\n", [(1, " ", "x")]),
    ("indented three", "   - [ ] x\n", [(1, " ", "x")]),
    ("nested by two", "- a\n  - [ ] x\n    - [x] y\n", [(2, " ", "x"), (3, "x", "y")]),
    ("nested by four", "1. a\n    - [ ] x\n        - [ ] y\n", [(2, " ", "x"), (3, " ", "y")]),
    ("nested by tabs", "- a\n\t- [ ] x\n\t\t- [ ] y\n", [(2, " ", "x"), (3, " ", "y")]),
    ("nested by tabs, below a heading", "# H\n\n- a\n\t- [ ] x\n", [(4, " ", "x")]),
    ("nested by too many tabs", "- a\n\t\t- [ ] x\n", [(2, " ", "x")]),
    ("under a task", "- [ ] x\n  - [ ] y\n", [(1, " ", "x"), (2, " ", "y")]),
    ("loose list", "- [ ] x\n\n- [ ] y\n", [(1, " ", "x"), (3, " ", "y")]),
    ("right behind a paragraph", "text\n- [ ] x\n", [(2, " ", "x")]),
    ("right behind a heading", "# H\n- [ ] x\n", [(2, " ", "x")]),
    ("in a quote", "> - [ ] x\n", [(1, " ", "x")]),
    ("in a quote without a blank", ">- [ ] x\n", [(1, " ", "x")]),
    ("in a quote in a quote", "> > - [ ] x\n", [(1, " ", "x")]),
    ("in a callout", "> [!todo] Open\n> - [ ] x\n>   - [x] y\n", [(2, " ", "x"), (3, "x", "y")]),
    ("in a quote in a list", "- a\n\n  > - [ ] x\n", [(3, " ", "x")]),
    ("in details", "<details>\n\n- [ ] x\n\n</details>\n", [(3, " ", "x")]),
    ("behind a table", "| a |\n|---|\n| b |\n\n- [ ] x\n", [(5, " ", "x")]),
    ("behind a closed fence", "```\n- [ ] no\n```\n- [ ] x\n", [(4, " ", "x")]),
    ("behind four backticks", "````\n```\n````\n- [ ] x\n", [(4, " ", "x")]),
    ("behind a comment", "<!-- no -->\n- [ ] x\n", [(2, " ", "x")]),
    ("behind a long comment", "<!--\n- [ ] no\n-->\n\n- [ ] x\n", [(5, " ", "x")]),
    ("behind an Obsidian comment", "%%\n- [ ] no\n%%\n\n- [ ] x\n", [(5, " ", "x")]),
    ("behind a comment in the line", "a %%b%% c\n\n- [ ] x\n", [(3, " ", "x")]),
    ("behind a comment mark in a fence", "```\n<!--\n```\n- [ ] x\n", [(4, " ", "x")]),
    ("behind a comment mark in code", "Write `<!--` to open.\n\n- [ ] x\n", [(3, " ", "x")]),
    ("behind a comment mark in prose", "a <!-- b\n\n- [ ] x\n", [(3, " ", "x")]),
    (
        "between two marks in code",
        "Cells with `%%time`\n\n- [ ] x\n\nand `%%bash`\n",
        [(3, " ", "x")],
    ),
    ("behind front matter", "---\na: b\n---\n- [ ] x\n", [(4, " ", "x")]),
    ("with a link", "- [ ] [x](y.md) z\n", [(1, " ", "[x](y.md) z")]),
    ("with marks", "- [ ] **x** `y`\n", [(1, " ", "**x** `y`")]),
    ("with a label", "- [ ] Action: x\n", [(1, " ", "Action: x")]),
    ("with a comment behind", "- [ ] x <!-- 123 -->\n", [(1, " ", "x")]),
    ("with an Obsidian comment behind", "- [ ] x %% 123 %%\n", [(1, " ", "x")]),
    ("only a comment", "- [ ] <!-- x -->\n", []),
    ("other scripts", "- [ ] 設定を直す\n", [(1, " ", "設定を直す")]),
    *((f"state {state!r}", f"- [{state}] x\n", [(1, state, "x")]) for state in "/xX-><!?"),
]


@pytest.mark.parametrize(("text", "tasks"), [pytest.param(*case[1:], id=case[0]) for case in TASKS])
def test_a_task_is_found_in_every_place_it_may_stand(
    text: str, tasks: list[tuple[int, str, str]]
) -> None:
    items = items_of(text)
    assert {item.kind for item in items} <= {"task"}
    assert [(item.line, item.state, item.text) for item in items] == tasks


NO_TASKS = {
    "fence": "```\n- [ ] x\n```\n",
    "fence with a word": "```markdown\n- [ ] x\n```\n",
    "tildes": "~~~\n- [ ] x\n~~~\n",
    "four backticks": "````\n```\n- [ ] x\n```\n- [ ] y\n````\n",
    "backticks in tildes": "~~~\n```\n~~~~\n".replace("~~~~", "- [ ] x\n~~~"),
    "unclosed fence": "```\n- [ ] x\n",
    "unclosed tildes": "a\n~~~\n\n- [ ] x\n\n- [ ] y\n",
    "fence in a quote": "> ```\n> - [ ] x\n> ```\n",
    "fence in a list": "- a\n  ```\n  - [ ] x\n  ```\n",
    "indented code": "a\n\n    - [ ] x\n",
    "code in a line": "`- [ ] x`\n",
    "comment": "<!-- - [ ] x -->\n",
    "long comment": "<!--\n- [ ] x\n\n- [ ] y\n-->\n",
    "unclosed comment": "<!--\n- [ ] x\n",
    "comment in a quote": "> <!--\n> - [ ] x\n> -->\n",
    "comment behind text": "a <!--\n- [ ] x\n-->\n",
    "Obsidian comment": "%% - [ ] x %%\n",
    "long Obsidian comment": "%%\n- [ ] x\n\n- [ ] y\n%%\n",
    "HTML": "<div>\n- [ ] x\n</div>\n",
    "front matter": "---\na:\n- [ ] x\n---\n",
    "no blank before the box": "-[ ] x\n",
    "two letters in the box": "- [ab] x\n",
    "a link": "- [x](y.md) z\n",
    "no text": "- [ ]\n- [ ]  \n",
    "in the middle": "a - [ ] x\n",
    "escaped mark": "\\- [ ] x\n",
    "a number too long": "1234567890. [ ] x\n",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in NO_TASKS.items()])
def test_what_only_looks_like_a_task_is_none(text: str) -> None:
    assert [item for item in items_of(text) if item.kind != UNREAD_KIND] == []


def test_text_behind_a_comment_in_the_line_is_kept() -> None:
    (item,) = items_of("- [ ] call <!-- she asked for it --> Ana about the offer\n")
    assert item.text.startswith("call ")
    assert item.text.endswith(" Ana about the offer")


def test_only_open_states_count_as_open(open_vault: OpenVault) -> None:
    boxes = "".join(f"- [{state}] {number}\n" for number, state in enumerate(" /xX-><"))
    workspace = open_vault(f"=== cust/acme/a.md\n{boxes}")
    with workspace.index.snapshot() as snapshot:
        (branch,) = snapshot.branches()
    assert branch.open_items == 2
    assert {" ", "/"} <= set(OPEN_STATES)
    assert not {"x", "X", "-", ">"} & set(OPEN_STATES)


WORDS = st.text("abc äß漢🚦.,:;()[]*_`#|\\\"'", min_size=1, max_size=20).map(str.strip)


@given(
    st.sampled_from(["- ", "* ", "+ ", "1. ", "23) ", "> - ", "> > * ", "- a\n  - ", "- a\n\t- "]),
    st.sampled_from(" /xX->"),
    WORDS.filter(bool),
)
def test_the_text_of_a_task_is_what_is_written(mark: str, state: str, words: str) -> None:
    items = items_of(f"# H\n\n{mark}[{state}] {words}\n\nend\n")
    tasks = [(item.state, item.text) for item in items if item.kind == "task"]
    assert tasks == [(state, words)]


# -- labelled lines --------------------------------------------------------------------------------

KEYS = {
    "decision": [
        *("Decided", "Decision", "Resolution", "RESOLVED", "Conclusion", "Verdict", "Outcome"),
        *("Consensus", "Agreed", "Beschluss", "決定"),
    ],
    "owner": ["Owner", "Assignee", "DRI", "Champion", "Verantwortlich", "担当"],
    "due": ["Due", "Deadline", "Fällig"],
    "blocker": ["Blocker", "Blocked", "Risk"],
    "action": [
        "Action",
        "Action item",
        "Action items",
        "AI",
        "AP",
        "TODO",
        "Next step",
        "Follow-up",
    ],
    "fact": ["Fact", "Key fact", "Total"],
}
FORMS = [
    "{}: the text",
    "**{}:** the text",
    "**{}**: the text",
    "_{}:_ the text",
    "_{}_: the text",
    "*{}:* the text",
    "__{}:__ the text",
    "***{}:*** the text",
    "{} : the text",
    "{} (2026-06-16): the text",
    "{} (Ana Diaz): the text",
    "**{} (2026-06-16):** the text",
    "**{}** (2026-06-16): the text",
    "{} - the text",
    "{} – the text",
    "{} — the text",
    "**{}** – the text",
    "[{}] the text",
    "**[{}]** the text",
    "{}：the text",
    "**{}：** the text",
]
PLACES = ["{}", "- {}", "* {}", "3. {}", "> {}", "> - {}", "> > {}", "- a\n  - {}", "- a\n\t- {}"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KEYS)
def test_a_labelled_line_is_found_in_every_form(kind: str, form: str) -> None:
    for key in KEYS[kind]:
        line = form.format(key)
        assert found(f"# H\n\n{line}\n") == [(3, kind, line)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", ["{}: the text", "**{}:** the text", "[{}] the text"])
def test_a_labelled_line_is_found_in_every_place(place: str, form: str) -> None:
    line = form.format("Decision")
    text = place.format(line)
    assert found(f"{text}\n") == [(text.count("\n") + 1, "decision", line)]


@pytest.mark.parametrize("kind", KEYS)
def test_a_label_is_known_in_any_case_but_for_the_two_abbreviations(kind: str) -> None:
    for key in KEYS[kind]:
        for spelled in (key.lower(), key.upper(), key.title()):
            if key in ("AI", "AP") and spelled != key:
                assert found(f"{spelled}: the text\n") == []
            else:
                assert found(f"{spelled}: the text\n") == [(1, kind, f"{spelled}: the text")]


def test_every_label_of_the_settings_has_its_kind() -> None:
    for kind, words in LABELS.items():
        for word in words:
            assert found(f"- {word}: the text\n") == [(1, kind, f"{word}: the text")], word


NEAR_MISSES = [
    "due to the outage: we wait",
    "Due to - the outage",
    "We decided to move: tomorrow",
    "decided to move - tomorrow",
    "Decided to move: tomorrow",
    "due diligence: starts on Monday",
    "Due diligence - phase two",
    "Owner's manual: on the shelf",
    "Owners of the venue: the city",
    "Ownership: shared",
    "Risk management: weekly",
    "Risky: very",
    "Risk-based pricing - a view",
    "Actionable: no",
    "Action-packed: yes",
    "Total cost: 5",
    "Totally: yes",
    "Facts about it: none",
    "AI tools: many",
    "AI-based: yes",
    "ai: lower case",
    "Ap: title case",
    "APIs: many",
    "Agreed upon - in part",
    "Outcome-based: yes",
    "Decision-making: slow",
    "Decision makers - who",
    "Blocked-in: no",
    "Follow-up-call: on Friday",
    "See the Decision: it stands",
    "The owner: Ana",
    "Due 2026-06-16",
    "Decision",
    "Decision:",
    "Decision: **",
    "[Decision](x.md) the text",
    "[Decision]the text",
    "[ Decision ] the text",
    "Decision/Resolution of it",
    "| Decision: the text | b |\n|---|---|\n| Owner: Ana | c |",
    "```\nDecision: the text\n```",
    "    Decision: the text",
    "<!-- Decision: the text -->",
    "<!--\nDecision: the text\n-->",
    "%%\nDecision: the text\n%%",
    "---\nOwner: Ana\nDue: 2026-06-16\n---",
]


@pytest.mark.parametrize("text", NEAR_MISSES, ids=ascii)
def test_prose_is_no_labelled_line(text: str) -> None:
    assert items_of(f"{text}\n") == []


EMPTY_LABELS = [
    ("nested", "- Decision:\n  - one\n  - two\n- other\n", [(2, "one"), (3, "two")]),
    ("nested by a tab", "- **Decision:**\n\t- one\n", [(2, "one")]),
    ("nested numbers", "1. Decision:\n   1. one\n   2. two\n", [(2, "one"), (3, "two")]),
    ("nested behind a blank line", "- Decision:\n\n  - one\n", [(3, "one")]),
    ("right behind a paragraph", "Decision:\n- one\n- two\n\nend\n", [(2, "one"), (3, "two")]),
    ("behind a blank line", "Decision:\n\n- one\n", [(3, "one")]),
    ("in a quote", "> Decision:\n> - one\n", [(2, "one")]),
    ("only the first depth", "- Decision:\n  - one\n    - why\n", [(2, "one")]),
    ("ended by text", "Decision:\n- one\n\ntext\n\n- two\n", [(2, "one")]),
    ("siblings are not its own", "- Decision:\n- other\n", []),
    ("nothing below", "- Decision:\n\ntext\n", []),
    ("a heading between", "Decision:\n\n# H\n\n- other\n", []),
    ("a fence between", "Decision:\n```\n- other\n```\n", []),
]


@pytest.mark.parametrize(
    ("text", "items"), [pytest.param(*case[1:], id=case[0]) for case in EMPTY_LABELS]
)
def test_an_empty_label_takes_its_nested_bullets(text: str, items: list[tuple[int, str]]) -> None:
    assert found(text) == [(line, "decision", words) for line, words in items]


def test_boxes_under_an_empty_label_stay_tasks() -> None:
    assert found("- Action items:\n  - [ ] one\n  - two\n") == [
        (2, "task", "one"),
        (3, "action", "two"),
    ]


def test_labels_in_the_settings_replace_those_of_their_kind() -> None:
    labels = {**LABELS, "decision": ("Beschlossen",)}
    items = items_of("Beschlossen: ja\n\nDecision: yes\n\nOwner: Ana\n", labels=labels)
    assert [(item.kind, item.text) for item in items] == [
        ("decision", "Beschlossen: ja"),
        ("owner", "Owner: Ana"),
    ]


# -- headings that make decisions and actions ------------------------------------------------------

UNDER_HEADINGS = [
    ("bullets", "## Decision\n\n- one\n- two\n", [(3, "decision", "one"), (4, "decision", "two")]),
    ("bullets in stars", "## Resolution\n* one\n", [(2, "decision", "one")]),
    ("numbers", "## Conclusions\n1. one\n", [(2, "decision", "one")]),
    ("underlined", "Decision\n---\n\n- one\n", [(4, "decision", "one")]),
    ("an emoji before", "## ✅ Decision\n\n- one\n", [(3, "decision", "one")]),
    ("a date behind", "### Decision (2026-06-16)\n\n- one\n", [(3, "decision", "one")]),
    ("two words", "## Conclusion/Resolution\n\n- one\n", [(3, "decision", "one")]),
    ("bold line", "**Decisions**\n\n- one\n", [(3, "decision", "one")]),
    ("bold line with a colon", "**Decisions:**\n- one\n", [(2, "decision", "one")]),
    (
        "the first paragraph",
        "## Decision\n\nWe move billing to\nMizuhara in July.\n\nThis took some time.\n",
        [(3, "decision", "We move billing to"), (4, "decision", "Mizuhara in July.")],
    ),
    ("nothing", "## Decision\n\n## Next\n\n- one\n", []),
    ("until the next heading", "## Decision\n- one\n### Why\n- two\n", [(2, "decision", "one")]),
    ("not nested ones", "## Decision\n- one\n  - why\n", [(2, "decision", "one")]),
    ("not in a fence", "## Decision\n\n```\n- one\n```\n", []),
    ("not in a comment", "## Decision\n\n<!--\n- one\n-->\n", []),
    ("another word", "## Decisive\n\n- one\n", []),
    ("a compound", "## Decision-making in teams of twenty people\n\n- one\n", []),
    ("in the middle", "## The decision\n\n- one\n", []),
    ("actions", "## Action items\n\n- one\n* two\n", [(3, "action", "one"), (4, "action", "two")]),
    ("next steps", "## Next steps\n\n1. one\n", [(3, "action", "one")]),
    ("to do", "### TODO:\n- one\n", [(2, "action", "one")]),
    ("to do, apart", "### To do\n- one\n", [(2, "action", "one")]),
    ("follow-up", "## Follow-ups\n- one\n", [(2, "action", "one")]),
    ("a bold line of actions", "**Action items**\n- one\n", [(2, "action", "one")]),
    ("German", "## Nächste Schritte\n- one\n", [(2, "action", "one")]),
    (
        "lines of a paragraph",
        "## Next steps\n\nAna calls them.\n",
        [(3, "action", "Ana calls them.")],
    ),
    (
        "boxes stay tasks",
        "## Action items\n- [ ] one\n- [x] two\n- three\n",
        [(2, "task", "one"), (3, "task", "two"), (4, "action", "three")],
    ),
    ("a label wins", "## Next steps\n- Decision: one\n", [(2, "decision", "Decision: one")]),
    ("not nested actions", "## Action items\n- one\n  - how\n", [(2, "action", "one")]),
    ("not those nested by a tab", "## Action items\n- one\n\t- how\n", [(2, "action", "one")]),
    ("no action heading", "## Actionscript\n- one\n", []),
    ("how to decide", "# Decision making guide\n\nHow we decide.\n", []),
    ("a template", "## Decision template\n- one\n", []),
    ("a sentence", "## Next steps in the life of a long and winding river of words\n- one\n", []),
]


@pytest.mark.parametrize(
    ("text", "items"), [pytest.param(*case[1:], id=case[0]) for case in UNDER_HEADINGS]
)
def test_headings_make_their_bullets_or_first_paragraph_decisions_and_actions(
    text: str, items: list[tuple[int, str, str]]
) -> None:
    assert found(text) == items


def test_the_form_of_an_item_says_where_its_kind_comes_from() -> None:
    text = (
        "## Next steps\n- one\n\n## Decision\n- two\n\n## Notes\n\nDecision: three\n\n- [ ] four\n"
    )
    assert [(item.text, item.form) for item in items_of(text)] == [
        ("one", "bullet"),
        ("two", "heading"),
        ("Decision: three", "label"),
        ("four", ""),
    ]


@pytest.mark.parametrize("field", ["status_words", "action_headings", "decision_headings"])
def test_an_empty_list_of_words_switches_its_kind_off(field: str) -> None:
    text = (
        "## 2026-06-16 Status\n- one\n\n## 🎉 Party\n- two\n\n"
        "## Next steps\n- three\n\n## (old)\n- four\n"
    )
    switched_off: dict[str, Any] = {field: ()}
    note = parse_note("a.md", text.encode(), Settings(**switched_off))
    kept = [("action", "three")] if field != "action_headings" else []
    assert [(item.kind, item.text) for item in note.items] == kept
    assert note.statuses == ()


def test_no_labels_at_all_find_nothing() -> None:
    none: dict[str, tuple[str, ...]] = dict.fromkeys(LABELS, ())
    assert items_of(": text\n\nDecision: text\n\n- - text\n", labels=none) == []


# -- owners, due days, dates -----------------------------------------------------------------------

OWNERS = [
    ("- [ ] [Ana] call", ("Ana",)),
    ("- [ ] **[Ana Diaz]** call", ("Ana Diaz",)),
    ("- [ ] [Ana, Ben] call", ("Ana", "Ben")),
    ("- [ ] [Ana & Ben] call", ("Ana", "Ben")),
    ("- [ ] [Ana and Ben] call", ("Ana", "Ben")),
    ("- [ ] @ana call", ("ana",)),
    ("- [ ] call (@ana, @ben-2)", ("ana", "ben-2")),
    ("- [ ] @ana and @ana call", ("ana",)),
    ("- [ ] call, owner: Ana", ("Ana",)),
    ("- [ ] call (Owner: Ana Diaz)", ("Ana Diaz",)),
    ("- [ ] call **Owner:** Ana, due 2026-07-01", ("Ana",)),
    ("- [ ] call [owner:: Ana]", ("Ana",)),
    ("- [ ] call [assignee:: Ana Diaz] soon", ("Ana Diaz",)),
    ("Owner: Ana", ("Ana",)),
    ("**Owner:** Ana Diaz", ("Ana Diaz",)),
    ("- DRI: Ana and Ben", ("Ana", "Ben")),
    ("Assignee: @ana", ("ana",)),
    ("- [ ] call", ()),
    ("- [ ] mail ana@example.com", ()),
    ("- [ ] read https://example.com/@ana/x", ()),
    ("- [ ] run `@decorator`", ()),
    ("- [ ] [urgent] call", ()),
    ("- [ ] [P1] call", ()),
    ("- [ ] [WIP] call", ()),
    ("- [ ] [the plan](plan.md) call", ()),
    ("Owner: TBD", ()),
]


@pytest.mark.parametrize(("line", "owners"), OWNERS)
def test_owners_are_read_from_each_form(line: str, owners: tuple[str, ...]) -> None:
    (item,) = items_of(f"{line}\n")
    assert item.owners == owners


DUES = [
    ("- [ ] call, due 2026-07-01", "2026-07-01"),
    ("- [ ] call, due: 2026-07-01", "2026-07-01"),
    ("- [ ] call (due 1 July 2026)", "2026-07-01"),
    ("- [ ] call (due: July 1, 2026)", "2026-07-01"),
    ("- [ ] call by 2026-07-01", "2026-07-01"),
    ("- [ ] call by July 1st 2026", "2026-07-01"),
    ("- [ ] call until 2026/07/01", "2026-07-01"),
    ("- [ ] call, deadline 2026-07-01", "2026-07-01"),
    ("- [ ] anrufen bis 1. Juli 2026", "2026-07-01"),
    ("- [ ] anrufen, fällig 01.07.2026", "2026-07-01"),
    ("- [ ] call 📅 2026-07-01", "2026-07-01"),
    ("- [ ] call [due:: 2026-07-01]", "2026-07-01"),
    ("- [ ] due 2026-07-01: call", "2026-07-01"),
    ("- [ ] by 1 July 2026: call", "2026-07-01"),
    ("- [ ] approved by the whole steering committee, due 2026-07-01", "2026-07-01"),
    ("- [ ] Owner: Ana, Due: 2026-07-01", "2026-07-01"),
    ("Due: 2026-07-01", "2026-07-01"),
    ("**Deadline:** Wednesday, 1 July 2026", "2026-07-01"),
    ("- [ ] call", ""),
    ("- [ ] talk about 2026-07-01", ""),
    ("- [ ] due to the rain of 2026, call", ""),
    ("- [ ] call by 02/09/2026", ""),
    ("- [ ] call by July 2026", ""),
    ("Due: soon", ""),
]


@pytest.mark.parametrize(("line", "due"), DUES)
def test_due_days_are_read_from_each_form(line: str, due: str) -> None:
    (item,) = items_of(f"{line}\n")
    assert item.due == due


def test_an_order_of_dates_decides_a_due_day() -> None:
    (item,) = items_of("- [ ] call by 02/09/2026\n", date_order="dmy")
    assert item.due == "2026-09-02"


ITEM_DATES = [
    ("no dated heading", "a.md", "# A\n- [ ] x\n", [""]),
    ("the heading above", "a.md", "# 2026-06-16\n- [ ] x\n", ["2026-06-16"]),
    ("the nearest", "a.md", "# 2026-06-16\n## 2026-06-09\n- [ ] x\n", ["2026-06-09"]),
    ("a heading between", "a.md", "# 2026-06-16\n## Tasks\n- [ ] x\n", ["2026-06-16"]),
    ("a bold line", "a.md", "**2026-06-16**\n\n- [ ] x\n", ["2026-06-16"]),
    ("one that has ended", "a.md", "## 2026-06-16\n- [ ] x\n# B\n- [ ] y\n", ["2026-06-16", ""]),
    (
        "the outer one, when the inner has ended",
        "a.md",
        "# Call 2026-06-16\n## Review of 2026-06-09\n- [ ] x\n## Next\n- [ ] y\n",
        ["2026-06-09", "2026-06-16"],
    ),
    ("the year of the folder", "2024/calls.md", "## April 25\n- [ ] x\n", ["2024-04-25"]),
]


@pytest.mark.parametrize(
    ("path", "text", "dates"), [pytest.param(*case[1:], id=case[0]) for case in ITEM_DATES]
)
def test_an_item_is_dated_by_the_nearest_dated_heading_it_stands_under(
    path: str, text: str, dates: list[str]
) -> None:
    tasks = [item for item in items_of(text, path) if item.kind == "task"]
    assert [item.date for item in tasks] == dates


def test_an_item_is_read_whole() -> None:
    text = "# Call 2026-06-16\n\n- [/] **[Ana]** Action: send the offer (due 1 July 2026) @ben\n"
    assert items_of(text) == [
        Item(
            line=3,
            kind="task",
            text="**[Ana]** Action: send the offer (due 1 July 2026) @ben",
            state="/",
            owners=("Ana", "ben"),
            due="2026-07-01",
            date="2026-06-16",
        )
    ]


# -- standing lines --------------------------------------------------------------------------------

STANDING = [
    ("We meet every Tuesday at 16:00 UTC in the blue room.", "rhythm"),
    ("- **Chair**: Ana Diaz", "rhythm"),
    ("Last updated by Ana: 2026-06", "rhythm"),
    ("Questions go to platform@example.com, please.", "contact"),
    ("Reach out to Ana on Slack in #platform.", "contact"),
    ("Every release must be approved by two reviewers.", "rule"),
]


@pytest.mark.parametrize(("line", "kind"), STANDING)
def test_standing_lines_are_items_of_undated_notes_only(line: str, kind: str) -> None:
    text = f"# Handbook\n\n{line}\n"
    undated = items_of(text, "handbook.md")
    assert [(item.line, item.kind) for item in undated] == [(3, kind)]
    assert kind not in {item.kind for item in items_of(text, "2026-06-16.md")}


@pytest.mark.parametrize(
    "text",
    [
        "Please be kind to everybody who has come along with you to the meeting, and you\nmust be on time.\n",
        "- Be kind to everybody\n  who must be heard.\n",
        "(teams:must-read)=\n",
        ":::{admonition} You must read this\n",
    ],
    ids=["wrapped", "wrapped in a list", "target", "directive"],
)
def test_what_says_nothing_alone_is_no_standing_line(text: str) -> None:
    found = items_of(f"# Handbook\n\n{text}", "handbook.md")
    assert not {"rule", "rhythm", "contact"} & {item.kind for item in found}


def test_a_list_in_lower_case_is_standing() -> None:
    found = items_of("# Handbook\n\n- two people must review\n- you must be on time\n", "h.md")
    assert [item.line for item in found if item.kind == "rule"] == [3, 4]


# -- status blocks ---------------------------------------------------------------------------------

STATUSES = [
    # heading, date, time
    ("Status", "", ""),
    ("STATUS", "", ""),
    ("status:", "", ""),
    ("Status: green", "", ""),
    ("Weekly status Jun 16, 2026", "2026-06-16", ""),
    ("STATUS (2026-06-16)", "2026-06-16", ""),
    ("STATUS (2026-06-16 · 11:18 ET)", "2026-06-16", "11:18"),
    ("STATUS 2026-06-16", "2026-06-16", ""),
    ("STATUS — 2026-06-16 16:40", "2026-06-16", "16:40"),
    ("Status [2026-06-16]: green", "2026-06-16", ""),
    ("Status | June 16th 2026", "2026-06-16", ""),
    ("Status, Tuesday, 16 June 2026", "2026-06-16", ""),
    ("Status Tuesday 2026-06-16", "2026-06-16", ""),
    ("Status Jun 16, 2026", "2026-06-16", ""),
    ("Status: the pilot is live since 2026-06-16", "2026-06-16", ""),
    ("Current status", "", ""),
    ("Latest status (2026-06-16)", "2026-06-16", ""),
    ("CURRENT STATUS — 2026-06-16", "2026-06-16", ""),
    ("Status update", "", ""),
    ("Status update 2026-06-16", "2026-06-16", ""),
    ("Status report: June 2026", "2026-06", ""),
    ("Status as of 2026-06-16", "2026-06-16", ""),
    ("Status as of 2026-06-16T11:18:00-04:00", "2026-06-16", "11:18"),
    ("🚦 Status", "", ""),
    ("🚦🚦 **STATUS** (2026-06-16)", "2026-06-16", ""),
    ("ℹ️ Status (2026-06-16)", "2026-06-16", ""),
    ("1️⃣ Status (2026-06-16)", "2026-06-16", ""),
    ("✅ Current status", "", ""),
    ("_Status_", "", ""),
    ("[Status](status.md) 2026-06-16", "2026-06-16", ""),
    ("[Status]", "", ""),
    (">> Status", "", ""),
    ("Stand 16. Juni 2026", "2026-06-16", ""),
    ("Stand: 16.06.2026", "2026-06-16", ""),
    ("Aktueller Stand", "", ""),
    ("Statut au 16 juin 2026", "2026-06-16", ""),
    ("Estado (16 de junio de 2026)", "2026-06-16", ""),
    ("現状（2026-04-27時点）", "2026-04-27", ""),
    ("【現状】2026年6月16日", "2026-06-16", ""),
    ("当前状态：2026年6月16日", "2026-06-16", ""),
]
TOPICS = [
    "Status codes",
    "Status codes 404 and 500 (2026-06-19)",
    "Status quo of the network (2026-06-19)",
    "Status page 2 goes live (2026-06-19)",
    "Status monitoring rollout (2026-06-19)",
    "Status sundown plan (2026-06-19)",
    "Status of the network",
    "Project Status Meeting notes",
    "Project status (2026-06-19)",
    "HTTP status",
    "Statuses",
    "Status-quo",
    "Statusbericht",
    "Status_code",
    "status42",
    "Stand-up 2026-06-16",
    "Standup 2026-06-16",
    "Stand up notes (2026-06-16)",
    "Stand by (2026-06-16)",
    "Standards",
    "Statute of limitations",
    "The latest status",
    "Status update templates",
    "Status report format",
    "Latest news",
    "2026-06-16 Status",
    "現状維持",
]


# Without the marks of a heading some of them would read as a quote, a number or a link.
UNDERLINED = [case for case in STATUSES if not case[0].startswith((">", "1️", "[Status]("))]


@pytest.mark.parametrize(
    ("form", "heading", "date", "clock"),
    [("## {}\n\ntext\n", *case) for case in STATUSES]
    + [("{}\n---\n\ntext\n", *case) for case in UNDERLINED],
)
def test_a_status_heading_is_known_with_its_date_and_time(
    form: str, heading: str, date: str, clock: str
) -> None:
    text = form.format(heading)
    note = parse_note("a.md", text.encode(), Settings())
    last = text.count("\n")
    assert note.statuses == (StatusBlock(1, last, heading, date, clock, ambiguous=False),)


@pytest.mark.parametrize("heading", TOPICS)
def test_a_topic_is_no_status(heading: str) -> None:
    assert parse_note("a.md", f"## {heading}\n\ntext\n".encode(), Settings()).statuses == ()


@pytest.mark.parametrize(
    "text",
    [
        "```\n## Status 2026-06-16\n```\n",
        "<!--\n## Status 2026-06-16\n-->\n",
        "%%\n## Status 2026-06-16\n%%\n",
        "    ## Status 2026-06-16\n",
        "> ## Status 2026-06-16\n",
        "Status 2026-06-16\n",
        "**Status 2026-06-16**\n",
        "---\n## Status: x\ntitle: y\n---\n",
    ],
    ids=ascii,
)
def test_a_status_is_a_real_heading(text: str) -> None:
    assert parse_note("a.md", text.encode(), Settings()).statuses == ()


BLOCKS = [
    ("to the end", "# A\n## Status\na\n", [(2, 3)]),
    ("without blank lines at its end", "## Status\n\na\n\n\n# B\n", [(1, 3)]),
    ("to the next of its level", "## Status\na\n## B\nb\n", [(1, 2)]),
    ("to the next above", "## Status\na\n# B\nb\n", [(1, 2)]),
    ("over those below", "## Status\na\n### B\nb\n#### C\nc\n## D\n", [(1, 6)]),
    ("over bold lines", "## Status\na\n\n**B**\n\nb\n", [(1, 6)]),
    ("nothing in it", "## Status\n## B\n", [(1, 1)]),
    ("several", "## Status 2026-06-16\na\n## Status 2026-06-09\nb\n", [(1, 2), (3, 4)]),
    ("one in another", "# Status\na\n## Status update\nb\n# B\n", [(1, 4), (3, 4)]),
    ("underlined", "Status\n===\na\n\nB\n===\n", [(1, 3)]),
    ("no heading in a fence ends it", "## Status\n```\n# a\n```\nb\n", [(1, 5)]),
    ("old Mac line ends", "## Status\ra\r## B\r", [(1, 2)]),
]


@pytest.mark.parametrize(
    ("text", "spans"), [pytest.param(*case[1:], id=case[0]) for case in BLOCKS]
)
def test_a_status_block_runs_to_the_next_heading_of_its_level_or_above(
    text: str, spans: list[tuple[int, int]]
) -> None:
    note = parse_note("a.md", text.encode(), Settings())
    assert [(status.line, status.last_line) for status in note.statuses] == spans


def test_a_date_that_reads_two_ways_is_no_date_of_a_status_until_the_order_is_set() -> None:
    text = b"## Status 02/09/2015\n"
    read = [parse_note("a.md", text, Settings(date_order=order)) for order in (None, "dmy", "mdy")]
    assert [(note.statuses[0].date, note.statuses[0].ambiguous) for note in read] == [
        ("", True),
        ("2015-09-02", False),
        ("2015-02-09", False),
    ]


def test_words_of_a_status_are_a_setting() -> None:
    text = "## Läget 2026-06-16\n\n## Status 2026-06-15\n".encode()
    note = parse_note("a.md", text, Settings(status_words=("Läget",)))
    assert [status.date for status in note.statuses] == ["2026-06-16"]


# -- phrases ----------------------------------------------------------------------------------------

_STANDING = (RHYTHM, ROLE, UPDATED, CONTACT, RULE)
_HINTS = {in_ascii: hints_of(_STANDING, in_ascii=in_ascii) for in_ascii in (False, True)}
_PIECES = (
    "must", "may not", "never", "€ 5", "5 €", "20%", "20 %", "every", "2 weeks", "Mondays", "10:30 UTC",
    "**When**", "**Chairs**", "| Lead |", "a@b.org", "slack", "#room", "[#room]", "`#room`", "led by",
    "last updated", "Stand:", "When:", "毎週", "必須", "\u0130", "\u017f", " ", "\t", "- ", ".", "(", "x",
)  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=6).map("".join))
def test_a_line_that_holds_a_phrase_fits_a_hint_in_the_whole_text(line: str) -> None:
    said = f"\n{plainly(line)[1:]}"
    if any(phrases.stand_in(plainly(line.strip())) for phrases in _STANDING):
        assert any(hint.search(said) for hint in _HINTS[said.isascii()])
