"""The newest notes as a brief shows them: which notes, which lines, in which order."""

import pytest
from conftest import OpenVault

from answers.brief.reading import LEFT, NEWEST, appendix, brief, fence_left_open


def test_the_newest_notes_are_shown_newest_first_under_path_date_and_title(
    open_vault: OpenVault,
) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-06-01-steel.md\n# First steel\n\n"
            "Mira will order the first steel on Monday.\n"
            "=== cust/acme/2026-06-09-pumps.md\n# Pumps arrive late\n\n"
            "Tom agreed with the mill to wait a week.\n"
            "=== cust/acme/2026-06-20-ahead.md\n# Ahead\n\n"
            "Ines will visit the tower then, as planned.\n" + appendix()
        )
    )
    section = shown.section(NEWEST)
    assert [line for line in section.lines if line.startswith("###")] == [
        "### Pumps arrive late",
        "### First steel",
    ]
    assert [(quote.path, quote.numbers, quote.lines[-1]) for quote in section.quotes] == [
        ("cust/acme/2026-06-09-pumps.md", (1, 2, 3), "Tom agreed with the mill to wait a week."),
        ("cust/acme/2026-06-01-steel.md", (1, 2, 3), "Mira will order the first steel on Monday."),
    ]
    assert "Ines will visit" not in shown.text


def test_lines_nobody_needs_later_are_left_out_of_the_newest_notes(
    open_vault: OpenVault,
) -> None:
    note = (
        "# Call\n\nDate: 2026-06-09\nTime: 10:00\nRecording: https://example.invalid/r\n\n"
        "## Attendees\n\n- Mira Holt will be there with Tom\n- Ana Ruiz\n\n"
        "## Links\n\n- [the plan that Mira will send](https://example.invalid/p)\n\n"
        "## Code of conduct\n\nEverybody agreed to be kind.\n\n"
        "## Talk\n\nTom will ask the mill for two pumps until Friday.\n"
        "The mill agreed to a discount of ten percent for both.\n\n"
        "```\nTom will run this\n```\n\n<!-- Tom will hide this -->\n"
    )
    shown = brief(open_vault(f"=== cust/acme/2026-06-09-call.md\n{note}{appendix()}"))
    assert shown.newest == [
        "Tom will ask the mill for two pumps until Friday.",
        "The mill agreed to a discount of ten percent for both.",
    ]
    (quote,) = shown.section(NEWEST).quotes
    assert quote.numbers == (20, 21, 22, 23)


def test_the_dated_sections_of_a_year_file_are_notes_of_their_own(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/minutes-2026.md\n# River board\n\n"
            "## 2026-05-05\n\nMira will order the steel for the gate this week.\n\n"
            "## 2026-06-09\n\nTom agreed with the mill to wait for the pumps.\n\n"
            "## 2026-07-01\n\nInes will visit the tower in July.\n" + appendix()
        )
    )
    assert [line for line in shown.section(NEWEST).lines if line.startswith("###")] == [
        "### 2026-06-09 · River board",
        "### 2026-05-05 · River board",
    ]
    assert shown.newest == [
        "Tom agreed with the mill to wait for the pumps.",
        "Mira will order the steel for the gate this week.",
    ]
    assert shown.fields["as_of"] == "2026-06-09"


def below_newer(note: str) -> str:
    """Return a vault with this note as the fourth newest, of which only commitments are shown."""
    newer = "".join(
        f"=== cust/acme/2026-06-1{day}-call.md\n# Call\n\nTom will ask mill number {day} for two pumps.\n"
        for day in range(3)
    )
    return f"{newer}=== cust/acme/2026-06-02-call.md\n{note}{appendix()}"


def test_a_wrapped_sentence_is_shown_whole_or_not_at_all(open_vault: OpenVault) -> None:
    note = (
        "# Call\n\n## Discussion\n\n"
        "The delegates of the upper valley were greeted by everybody in the hall and\n"
        "it was agreed by all of them that the mill will get its pumps before the\n"
        "end of August.\n\n"
        "Nobody spoke of the weather, which stayed as it had been all through the week\n"
        "of the fair.\n"
    )
    shown = brief(open_vault(below_newer(note)))
    quote = shown.section(NEWEST).quotes[-1]
    assert quote.numbers == (3, 4, 5, 6, 7)
    assert list(quote.lines) == note.splitlines()[2:7]
    assert "2 lines of the newest note" in shown.text


