"""The forms that people write every day, each as a kind: boxes, lists under headings, tables, labels, owners, dues."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workingset_mcp.notes.lines import CANCELLED_STATES, DONE_STATES, OPEN_STATES, UNREAD_KIND, Item
from workingset_mcp.notes.note import DatedStretch, Note, parse_note
from workingset_mcp.settings import LABELS, Settings


def items_of(text: str, path: str = "2026-06-16.md") -> list[Item]:
    return list(parse_note(path, text.encode(), Settings()).items)


def said(text: str, kind: str) -> list[str]:
    """The texts of the items of one kind."""
    return [item.text for item in items_of(text) if item.kind == kind]


# -- boxes -----------------------------------------------------------------------------------------

BOXES = [
    *((f"- [{sign}] x", sign) for sign in ' /!?*~+=."bcdfiklnpuwIS'),
    *((f"- [{sign}] x", sign) for sign in "xX-><"),
    ("- \\[ \\] x", " "), ("* \\[x\\] x", "x"), ("☐ x", " "), ("- ☐ x", " "), ("☑ x", "x"), ("☒ x", "x"),
    ("- □ x", " "), ("- ✓ x", "x"), ("- ⬜ x", " "), ("• ☐ x", " "),
    ("- TODO x", " "), ("* LATER x", " "), ("- NOW x", " "), ("- DOING x", "/"), ("- DONE x", "x"),
    ("- CANCELED x", "-"), ("** TODO x", " "), ("- WAITING x", " "),
]  # fmt: skip


@pytest.mark.parametrize(("line", "state"), BOXES)
def test_a_box_is_read_however_it_is_drawn(line: str, state: str) -> None:
    [item] = items_of(f"# Tasks\n\n{line}\n")
    assert (item.kind, item.state, item.text) == ("task", state, "x")


def test_every_state_of_a_box_is_open_done_or_cancelled_and_only_one_of_them() -> None:
    states = [*OPEN_STATES, *DONE_STATES, *CANCELLED_STATES]
    assert len(states) == len(set(states))
    assert {state for _, state in BOXES} <= set(states)


@pytest.mark.parametrize(
    "line", ["✅ Decision: sign", "- ✅ Decision: sign", "✔ **Decision:** sign"]
)
def test_a_sign_before_a_label_is_no_box(line: str) -> None:
    assert [item.kind for item in items_of(f"# N\n\n{line}\n")] == ["decision"]


@pytest.mark.parametrize("line", ["□ 项目", "✓ works"])
def test_a_sign_that_may_be_a_bullet_is_a_box_only_in_a_list_or_below_a_heading_of_actions(
    line: str,
) -> None:
    assert items_of(f"# Notes\n\n{line}\n") == []
    [item] = items_of(f"# Action items\n\n{line}\n")
    assert item.kind == "task"


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("- [ ] ~~send it~~", "x"), ("- [ ] **~~send it~~**", "x"), ("- [ ] send ~~it~~ them", " "),
        ("- [ ] send it ❌ 2026-06-01", "-"), ("- [ ] send it 🔁 every week 📅 2026-06-20", " "),
        ("- [x] send it ✅ 2026-06-01", "x"),
    ],
)  # fmt: skip
def test_what_is_struck_is_done_and_what_is_cancelled_is_not_open(line: str, state: str) -> None:
    [item] = items_of(f"{line}\n")
    assert item.state == state


ATTENDANCE = [
    "Attendees", "Attendance", "Present", "Apologies", "Regrets", "Members present", "Voting members present",
    "Anwesend", "Entschuldigt", "Teilnehmer", "Présents", "Excusés", "Asistentes", "Presenti", "Presentes",
    "Aanwezig", "Obecni", "出席者", "参会人员", "참석자", "Guests", "Roll call",
]  # fmt: skip


@pytest.mark.parametrize("word", ATTENDANCE)
@pytest.mark.parametrize("form", ["## {}\n\n", "**{}**\n\n", "{}:\n", "### 👥 {}:\n\nVoting:\n"])
def test_boxes_that_tick_who_is_present_are_no_work(word: str, form: str) -> None:
    text = f"# Minutes\n\n{form.format(word)}- [ ] Ada Lind\n* [x] Kim Roe\n\n## Action items\n\n- [ ] tag it\n"
    assert [(item.kind, item.text) for item in items_of(text)] == [("task", "tag it")]


@pytest.mark.parametrize("path", ["templates/minutes.md", "Vorlage.md", "meeting-template.md"])
def test_the_boxes_of_a_template_are_nobodys_work(path: str) -> None:
    assert items_of("# T\n\n- [ ] fill in\n\n[ ] sign\n", path) == []


@pytest.mark.parametrize(
    "line", ["[ ] x", "- [] x", "- [ ]x", "- [  ] x", "[x] x", "| a | b |\n|---|---|\n| 1 | [ ] y |"]
)  # fmt: skip
def test_what_looks_like_a_box_and_is_not_read_as_one_is_told(line: str) -> None:
    kinds = {item.kind for item in items_of(f"# N\n\n{line}\n")}
    assert kinds == {UNREAD_KIND}


@pytest.mark.parametrize(
    "line", ["- [x](y.md) z", "[x]: http://a", "- [ ]", "a [ ] b", "`[ ] x`", "- [ab] x", "text [x] y"]
)  # fmt: skip
def test_what_looks_like_no_box_is_not_told(line: str) -> None:
    assert items_of(f"# N\n\n{line}\n") == []


# -- headings --------------------------------------------------------------------------------------

HEADINGS = {
    "action": [
        "Action items", "7. Action Items", "7.2 Action items", "II. Action items", "✅ Action items", "Open actions",
        "Agreed actions", "New Action Items", "Next steps for us", "Our next steps", "Action items (carried over)",
        "Nächste Schritte", "Offene Aufgaben", "Prochaines étapes", "Actions à mener", "Próximos pasos", "Tareas",
        "Prossimi passi", "Azioni", "Próximos passos", "Ações", "Volgende stappen", "Actiepunten", "Następne kroki",
        "Zadania", "次のステップ", "宿題", "下一步", "待办事项", "다음 단계", "할 일",
    ],
    "decision": [
        "Decisions", "8. Decisions", "Key decisions", "Key Decisions Made", "Decisions taken", "⚖️ Decisions",
        "Conclusion/Resolution", "Beschlüsse", "Gefasste Beschlüsse", "Décisions", "Decisiones", "Acuerdos",
        "Decisioni", "Decisões", "Besluiten", "Decyzje", "決定事項", "决议", "결정 사항",
    ],
    "blocker": ["Blockers", "3. Blockers", "🚧 Blockers", "Risks", "Key risks", "Risiken", "Blocages", "Riesgos", "风险"],
}  # fmt: skip


FORMS = ["## {}", "**{}**", "**{}:**", "### {}:", "{}\n-----", "- ## {}"]


@pytest.mark.parametrize(
    ("kind", "heading", "form"),
    [
        (kind, heading, form)
        for kind, headings in HEADINGS.items()
        for heading in headings
        for form in FORMS
        if not (heading[0].isdecimal() and form.startswith("{}"))  # a number there begins a list
    ],
)
def test_a_heading_with_other_words_a_number_or_an_emoji_makes_its_bullets_items(
    kind: str, heading: str, form: str
) -> None:
    indent = "  " if form.startswith("- ") else ""
    text = f"# Call\n\n{form.format(heading)}\n\n{indent}- first thing\n{indent}- second thing\n"
    assert said(text, kind) == ["first thing", "second thing"]


@pytest.mark.parametrize(
    "heading",
    [
        "Completed actions", "Past action items", "Erledigte Aufgaben", "Closed action items", "Open decisions",
        "Pending decisions", "Decision making", "Decisions needed", "How decisions are made", "No blockers",
        "Writing action items", "The decision", "Interactions", "Reactions to the plan", "Riskless",
    ],
)  # fmt: skip
def test_a_heading_that_says_something_else_makes_no_items(heading: str) -> None:
    assert items_of(f"# Call\n\n## {heading}\n\n- first thing\n") == []


def test_bullets_below_a_person_are_that_persons() -> None:
    text = (
        "# Call\n\nWith Ada Lind\n\n## Action items\n\n- **Mira Olsen**\n  - write the letter\n  - [ ] call the notary\n"
        "- Jonas Petz:\n  - book the room\n- order badges\n\n@kim\n- paint the door\n\n**Ada Lind**\n\n- lock up\n"
    )
    found = [(item.kind, item.text, item.owners) for item in items_of(text)]
    assert found == [
        ("action", "write the letter", ("Mira Olsen",)), ("task", "call the notary", ("Mira Olsen",)),
        ("action", "book the room", ("Jonas Petz",)), ("action", "order badges", ()),
        ("action", "paint the door", ("kim",)), ("action", "lock up", ("Ada Lind",)),
    ]  # fmt: skip


def test_headings_that_part_a_list_of_actions_keep_its_kind() -> None:
    text = "# C\n\n## Next steps\n\n### This week\n\n- one thing\n\n### Background\n\n- no item\n"
    assert said(text, "action") == ["one thing"]


# -- tables ----------------------------------------------------------------------------------------


def test_rows_below_a_heading_of_actions_are_items_with_owner_and_due() -> None:
    text = (
        "# Sync\n\n## Action items\n\n| no | Action | Owner | Due | Status |\n|---|---|---|---|---|\n"
        "| 1 | Send the quote | Mira Olsen, @jonas | 2026-06-24 | open |\n| 2 | Sign | TBD | | done |\n| 3 | n/a | | | |\n"
    )
    [item] = items_of(text)
    assert item == Item(
        7, "action", "1 | Send the quote | Mira Olsen, @jonas | 2026-06-24 | open", "row",
        owners=("Mira Olsen", "jonas"), due="2026-06-24",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("| Task | Who | When |", ""), ("| Action | Who | When |", "action"), ("| Aufgabe | Wer | Bis |", "action"),
        ("| Tarea | Responsable | Plazo |", "action"), ("| Decision | Owner | Date |", "decision"),
        ("| Entscheidung | Datum | Wer |", "decision"), ("| Risk | Owner | Due |", ""), ("| Finding | Verdict | Owner |", ""),
        ("| 行动项 | 负责人 | 截止日期 |", "action"), ("| Action | Effect | Colour |", ""), ("| Name | Email | Role |", ""),
    ],
)  # fmt: skip
def test_a_header_alone_makes_rows_items_where_it_names_more_than_the_thing(
    head: str, kind: str
) -> None:
    text = f"# Sync\n\n{head}\n|---|---|---|\n| Send the quote | Mira Olsen | 2026-06-24 |\n"
    assert [item.kind for item in items_of(text)] == ([kind] if kind else [])


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "word"), [(kind, word) for kind, words in LABELS.items() for word in words]
)
@pytest.mark.parametrize(
    "form", ["{}: x y", "- {}: x y", "**{}:** x y", "**{}**: x y", "🔥 {}: x y", "- ⚠️ **{}:** x y", "{} 2: x y", "{}-214: x y"]
)  # fmt: skip
def test_a_label_is_read_in_every_language_with_a_number_an_emoji_or_in_bold(
    kind: str, word: str, form: str
) -> None:
    [item] = items_of(f"# N\n\n{form.format(word)}\n")
    assert item.kind == kind


NOTHING = [
    "none", "None.", "n/a", "N/A", "-", "–", "nothing", "no blockers", "none so far", "keine", "keiner", "nichts",
    "aucun", "aucune", "ninguno", "nessuno", "nenhum", "geen", "brak", "なし", "特になし", "无", "暂无", "없음",
]  # fmt: skip


@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize(
    "form", ["Blocker: {}", "**Blocker:** {}", "- **Decision**: {}", "🔥 Next step: *{}*"]
)
def test_a_label_that_only_says_that_there_is_none_is_none(form: str, nothing: str) -> None:
    assert items_of(f"# N\n\n{form.format(nothing)}\n") == []


@pytest.mark.parametrize(
    "text",
    ["no room left in the harbour office", "none of them signed", "nothing works since Monday"],
)
def test_a_label_that_says_more_than_none_is_kept(text: str) -> None:
    assert said(f"Blocker: {text}\n", "blocker") == [f"Blocker: {text}"]


# -- owners ----------------------------------------------------------------------------------------

OWNERS = [
    ("- [ ] Mira: tag it", ("Mira",)), ("- [ ] **Mira Olsen**: tag it", ("Mira Olsen",)),
    ("- [ ] **Mira Olsen:** tag it", ("Mira Olsen",)), ("- [ ] Mira and Jonas: tag it", ("Mira", "Jonas")),
    ("- [ ] Mira/Jonas: tag it", ("Mira", "Jonas")), ("- [ ] tag it (owner:: Mira)", ("Mira",)),
    ("- [ ] tag it [owner:: Mira]", ("Mira",)), ("- [ ] tag it, assigned to Mira Olsen", ("Mira Olsen",)),
    ("- [ ] Mira to write it", ("Mira",)), ("- [ ] Mira Olsen will write it", ("Mira Olsen",)),
    ("- [ ] @Mira Olsen: write it", ("Mira Olsen",)), ("- [ ] write it @[[Mira Olsen]]", ("Mira Olsen",)),
    ("- [ ] write it (@mira, @jonas-2)", ("mira", "jonas-2")), ("- [ ] Anna van der Berg: write it", ("Anna van der Berg",)),
    ("- [ ] Owners: Mira, Jonas", ("Mira", "Jonas")), ("- [ ] schreiben, zuständig: Mira", ("Mira",)),
]  # fmt: skip


@pytest.mark.parametrize(("line", "owners"), OWNERS)
def test_owners_are_read_in_the_forms_of_minutes(line: str, owners: tuple[str, ...]) -> None:
    [item] = items_of(f"{line}\n")
    assert item.owners == owners


@pytest.mark.parametrize(
    "line",
    [
        "- [ ] Note: it is nobody's", "- [ ] Budget: ask again", "- [ ] API: rename it", "- [ ] [Cisco] renew it",
        "- [ ] [docs] fix it", "- [ ] Need to write it", "- [ ] Next week: write it", "- [ ] Linux to be dropped",
        "- [ ] @here write it", "- [ ] https://a.b/@c write it", "- [ ] Follow up: write it", "- [ ] Backend: the backend is slow",
    ],
)  # fmt: skip
def test_what_is_no_person_owns_nothing(line: str) -> None:
    [item] = items_of(f"{line}\n")
    assert item.owners == ()


# -- due days --------------------------------------------------------------------------------------

DUES = [
    "📅 2026-06-22", "📆 2026-06-22", "🗓 2026-06-22", "🗓️ 2026-06-22", "⏳ 2026-06-22", "🛫 2026-06-22", "@due(2026-06-22)",
    "(due:: 2026-06-22)", "[due:: 2026-06-22]", '<time datetime="2026-06-22">Monday</time>', "by Monday 22 June",
    "(due 6/22)", "(due June 22)", "bis 22. Juni", "due: 2026-06-22", "avant le 22 juin 2026", "para el 22 de junio",
    "entro il 22 giugno", "até 22 de junho", "vóór 22 juni", "przed 22.06.2026", "6月22日まで", "6月22日之前", "6월 22일까지",
    "DEADLINE: <2026-06-22 Mon>",
]  # fmt: skip


@pytest.mark.parametrize("due", DUES)
def test_a_due_day_is_read_in_every_form(due: str) -> None:
    [item] = items_of(f"# Call 2026-06-16\n\n- [ ] send it {due}\n")
    assert item.due == "2026-06-22"


def test_a_due_day_counts_before_a_planned_one() -> None:
    [item] = items_of("- [ ] send it ⏳ 2026-06-20 📅 2026-06-22\n")
    assert item.due == "2026-06-22"


def test_a_day_without_a_year_lies_ahead_of_its_note() -> None:
    [item] = items_of("- [ ] send it by 12 January\n", "2026-12-20.md")
    assert item.due == "2027-01-12"


@given(st.text(st.sampled_from("-*•☐☑[]() xX:|~@#\n\tABab12日年📅✅\\"), max_size=80))
def test_any_text_is_read_and_each_item_names_a_line_of_it(text: str) -> None:
    lines = parse_note("a.md", text.encode(), Settings()).line_count
    assert all(1 <= item.line <= lines for item in items_of(text, "a.md"))


@pytest.mark.parametrize(
    "text",
    [
        "# Open items\n\nOne list for both sides, read every Monday.\n\n## Ours\n\n- [ ] paint the gate\n",
        "# N\n\n## Action items\n\nWhat we owe them:\n\n- [ ] paint the gate\n",
    ],
)
def test_a_line_that_introduces_a_list_is_no_action(text: str) -> None:
    assert [item.kind for item in items_of(text)] == ["task"]


def test_actions_below_a_label_without_text_are_bullets() -> None:
    found = [(i.text, i.form) for i in items_of("# Call\n\n**To do:**\n- paint the gate\n")]
    assert found == [("paint the gate", "bullet")]


# -- days ------------------------------------------------------------------------------------------


def note_of(text: str, path: str = "a.md") -> Note:
    return parse_note(path, text.encode(), Settings())


DATED_LINES = [
    "Date: 2021-05-11", "**Date:** 2021-05-11", "**Date**: 2021-05-11", "- Date: 2021-05-11", "* Date: May 11, 2021",
    "Last updated: 2021-05-11", "_Last updated: 11 May 2021_", "Updated: 2021-05-11", "Last reviewed on: 2021-05-11",
    "*Status: PLANNED (2021-05-11)*", "| Date | 2021-05-11 |", "> Meeting date: 2021-05-11",
    "Datum: 11.05.2021", "Zuletzt aktualisiert: 11. Mai 2021", "Stand: 11.05.2021", "Mis à jour : 2021-05-11",
    "Fecha: 2021-05-11", "Data: 2021-05-11", "Aggiornato: 2021-05-11", "Atualizado: 2021-05-11",
    "Laatst bijgewerkt: 2021-05-11", "Zaktualizowano: 2021-05-11", "日期：2021年5月11日", "更新日: 2021-05-11", "날짜: 2021년 5월 11일",
]  # fmt: skip


@pytest.mark.parametrize("line", DATED_LINES)
def test_a_line_near_the_top_dates_its_note(line: str) -> None:
    table = "\n|---|---|" if line.startswith("|") else ""
    note = note_of(f"# Use a queue\n\n{line}{table}\n\n## Context\n\nText.\n")
    assert (note.date, note.date_source) == ("2021-05-11", "line")
    assert [unit.date for unit in note.units] == ["2021-05-11"]


@pytest.mark.parametrize(
    "text",
    [
        f"# Long\n\n{'text' + chr(10) * 2}{'x' + chr(10) * 2}" * 8 + "Date: 2021-05-11\n",
        "# N\n\nUpdate the plan: moved from 2021-05-11 to some day\n",
        "# N\n\nDate of the next meeting is open, the last one was on 2021-05-11\n",
        "# N\n\n```\nDate: 2021-05-11\n```\n",
    ],
)
def test_no_other_line_dates_a_note(text: str) -> None:
    assert note_of(text).date == ""


def test_what_dates_a_note_first() -> None:
    line = "Last updated: 2026-06-20\n"
    assert note_of(f"---\ndate: 2026-06-01\n---\n# N\n\n{line}").date == "2026-06-01"
    assert note_of(f"# N\n\n{line}", "2026-06-02.md").date == "2026-06-02"
    assert note_of(f"# Call 2026-06-03\n\n{line}").date == "2026-06-03"
    assert note_of(f"# N\n\n{line}\n## Log 2026-06-04\n").date == "2026-06-20"


@pytest.mark.parametrize(
    ("field", "date"),
    [
        ("updated: 1781568000000", "2026-06-16"), ("updated: 1781568000", "2026-06-16"),
        ("created: 1718409600000\nupdated: 1781568000000", "2026-06-16"),
        ("created: 2026-01-01\nupdated: 2026-06-16", "2026-06-16"),
        ("updated: 2026-06-20\ndate: 2026-06-16", "2026-06-16"),
        ("last_updated: 2026-06-16", "2026-06-16"), ("updated: 12", ""), ("updated: 99999999999999999", ""),
    ],
)  # fmt: skip
def test_front_matter_gives_days_also_as_unix_time(field: str, date: str) -> None:
    assert note_of(f"---\n{field}\n---\n# N\n").date == date


def test_a_month_inside_a_deeper_heading_dates_its_section_only() -> None:
    note = note_of(
        "# Architecture\n\nText.\n\n## Current structure (post July 2026 refactor)\n\nText.\n\n## Next\n"
    )
    assert note.date == ""
    assert note.units == (DatedStretch("2026-07", 5, 8),)


def test_a_log_headed_by_days_or_months_keeps_its_stretches() -> None:
    days = note_of("# Log\n\n## 2026-06-02\n\nb\n\n## 2026-06-01\n\na\n")
    assert days.date == "2026-06-02"
    assert [unit.date for unit in days.units] == ["2026-06-02", "2026-06-01"]
    assert note_of("# Log\n\n## June 2026\n\nb\n\n## May 2026\n\na\n").date == "2026-06"


@pytest.mark.parametrize(
    "text",
    [
        "# Assessment\n\n## Actors\n\n- the proxy\n\n## Actions\n\n- The proxy asks for a certificate.\n",
        "# Review\n\n## Risks\n\n- An attacker may read the cache\n",
        "# Features\n\n- ✓ Search over all boards\n- ✓ Filters\n",
        "# Plan\n\n## Action items\n\nHere stand the tasks that are left.\n\n- [x] paint\n",
    ],
)
def test_what_describes_a_system_is_no_open_work(text: str) -> None:
    assert [
        i for i in note_of(text).items if i.kind in ("action", "blocker", "task") and i.state != "x"
    ] == []
    assert "✓" not in text or note_of(text).items == ()


def test_risks_of_minutes_are_blockers() -> None:
    assert said("# Call\n\n## Risks\n\n- the crane is late\n", "blocker") == ["the crane is late"]


def test_a_subject_above_bullets_owns_none_of_them() -> None:
    found = items_of("# N\n\n## Next steps\n\n### Safety\n\n- a backup first. Safety counts.\n")
    assert [owner for item in found for owner in item.owners] == []


@pytest.mark.parametrize(
    ("bold", "owners"),
    [("**Mira Olsen**", ("Mira Olsen",)), ("**Mira**", ()), ("**@mira:**", ("mira",))],
)
def test_a_bold_person_groups_the_actions_below(bold: str, owners: tuple[str, ...]) -> None:
    text = (
        f"# N\n\n## Action items\n\n{bold}\n- write the offer\n\n**Odo Marsh**\n\n- oil the crane\n"
    )
    found = [item for item in items_of(text) if item.kind == "action"]
    assert [(item.text, item.owners) for item in found] == [
        ("write the offer", owners),
        ("oil the crane", ("Odo Marsh",)),
    ]


def test_who_was_absent_is_no_action() -> None:
    assert said("# N\n\n## Action items\n\n- call\n\n**Apologies**\n- Odo Marsh\n", "action") == [
        "call"
    ]


@pytest.mark.parametrize("sign", "§@&;»")
def test_a_box_with_an_unknown_sign_is_told_as_not_read(sign: str) -> None:
    found = items_of(f"# N\n\n- [ ] call\n- [{sign}] write\n")
    assert [(item.line, item.kind) for item in found] == [(3, "task"), (4, "unread")]


@pytest.mark.parametrize(
    "text", ["- [1] a source", "- […] and so on", "- [A] the first way", "[*] a note"]
)
def test_a_reference_is_no_box(text: str) -> None:
    assert items_of(f"# N\n\n{text}\n") == []


@pytest.mark.parametrize("line", ["**Blockers:** none", "Blocker: n/a", "**Hindernis**: keine"])
def test_a_label_that_says_none_is_no_action_of_the_heading_above(line: str) -> None:
    assert items_of(f"# N\n\n## Action items\n\n- call\n\n{line}\n")[1:] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("## Follow-ups\n\n- call Odo\n", 1), ("## Follow-up from last meeting / discussions\n\n- call Odo\n", 0),
        ("## Follow-up discussion\n\n- call Odo\n", 0), ("## Actions taken\n\n- called Odo\n", 0),
        ("## Actions for us\n\n- call Odo\n", 1),
        ("- CANCELED FOR THE HOLIDAYS\n", 0), ("- CANCELED call Odo\n", 1),
    ],
)  # fmt: skip
def test_what_was_done_or_talked_about_is_nothing_to_do(text: str, count: int) -> None:
    items = parse_note("herd/a.md", f"# Herd\n\n{text}".encode(), Settings()).items
    assert len([item for item in items if item.kind in ("task", "action")]) == count


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("- [ ] call Odo by Friday 12 June 2026", "2026-06-12"), ("- [ ] call Odo, due 2026-06-12", "2026-06-12"),
        ("- [ ] all are in it due to the 2026-06-12 change", ""),
        ("- [ ] read what was verified by the three people of the audit 2026-06-12", ""),
    ],
)  # fmt: skip
def test_a_day_is_due_only_right_behind_the_word(text: str, due: str) -> None:
    [item] = parse_note("herd/a.md", f"# Herd\n\n{text}\n".encode(), Settings()).items
    assert item.due == due
