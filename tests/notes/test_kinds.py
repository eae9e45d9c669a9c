"""Kinds of notes, and the sign by which each is known."""

import pytest

from workingset_mcp.notes.kinds import DATED, NOTE_KINDS, PAGE
from workingset_mcp.notes.note import parse_note
from workingset_mcp.settings import Settings


def kind_of(path: str, text: str) -> tuple[str, str]:
    note = parse_note(path, text.encode(), Settings())
    return note.genre, note.genre_sign


TALK = "\n\n".join(
    f"{name}: Sheep need more room, and the meadow has it. {n}"
    for n in range(10)
    for name in ("Mira", "Odo", "Ada Olsen")
)
EXAMPLES = [
    ("templates/minutes.md", "# Minutes\n\n## Attendees\n", "template", "name or folder of a template"),
    ("08-archive/barn.md", "# Barn\n", "archive", "folder 08-archive"),
    ("docs/归档/barn.md", "# Barn\n", "archive", "folder 归档"),
    ("memory-bank/activeContext.md", "# Now\n\n## Focus\n", "living status", "name activeContext"),
    ("herd/HANDOFF.md", "# Handoff\n", "living status", "name HANDOFF"),
    ("herd/README.md", "# Herd\n\n## Current status\n\nGrazing.\n", "living status", "heading Current status"),
    ("adr/0007-barn.md", "# 7. Barn\n", "decision record", "name 0007-barn"),
    (
        "notes/barn.md",
        "# Barn\n\n## Status\n\nAccepted\n\n## Context\n\n## Decision\n\n## Consequences\n",
        "decision record", "headings status, context, decision",
    ),
    ("notes/stall.md", "# Stall\n\n## Kontext\n\n## Entscheidung\n\n## Folgen\n", "decision record",
     "headings kontext, entscheidung, folgen"),
    ("ops/postmortems/flood.md", "# Flood\n\n## Timeline\n", "post-mortem", "headings timeline"),
    ("ops/flood.md", "# Flood\n\n## Impact\n\n## Root cause\n\n## Lessons learned\n", "post-mortem",
     "headings impact, root cause, lessons learned"),
    ("tasks/t-1.md", "---\nstatus: open\npriority: high\n---\n# Fence\n", "tracker entry",
     "front matter status, priority"),
    ("tasks/t-2.md", "# Fence\n\n**Status:** TODO\n**Priority:** HIGH\n", "tracker entry", "lines priority, status"),
    ("talks/2026-06-12.md", TALK, "transcript", "30 lines of 3 speakers"),
    ("herd/2026-06-12.md", "# Herd\n\n## Anwesend\n\nMira\n", "minutes", "heading Anwesend"),
    ("herd/会议/2026-06-12.md", "# Herd\n", "minutes", "folder 会议"),
    ("herd/meeting-notes/2026-06-12.md", "# Herd\n", "minutes", "folder meeting-notes"),
    ("herd/2026-06-12-agenda.md", "# Herd\n\n- fences\n", "agenda", "name 2026-06-12-agenda"),
    ("herd/dev-journal.md", "# Journal\n", "log", "name dev-journal"),
    ("herd/news.md", "## 2026-06-12\n\na\n\n## 2026-06-13\n\nb\n\n## 2026-06-14\n\nc\n", "log", "3 dated headings"),
    ("runbooks/fire.md", "# Fire\n\n1. Ring.\n", "runbook", "folder runbooks"),
    ("herd/wool.md", "# Wool\n\nSoft.\n", PAGE, "no date"),
    ("herd/2026-06-12-wool.md", "# Wool\n\nSoft.\n", DATED, "a date"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "kind", "sign"), EXAMPLES)
def test_a_note_is_of_a_kind_by_a_sign(path: str, text: str, kind: str, sign: str) -> None:
    assert kind_of(path, text) == (kind, sign)


def test_each_kind_has_an_example() -> None:
    assert {kind for *_, kind, _ in EXAMPLES} == {*(kind.name for kind in NOTE_KINDS), PAGE, DATED}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        # labels are no speakers: each stands once
        ("herd/wool.md", "\n\n".join(f"Label {chr(65 + n)}: Wool is soft." for n in range(25))),
        ("herd/wool.md", "# Wool\n\n## Decision making\n\n## Context\n\n## Status\n"),
        ("herd/golden.md", "# Golden\n"),  # `old` inside a word
        ("herd/wool.md", "# Wool\n\nStatus: soft.\n"),  # one field is no tracker
        ("herd/recall.md", "# Recall\n"),  # `call` inside a word
    ],
)
def test_what_has_no_sign_is_a_page(path: str, text: str) -> None:
    assert kind_of(path, text) == (PAGE, "no date")


@pytest.mark.parametrize(
    ("line", "counted"),
    [
        ("## Attendees", 0), ("## Attendees (sign yourself in)", 0), ("Present: the board", 0), ("## Anwesende", 0),
        ("## Teilnehmer:innen", 0), ("**Attendees:**", 0), ("## 参加者", 0), ("## Guests and regrets", 0),
        ("## Attendance features", 1), ("**Attendance features** (business):", 1), ("## Guest login", 1),
        ("## Participants can pay", 1),
    ],
)  # fmt: skip
def test_boxes_tick_who_is_present_below_a_heading_that_says_so_alone(
    line: str, counted: int
) -> None:
    note = parse_note("herd/a.md", f"# Herd\n\n{line}\n\n- [ ] Mira\n".encode(), Settings())
    assert len([item for item in note.items if item.kind == "task"]) == counted