def test_short_lines_and_finished_ones_are_not_joined(open_vault: OpenVault) -> None:
    note = (
        "# Call\n\n## Discussion\n\nTom will ask the mill for two pumps by Friday\n"
        "Nobody spoke of the weather\n"
        "The delegates agreed that the gate shall be open until the end of August.\n"
        "Bread and cheese stood on the long table of the hall for everybody there.\n"
    )
    shown = brief(open_vault(below_newer(note)))
    quote = shown.section(NEWEST).quotes[-1]
    assert quote.numbers == (3, 4, 5, 7)


def test_notes_with_only_links_make_room_for_others(
    open_vault: OpenVault,
) -> None:
    agendas = "".join(
        f"=== cust/acme/2026-06-{day:02}-call.md\n# Call\n\n"
        f"- [what is open and untriaged so far](https://example.invalid/issues?q={day})\n"
        for day in range(5, 15)
    )
    said = "=== cust/acme/2026-05-20-call.md\n# Call\n\nTom will ask the mill for two pumps by Friday.\n"
    shown = brief(open_vault(agendas + said + appendix()))
    assert shown.newest == ["Tom will ask the mill for two pumps by Friday."]


def test_lines_copied_forward_are_left_out_of_the_newest_notes(open_vault: OpenVault) -> None:
    notes = "".join(
        f"=== cust/acme/2026-06-0{n}.md\nThe house rule: Mira will open the weir.\n\n"
        f"Tom will do the job number {n} at the lock house.\n"
        for n in range(1, 7)
    )
    shown = brief(open_vault(notes + appendix()))
    assert shown.newest
    assert not any("house rule" in line for line in shown.newest)


def test_at_most_six_newest_notes_are_shown(open_vault: OpenVault) -> None:
    notes = "".join(
        f"=== cust/acme/2026-06-0{n}.md\nTom will do the job number {n} at the lock house today.\n"
        for n in range(1, 10)
    )
    shown = brief(open_vault(notes + appendix()))
    assert len(shown.section(NEWEST).marked) == 6


def test_lines_of_the_status_block_and_the_lists_are_not_repeated_in_the_newest_notes(
    open_vault: OpenVault,
) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-06-09.md\n# Call\n\n## STATUS (2026-06-09)\n\n"
            "Mira will say it once.\n\n"
            "## Talk\n\nTom will ask the mill for two pumps until Friday.\n\n- [ ] Tom will pay\n\n"
            "Decision: Ana will paint\n" + appendix()
        )
    )
    assert shown.newest == ["Tom will ask the mill for two pumps until Friday."]
    for text in ("Mira will say it once.", "Tom will pay", "Ana will paint"):
        assert shown.text.count(text) == 1


def test_the_count_of_lines_left_out_of_the_newest_notes_is_true(open_vault: OpenVault) -> None:
    """Also if the newest note shows nothing because its only line is too long."""
    long = "Mira will order steel, " + "and bolts of another size, " * 400 + "this week."
    lines = "".join(f"Tom will do the job number {n} at the lock house.\n" for n in range(1, 6))
    shown = brief(
        open_vault(
            f"=== cust/acme/2026-06-10.md\n# Long\n\n{long}\n=== cust/acme/2026-06-09.md\n"
            f"# Short\n\n{lines}"
        )
    )
    assert len(shown.newest) == 5
    told = [line for line in shown.section(LEFT).lines if "of the newest note" in line]
    assert [line.partition(" of ")[0] for line in told] == ["- 1 line"]


@pytest.mark.parametrize(
    "html",
    [
        "<details>\n```python\nrun everything\n```\n</details>\n",
        "<details><summary>Log</summary>\n~~~text\nrun everything\n~~~\n</details>\n",
    ],
)
def test_a_fence_in_html_leaves_no_open_fence_in_the_brief(
    open_vault: OpenVault, html: str
) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-06-10.md\n# Log\n\n"
            "Mira will order the valve for the north pump.\n\n"
            f"{html}\nTom will paint the pump hall next week.\n" + appendix()
        )
    )
    assert fence_left_open(shown.body.split("\n")) == ""
