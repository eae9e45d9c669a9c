"""Where more stands: which notes and headings a brief names, in which order."""

from conftest import OpenVault

from answers.brief.reading import MAP, appendix, brief

TALK = "".join(
    f"Tom will ask mill number {n} for the pumps and the steel of the gate by Friday.\n\n"
    for n in range(60)
)


def test_headings_with_lines_that_are_not_shown_are_named(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(f"=== cust/acme/2026-06-09.md\n# Call\n\n## Pumps\n\n{TALK}## Bread\n\nGood.\n")
    )
    assert shown.section(MAP).marked == [("- Call: Pumps", ("cust/acme/2026-06-09.md",))]


def test_a_small_branch_names_its_notes_newest_first_with_topics_that_are_not_shown(
    open_vault: OpenVault,
) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/2026-06-10 call.md\n# Call\n\nHello.\n"
            "=== cust/acme/notes.md\n---\ndate: 2026-06-16\ntitle: Weir notes\n---\n## One\n\na\n\n## Two\n\nb\n"
            "=== cust/acme/2026-09-01 ahead.md\n# Ahead\n" + appendix()
        )
    )
    assert shown.section(MAP).texts == [
        "2026-06-16 Weir notes: One · Two", "Call", "Appendix", "Ahead",
    ]  # fmt: skip


def test_the_status_that_is_shown_is_no_topic(open_vault: OpenVault) -> None:
    shown = brief(
        open_vault(
            "=== cust/acme/log.md\n# Log\n\n## STATUS (2026-06-11)\n\nFine.\n\n## Costs\n\nLow.\n"
        )
    )
    assert shown.section(MAP).texts == ["2026-06-11: Costs"]
