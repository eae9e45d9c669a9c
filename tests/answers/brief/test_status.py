"""Which status block a brief shows, where it ends, and how one over the budget is cut."""

import re

import pytest
from conftest import OpenVault

from answers.brief.reading import LEFT, STATUS, appendix, brief, fence_left_open, lines_of
from workingset_mcp.answers.answer import printed
from workingset_mcp.answers.budget import count_tokens

# -- latest status: which block, and where it ends --------------------------------------------------

STATUS_BLOCKS = [
    # name, vault, source of the block shown
    (
        "of two times on one day the later one, below",
        "=== cust/acme/log.md\n# Log\n\n## STATUS (2026-06-11 · 09:05): crane booked\n\n"
        "Waiting.\n\n"
        "## STATUS (2026-06-11 · 16:40): crane here\n\nIt stands.\n",
        "cust/acme/log.md:7-9",
    ),
    (
        "of two times on one day the later one, above",
        "=== cust/acme/log.md\n## STATUS (2026-06-11 16:40)\n\nIt stands.\n\n"
        "## STATUS (2026-06-11 09:05)\n\nWaiting.\n",
        "cust/acme/log.md:1-3",
    ),
    (
        "of two times on one day the later one, across notes and forms",
        "=== cust/acme/z.md\n## STATUS 2026-06-11 · 11:18 ET\n\nWaiting.\n"
        "=== cust/acme/a.md\n## STATUS 2026-06-11T17:30+02:00\n\nIt stands.\n",
        "cust/acme/a.md:1-3",
    ),
    (
        "an afternoon in twelve hours",
        "=== cust/acme/log.md\n## Status (June 11, 2026, 4:40 pm)\n\nIt stands.\n\n"
        "## Status (June 11, 2026, 10:15 am)\n\nWaiting.\n",
        "cust/acme/log.md:1-3",
    ),
    (
        "a time beats no time on the same day",
        "=== cust/acme/log.md\n## STATUS (2026-06-11 07:00)\n\nEarly.\n\n## STATUS (2026-06-11)\n"
        "\nX.\n",
        "cust/acme/log.md:1-3",
    ),
    (
        "of equal headings the lower one",
        "=== cust/acme/log.md\n## STATUS (2026-06-11)\n\nFirst.\n\n## STATUS (2026-06-11)\n\n"
        "Second.\n",
        "cust/acme/log.md:5-7",
    ),
    (
        "of equal headings the one in the newer note",
        "=== cust/acme/2026-06-12-b.md\n## STATUS (2026-06-11)\n\nNewer note.\n"
        "=== cust/acme/2026-06-11-z.md\n## STATUS (2026-06-11)\n\nOlder note.\n",
        "cust/acme/2026-06-12-b.md:1-3",
    ),
    (
        "of equal headings in notes of one day the later path",
        "=== cust/acme/2026-06-12-a.md\n## STATUS (2026-06-11)\n\nA.\n"
        "=== cust/acme/2026-06-12-b.md\n## STATUS (2026-06-11)\n\nB.\n",
        "cust/acme/2026-06-12-b.md:1-3",
    ),
    (
        "an old block in a new note gives way",
        "=== cust/acme/2026-06-15-call.md\n## STATUS (2026-05-01)\n\nOld.\n"
        "=== cust/acme/2026-05-20-call.md\n## STATUS (2026-05-20)\n\nNew.\n",
        "cust/acme/2026-05-20-call.md:1-3",
    ),
    (
        "day first, a part over 12",
        "=== cust/acme/log.md\n## STATUS (14/06/2026)\n\nNew.\n\n## STATUS (2026-06-13)\n\nOld.\n",
        "cust/acme/log.md:1-3",
    ),
    (
        "month first, a part over 12",
        "=== cust/acme/log.md\n## STATUS (06/14/2026)\n\nNew.\n\n## STATUS (2026-06-13)\n\nOld.\n",
        "cust/acme/log.md:1-3",
    ),
    (
        "dots are day first",
        "=== cust/acme/log.md\n## Status 05.06.2026\n\nNew.\n\n## STATUS (2026-06-04)\n\nOld.\n",
        "cust/acme/log.md:1-3",
    ),
    (
        "a day that reads two ways beats no dated one",
        "=== cust/acme/log.md\n## STATUS (06/09/2026)\n\nWhich day?\n\n## STATUS (2026-01-02)\n\n"
        "Sure.\n",
        "cust/acme/log.md:5-7",
    ),
    (
        "dated beats undated",
        "=== cust/acme/index.md\n## Status\n\nBare.\n=== cust/acme/b.md\n## STATUS (2025-11-02)\n"
        "\nX.\n",
        "cust/acme/b.md:1-3",
    ),
    (
        "an undated one alone",
        "=== cust/acme/index.md\n# Index\n\n## Status\n\nBare.\n",
        "cust/acme/index.md:3-5",
    ),
    (
        "a year file gives its year only to dates that lack one",
        "=== cust/acme/2026/log.md\n## STATUS (June 11)\n\nNew.\n\n## STATUS (2025-12-01)\n\n"
        "Old.\n",
        "cust/acme/2026/log.md:1-3",
    ),
    (
        "hash lines in a backtick fence do not end it",
        "=== cust/acme/log.md\n## STATUS (2026-06-11)\n\n```sh\n# install\n## then restart\n```\n"
        "\nDone.\n\n"
        "## Next\n\nX.\n",
        "cust/acme/log.md:1-8",
    ),
    (
        "hash lines in a tilde fence do not end it",
        "=== cust/acme/log.md\n## STATUS (2026-06-11)\n\n~~~\n# not a heading\n```\n~~~\n\n"
        "Done.\n# Next\n",
        "cust/acme/log.md:1-8",
    ),
    (
        "hash lines in a fence of a list do not end it",
        "=== cust/acme/log.md\n## STATUS (2026-06-11)\n\n- run\n\n  ```sh\n  ## step\n  ```\n"
        "- done\n\n## Next\n",
        "cust/acme/log.md:1-8",
    ),
    (
        "a status in a fence is none",
        "=== cust/acme/log.md\n```md\n## STATUS (2026-06-15)\n```\n\n## STATUS (2026-06-01)\n\n"
        "Real.\n",
        "cust/acme/log.md:5-7",
    ),
    (
        "a status in a comment is none",
        "=== cust/acme/log.md\n<!--\n## STATUS (2026-06-15)\n-->\n\n## STATUS (2026-06-01)\n\n"
        "Real.\n",
        "cust/acme/log.md:5-7",
    ),
    (
        "lower headings belong to it",
        "=== cust/acme/log.md\n## STATUS (2026-06-11)\n\n### Money\n\nPaid.\n\n#### Detail\n\n"
        "All.\n\n## Next\n",
        "cust/acme/log.md:1-9",
    ),
    (
        "a higher heading ends it",
        "=== cust/acme/log.md\n### STATUS (2026-06-11)\n\nFine.\n\n# Next\n\nX.\n",
        "cust/acme/log.md:1-3",
    ),
    (
        "an underlined heading is one, and ends one",
        "=== cust/acme/log.md\nSTATUS (2026-06-11)\n-------------------\n\nFine.\n\nNext\n----\n"
        "\nX.\n",
        "cust/acme/log.md:1-4",
    ),
    (
        "the end of the file without a line end",
        "=== cust/acme/log.md\n# Log\n\n## STATUS (2026-06-11)\n\nlast words",
        "cust/acme/log.md:3-5",
    ),
    (
        "tomorrow still counts",
        "=== cust/acme/log.md\n## STATUS (2026-06-17)\n\nEast of here.\n\n"
        "## STATUS (2026-06-16)\n\nX.\n",
        "cust/acme/log.md:1-3",
    ),
    (
        "carriage returns",
        "=== cust/acme/log.md\n## STATUS (2026-06-01)\r\n\r\nOld.\r\n\r\n"
        "## STATUS (2026-06-11)\r\n\r\nNew.\r\n",
        "cust/acme/log.md:5-7",
    ),
]


@pytest.mark.parametrize(
    ("text", "source"),
    [case[1:] for case in STATUS_BLOCKS],
    ids=[case[0] for case in STATUS_BLOCKS],
)
def test_the_latest_status_is_shown_verbatim(open_vault: OpenVault, text: str, source: str) -> None:
    workspace = open_vault(text)
    shown = brief(workspace)
    assert shown.status == source
    (quote,) = shown.section(STATUS).quotes
    raw = (workspace.vault.root / quote.path).read_text(encoding="utf-8")
    lines = raw.replace("\r\n", "\n").split("\n")
    assert list(quote.lines) == [lines[number - 1] for number in quote.numbers]
    assert shown.fields["status_source"] == f"{quote.path}:{quote.numbers[0]}"


STATUS_HEADINGS = [
    "## STATUS",
    "## Status:",
    "## status - 2026-06-14",
    "# STATUS (2026-06-14)",
    "###### Status 2026-06-14",
    "## 🔥 STATUS (2026-06-14)",
    "## ⚠️ **Status** 2026-06-14",
    "## Current status — 14 June 2026",
    "## Latest status, June 14th 2026",
    "## STATUS as of June 14, 2026",
    "## Status update 2026-06-14",
    "## Status report (2026.06.14)",
    "## STATUS: crane has come (2026-06-14)",
    "## STATUS Sunday, 14 June 2026",
    "## STATUS [2026-06-14]",
    "## STATUS 20260614",
    "## Stand 14.06.2026",
    "## Aktueller Stand (14. Juni 2026)",
    "## Statut (14 juin 2026)",
    "## Estado — 14 de junio de 2026",
    "## 現状（2026年6月14日）",
    "## 当前状态 2026年6月14日",
]


@pytest.mark.parametrize("heading", STATUS_HEADINGS)
def test_a_heading_that_leads_with_status_is_one(open_vault: OpenVault, heading: str) -> None:
    shown = brief(open_vault(f"=== cust/acme/log.md\n# Log\n\n{heading}\n\nThe crane stands.\n"))
    assert shown.status == "cust/acme/log.md:3-5"
    dated = "14" in heading
    assert ("no date" not in "\n".join(shown.section(STATUS).lines)) == dated
    assert (shown.fields["as_of"] == "2026-06-14") == dated


STATUS_TOPICS = [
    "Status codes of the pump",
    "Status quo of the network (2026-06-14)",
    "Project Status Meeting notes",
    "Statuspage maintenance 2026-06-14",
    "Status-free days (2026-06-14)",
    "Statute of the works council, 2026-06-14",
    "Statistics (2026-06-14)",
    "Standards that hold (2026-06-14)",
    "Stand-up of 2026-06-14",
    "What the status was (2026-06-14)",
    "No status (2026-06-14)",
]


@pytest.mark.parametrize("heading", STATUS_TOPICS)
def test_a_topic_that_contains_the_word_is_not_a_status(
    open_vault: OpenVault, heading: str
) -> None:
    shown = brief(
        open_vault(
            f"=== cust/acme/log.md\n## {heading}\n\nText.\n\n## STATUS (2026-03-01)\n\nReal.\n"
            + appendix()
        )
    )
    assert shown.status == "cust/acme/log.md:5-7"


def test_a_date_that_reads_two_ways_is_named_with_its_line(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault("=== cust/acme/log.md\n# Log\n\n## STATUS (06/09/2026)\n\nWhich day?\n")
    )
    (warning,) = shown.warnings
    assert warning.startswith("warning: cust/acme/log.md:3 ")
    assert "06/09/2026" in warning
    assert "date_order" in warning


@pytest.mark.parametrize(
    ("order", "source"), [("mdy", "cust/acme/log.md:1-3"), ("dmy", "cust/acme/log.md:5-7")]
)
def test_the_order_in_the_settings_decides_a_date_that_reads_two_ways(
    open_vault: OpenVault, order: str, source: str
) -> None:
    text = (
        "=== cust/acme/log.md\n## STATUS (06/03/2026)\n\n3 June or 6 March.\n\n"
        "## STATUS (2026-05-01)\n\nMay.\n"
    )
    shown = brief(open_vault(text, date_order=order))
    assert shown.status == source
    assert shown.warnings == []


@pytest.mark.parametrize("day", ["2026-06-18", "2026-07-01", "2031-01-01", "1 July 2026"])
def test_a_status_dated_ahead_is_skipped_with_a_warning(open_vault: OpenVault, day: str) -> None:
    shown = brief(
        open_vault(
            f"=== cust/acme/log.md\n## STATUS ({day})\n\nWishes.\n\n## STATUS (2026-06-10)\n\n"
            "Facts.\n"
        )
    )
    assert shown.status == "cust/acme/log.md:5-7"
    (warning,) = shown.warnings
    assert warning.startswith("warning: cust/acme/log.md:1 ")
    assert "ahead" in warning
    assert shown.fields["as_of"] == "2026-06-10"


def test_a_status_dated_ahead_counts_when_its_day_has_come(
    open_vault: OpenVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = open_vault(
        "=== cust/acme/log.md\n## STATUS (2026-07-01)\n\nJuly.\n\n## STATUS (2026-06-10)\n\nJune.\n"
    )
    assert brief(workspace).status == "cust/acme/log.md:5-7"
    monkeypatch.setenv("WORKINGSET_TODAY", "2026-07-01")
    assert brief(workspace).status == "cust/acme/log.md:1-3"
    assert brief(workspace).warnings == []


def test_only_a_status_dated_ahead_leaves_no_recent_one(open_vault: OpenVault) -> None:
    shown = brief(open_vault("=== cust/acme/log.md\n## STATUS (2026-09-01)\n\nWishes.\n"))
    assert shown.status == ""
    assert "status_source" not in shown.fields
    assert any("no recent status" in line.lower() for line in shown.section(LEFT).lines)


def test_an_undated_status_of_a_note_far_older_than_the_newest_is_not_shown(
    open_vault: OpenVault,
) -> None:
    old = "=== cust/acme/2025-06-01-start.md\n## Status\n\nNothing yet.\n"
    assert brief(open_vault(old)).status == "cust/acme/2025-06-01-start.md:1-3"
    newer = "=== cust/acme/2026-06-01-call.md\nThe crane stands.\n"
    assert brief(open_vault(old + newer)).status == ""


@pytest.mark.parametrize(
    "note",
    [
        "=== cust/acme/templates/status.md\n## STATUS (2026-06-15)\n\nForm.\n",
        "=== cust/acme/status-template.md\n## STATUS (2026-06-15)\n\nForm.\n",
        "=== cust/acme/override.md\n## STATUS (2026-06-15)\n\nEvergreen.\n",
        "=== cust/acme/x.md\n---\nkind: workingset-brief\n---\n## STATUS (2026-06-15)\n\nCopy.\n",
        "=== cust/acme/x (conflicted copy 2026-06-12).md\n## STATUS (2026-06-15)\n\nCopy.\n",
    ],
)
def test_a_status_in_a_note_that_is_not_a_source_is_skipped(
    open_vault: OpenVault, note: str
) -> None:
    shown = brief(open_vault("=== cust/acme/log.md\n## STATUS (2026-06-01)\n\nReal.\n" + note))
    assert shown.status == "cust/acme/log.md:1-3"


# -- latest status over the budget ------------------------------------------------------------------

_PARAGRAPHS = "\n\n".join(
    f"Fact {n}: the {n}th pump of the river station runs with its new seal and reports to the "
    "tower."
    for n in range(2, 60)
)
_CODE = "\n".join(f"reading --pump {n} --since 2026-01-01" for n in range(120))
LONG_STATUSES = [
    ("paragraphs", f"Fact 1: the weir is open.\n\n{_PARAGRAPHS}\n"),
    ("bullets", "- Fact 1: the weir is open.\n" + _PARAGRAPHS.replace("Fact", "- Fact") + "\n"),
    ("a backtick fence", f"Fact 1: the weir is open.\n\n```sh\n{_CODE}\n```\n\nEnd.\n"),
    ("a longer fence", f"Fact 1: the weir is open.\n\n`````\n```\n{_CODE}\n```\n`````\n"),
    ("a tilde fence", f"Fact 1: the weir is open.\n\n~~~text\n{_CODE}\n~~~\n"),
    (
        "code on a line",
        f"Fact 1: the weir is open.\n\n```make weir``` opens it.\n\n{_PARAGRAPHS}\n",
    ),
    (
        "a quoted fence",
        f"Fact 1: the weir is open.\n\n> ```\n> {_CODE}\n> ```\n".replace("\nr", "\n> r"),
    ),
    ("no blank lines", "Fact 1: the weir is open.\n" + _PARAGRAPHS.replace("\n\n", "\n") + "\n"),
    ("sections", "Fact 1: the weir is open.\n\n### More\n\n" + _PARAGRAPHS + "\n"),
]


@pytest.mark.parametrize("budget", [600, 900, 1_400])
@pytest.mark.parametrize(
    "block", [case[1] for case in LONG_STATUSES], ids=[case[0] for case in LONG_STATUSES]
)
def test_a_status_over_the_budget_is_cut_at_a_line_and_says_where_it_continues(
    open_vault: OpenVault, block: str, budget: int
) -> None:
    workspace = open_vault(
        f"=== cust/acme/log.md\n# Log\n\n## STATUS (2026-06-11): LONG\n\n{block}\n"
        "## Work\n\n- [ ] send the summary\n"
    )
    shown = brief(workspace, budget=budget)
    assert count_tokens(shown.text) <= budget
    section = shown.section(STATUS)
    (quote,) = section.quotes
    file = lines_of(workspace, "cust/acme/log.md")
    kept = [file[number - 1] for number in quote.numbers]
    assert list(quote.lines[: len(kept)]) == kept
    assert quote.lines[0] == "## STATUS (2026-06-11): LONG"
    assert any("Fact 1: the weir is open." in line for line in quote.lines)
    assert fence_left_open(list(quote.lines)) == ""
    added = quote.lines[len(kept) :]
    assert len(added) <= 1
    assert len(added) == (1 if fence_left_open(kept) else 0)
    (cut,) = [line for line in section.lines if line.startswith("Cut: ")]
    told = re.fullmatch(
        r'Cut: (\d+) more lines?: open_source_file\(path="(.+)", lines="(\d+)-(\d+)"\)', cut
    )
    assert told
    assert told[2] == "cust/acme/log.md"
    assert int(told[3]) == quote.numbers[-1] + 1
    assert int(told[1]) == int(told[4]) - int(told[3]) + 1
    assert file[int(told[4]) - 1].strip()
    assert next(line for line in file[int(told[4]) :] if line.strip()) == "## Work"
    opened = printed(workspace.open(told[2], lines=f"{told[3]}-{told[4]}", budget=8_000))
    assert all(line in opened for line in file[int(told[3]) - 1 : int(told[4])])
    assert [text for _, text, _ in shown.items] == ["send the summary"]


def test_a_long_status_of_paragraphs_is_cut_between_them(open_vault: OpenVault) -> None:
    workspace = open_vault(f"=== cust/acme/log.md\n## STATUS (2026-06-11)\n\n{_PARAGRAPHS}\n")
    file = lines_of(workspace, "cust/acme/log.md")
    for budget in range(500, 1_300, 100):
        (quote,) = brief(workspace, budget=budget).section(STATUS).quotes
        assert file[quote.numbers[-1]] == "" or file[quote.numbers[-1] - 1] == ""


@pytest.mark.parametrize("budget", [500, 700, 1_000])
def test_a_status_whose_first_paragraph_is_too_long_names_the_lines_it_shows(
    open_vault: OpenVault, budget: int
) -> None:
    workspace = open_vault(
        "=== cust/acme/log.md\n# Log\n\n## STATUS (2026-06-11)\n\n"
        + "The weir is open. " * 400
        + "\n\nEnd.\n"
    )
    file = lines_of(workspace, "cust/acme/log.md")
    for quote in brief(workspace, budget=budget).section(STATUS).quotes:
        assert list(quote.lines) == [file[number - 1] for number in quote.numbers]


@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_a_fence_that_a_note_never_closes_does_not_swallow_the_rest_of_the_brief(
    open_vault: OpenVault, fence: str
) -> None:
    shown = brief(
        open_vault(
            f"=== cust/acme/log.md\n## STATUS (2026-06-11)\n\nFine.\n\n{fence}sh\nmake weir\n"
            "=== cust/acme/work.md\n- [ ] oil the weir\n"
        )
    )
    assert fence_left_open(shown.body.split("\n")) == ""
    assert [text for _, text, _ in shown.items] == ["oil the weir"]
