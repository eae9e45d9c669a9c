"""The linter, tested through `workingset-mcp check` with one vault for each rule.

Each rule also has a vault that nearly trips it but must not. The last section has a tracker of 88 KB with a
hand-written override: hook, full context and linter on one branch.
"""

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from conftest import MakeVault, OpenVault, write_vault

from workingset_mcp.answers.answer import printed
from workingset_mcp.cli.check import RULES
from workingset_mcp.cli.check.questions import FILE_NAME
from workingset_mcp.cli.demo import example_vault
from workingset_mcp.cli.main import main

QUAY = "cust/quay"
OVERRIDE = f"{QUAY}/override.md"
TOTAL = "Fact: developers in all: 212, not the workshop group"
PROFILE = "cust/acme/context/company-profile.md"
SEVERITIES = {rule.code: rule.severity for rule in RULES}


def run(root: Path, *options: str) -> Result:
    """Run `check` on a vault, with its index beside it."""
    arguments = ["check", "--vault", str(root), "--index-dir", str(root.parent / "index")]
    result = CliRunner().invoke(main, [*arguments, *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def findings(root: Path) -> list[dict[str, Any]]:
    """Return the findings of `check` from its JSON."""
    envelope = json.loads(run(root, "--format", "json").stdout)
    assert (envelope["schema_version"], envelope["command"]) == (2, "check")
    found: list[dict[str, Any]] = envelope["data"]["findings"]
    return found


def places(found: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    """Return code, path and line of every finding."""
    return [(one["rule"], one["path"], one["line"]) for one in found]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the example vault, and set the day that it was written for."""
    monkeypatch.setenv("WORKINGSET_TODAY", "2026-06-17")
    return Path(shutil.copytree(example_vault(), tmp_path / "example"))


# -- the example vault -----------------------------------------------------------------------------


def test_the_example_vault_has_one_trap_and_nothing_else(example: Path) -> None:
    [finding] = findings(example)
    assert (finding["rule"], finding["severity"]) == ("WS301", "warning")
    assert finding["path"].startswith("cust/acme/")
    assert finding["line"] > 0
    for figure in ("10-20 core engineers", "seats"):
        assert figure in finding["message"]
    assert "Fact: " in finding["fix"]


@pytest.mark.parametrize("place", [PROFILE, "cust/acme/context/index.md", "cust/acme/teams.md"])
def test_one_labelled_line_clears_the_trap_and_the_brief_then_answers(
    example: Path, open_vault: OpenVault, place: str
) -> None:
    brief = printed(open_vault(example).brief("cust/acme"))
    assert "212" not in brief
    note = example / place
    before = note.read_bytes() if note.exists() else b"# Teams\n"
    note.write_bytes(before + f"\n{TOTAL}\n".encode())
    assert findings(example) == []
    assert TOTAL in printed(
        open_vault(example, index_dir=str(example.parent / "other")).brief("cust/acme")
    )


def test_a_labelled_line_about_something_else_clears_nothing(example: Path) -> None:
    append(example / PROFILE, "\nFact: 4 sites in all.\nFact: developers are counted in June.\n")
    assert [finding["rule"] for finding in findings(example)] == ["WS301"]


def test_the_questions_of_the_example_vault_are_all_answered(example: Path) -> None:
    asked = yaml.safe_load((example / FILE_NAME).read_text(encoding="utf-8"))
    assert {question["where"] for question in asked} == {"brief", "search", "source"}
    assert [finding for finding in findings(example) if finding["rule"] == "WS501"] == []


def test_a_fact_missing_from_a_brief_fails_the_gate(example: Path) -> None:
    note = example / "cust/acme/context/index.md"
    text = note.read_text(encoding="utf-8")
    note.write_text(text.replace("10-20 core engineers", "core engineers"), encoding="utf-8")
    result = run(example)
    assert result.exit_code == 1
    [line] = [line for line in result.stdout.splitlines() if "WS501" in line]
    assert "workshop-attendees" in line
    assert "not in the brief: 10-20 core engineers" in line


# -- each rule -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A vault that trips a rule at these places, and one that nearly does."""

    code: str
    trips: str
    at: tuple[tuple[str, int], ...]
    spares: str


def override(text: str, *, day: str = "2026-06-10") -> str:
    """Return a dated override of the quay."""
    return f"=== {OVERRIDE}\n---\nupdated: {day}\n---\n{text}\n"


HEAD = 3  # lines of front matter in that override
NOTE = "=== cust/quay/2026-06-10.md\n# Call\n\nShort.\n"
CAP_TEXT = "Keep the gate shut."
KEPT = "=== cust/quay/index.md\n# Quay\n\n## STATUS (2026-06-10)\n\nAll well.\n"


def filled(size: int) -> str:
    """Return an override of this many bytes, front matter included."""
    head = "---\nupdated: 2026-06-10\n---\n"
    return head + "The gate is shut at night.\n".ljust(size - len(head) - 1, "x") + "\n"


CASES: Mapping[str, Case] = {
    "an override over its cap": Case(
        "WS101",
        f"{NOTE}=== {OVERRIDE}\n{filled(9_001)}",
        ((OVERRIDE, 0),),
        f"{NOTE}=== {OVERRIDE}\n{filled(9_000)}",
    ),
    "an override over a cap of the settings": Case(
        "WS101",
        f"=== workingset.toml\noverride_max_bytes = 700\n{NOTE}=== {OVERRIDE}\n{filled(701)}",
        ((OVERRIDE, 0),),
        f"=== workingset.toml\noverride_max_bytes = 700\n{NOTE}=== {OVERRIDE}\n{filled(700)}",
    ),
    "a root override over its cap": Case(
        "WS101",
        f"{NOTE}=== override.md\n{filled(9_001)}",
        (("override.md", 0),),
        f"{NOTE}=== override.md\n{filled(9_000)}",
    ),
    "an override untouched while work went on": Case(
        "WS103",
        f"{NOTE}{override(CAP_TEXT, day='2026-05-10')}",
        ((OVERRIDE, 0),),
        f"{NOTE}{override(CAP_TEXT, day='2026-05-11')}",
    ),
    "an old override of a quiet branch": Case(
        "WS103",
        f"=== cust/quay/2026-03-02.md\n# Call\n{override(CAP_TEXT, day='2026-01-30')}",
        ((OVERRIDE, 0),),
        f"=== cust/quay/2026-01-30.md\n# Call\n{override(CAP_TEXT, day='2026-01-10')}",
    ),
    "a done box in an override": Case(
        "WS201",
        NOTE + override("- [x] Shut the gate"),
        ((OVERRIDE, HEAD + 1),),
        NOTE + override("- [ ] Shut the gate\n- [-] Leave it open\n- x marks the berth"),
    ),
    "an old date in an override": Case(
        "WS201",
        NOTE + override("The crane came on 2026-05-04."),
        ((OVERRIDE, HEAD + 1),),
        NOTE + override("The crane comes on 2026-05-05.\nThe lease runs 2024-01-01 to 2027-12-31."),
    ),
    "a blocker of the day of the override": Case(
        "WS202",
        f"{NOTE}- [ ] Blocker: no crane\n{override('Shut the gate.')}",
        (("cust/quay/2026-06-10.md", 4),),
        f"{NOTE}- [ ] Blocker: no crane\n{override('Shut the gate. BLOCKER:  no **crane**!')}",
    ),
    "a newer blocker that the override misses": Case(
        "WS202",
        "=== cust/quay/2026-06-12.md\n# Call\n\n- [ ] **[Quay, BLOCKER]** Get a crane, Owner: Odo\n"
        + override("Shut the gate."),
        (("cust/quay/2026-06-12.md", 3),),
        "=== cust/quay/2026-06-12.md\n# Call\n\n- [ ] **[Quay, BLOCKER]** Get a crane, Owner: Odo\n"
        + override("Shut the gate. Get a crane."),
    ),
    "an urgent item newer than the override": Case(
        "WS202",
        "=== cust/quay/2026-06-11.md\n# Call\n\n- [ ] Urgent: get a crane\n"
        + override("Shut the gate."),
        (("cust/quay/2026-06-11.md", 3),),
        "=== cust/quay/2026-06-09.md\n# Call\n\n- [ ] Urgent: get a crane\n"
        "=== cust/quay/2026-06-12.md\n# Call\n\n- [x] Urgent: get a rope\n- [ ] Get a mop\n"
        + override("Shut the gate."),
    ),
    "a labelled blocker newer than the override": Case(
        "WS202",
        "=== cust/quay/2026-06-12.md\n# Call\n\nBlocker: the crane permit is missing\n"
        + override("Shut the gate."),
        (("cust/quay/2026-06-12.md", 3),),
        "=== cust/quay/2026-06-12.md\n# Call\n\nBlocker: the crane permit is missing\n"
        + override("Shut the gate. The crane permit is missing."),
    ),
    "a blocker without a day, which explains the word": Case(
        "WS202",
        "=== cust/quay/2026-06-12.md\n# Board\n\n**Blocked**: no crane\n"
        + override("Shut the gate."),
        (("cust/quay/2026-06-12.md", 3),),
        "=== cust/quay/board.md\n# Board\n\n**Blocked**: waits for somebody else\n"
        + NOTE
        + override("Shut the gate."),
    ),
    "a blocker under an emphasised label": Case(
        "WS202",
        "=== cust/quay/2026-06-12.md\n# Call\n\n**Blocker:** the *crane* permit is missing\n"
        + override("Shut the gate."),
        (("cust/quay/2026-06-12.md", 3),),
        "=== cust/quay/2026-06-12.md\n# Call\n\n**Blocker:** the *crane* permit is missing\n"
        + override("Shut the gate. The crane permit is missing."),
    ),
    "figures of one kind and no total": Case(
        "WS301",
        f"{KEPT}=== cust/quay/size.md\n# Size\n\nSome 40 engineers come to the course.\n"
        "\n| what | how many |\n|---|---|\n| licence | 120 seats |\n",
        (("cust/quay/size.md", 3),),
        f"{KEPT}=== cust/quay/size.md\n# Size\n\nSome 40 engineers come to the course.\n"
        "\n| what | how many |\n|---|---|\n| licence | 120 seats |\n"
        "\nTotal: 300 engineers in all, not the course\n",
    ),
    "figures in two notes": Case(
        "WS301",
        f"{KEPT}=== cust/quay/a.md\n# A\n\nIt has 60 users.\n=== cust/quay/b.md\n# B\n\n900 developers.\n",
        (("cust/quay/a.md", 3),),
        f"{KEPT}=== cust/quay/a.md\n# A\n\nThey have 60 users, and 60 users it stays.\n"
        "```\n900 developers\n```\n<!-- 700 seats -->\n"
        "A price of 80 and 90 boats; 3 engineers; $75 users; release-40 seats.\n"
        "The 2024 user survey and the 2025 user survey.\n"
        "=== cust/tarn/b.md\n# B\n\n900 developers.\n",
    ),
    "figures where somebody keeps a status": Case(
        "WS301",
        f"{KEPT}=== cust/quay/a.md\n# A\n\nIt has 60 users, or 900 developers.\n",
        (("cust/quay/a.md", 3),),
        "=== cust/quay/a.md\n# A\n\nThe quay has 60 users, the mill 900 developers.\n",
    ),
    "a status without a date among dated ones": Case(
        "WS302",
        "=== cust/quay/a.md\n## STATUS (2026-06-10)\n\nWell.\n\n## STATUS\n\nWhen?\n",
        (("cust/quay/a.md", 5),),
        "=== cust/quay/a.md\n## STATUS\n\nWell.\n\n## Status quo of the lock\n\nStuck.\n",
    ),
    "a status whose date reads two ways": Case(
        "WS302",
        "=== cust/quay/a.md\n## STATUS (2026-06-10)\n\nWell.\n\n## STATUS 05/06/2026\n\nWell?\n",
        (("cust/quay/a.md", 5),),
        "=== cust/quay/a.md\n## STATUS (2026-06-10)\n\nWell.\n\n## STATUS 25/05/2026\n\nWell.\n",
    ),
    "two statuses of a day": Case(
        "WS302",
        "=== cust/quay/a.md\n## STATUS (2026-06-10)\n\nWell.\n\n## STATUS (2026-06-10)\n\nIll.\n",
        (("cust/quay/a.md", 5),),
        "=== cust/quay/a.md\n## STATUS (2026-06-10 14:00)\n\nWell.\n\n"
        "## STATUS (2026-06-10 09:30)\n\nIll.\n\n## STATUS (2026-06-09)\n\nWell.\n",
    ),
    "a status dated ahead": Case(
        "WS302",
        "=== cust/quay/a.md\n## STATUS (2026-06-18)\n\nWell.\n",
        (("cust/quay/a.md", 1),),
        "=== cust/quay/a.md\n## STATUS (2026-06-17)\n\nWell: tomorrow, somewhere, is today.\n",
    ),
    "an item open here and done there": Case(
        "WS303",
        "=== cust/quay/2026-06-10.md\n# A\n\n- [ ] Paint the pier, Owner: Odo\n"
        "=== cust/quay/2026-06-12.md\n# B\n\n- [x] Paint the pier, Owner: Odo\n",
        (("cust/quay/2026-06-10.md", 3),),
        "=== cust/quay/2026-06-10.md\n# A\n\n- [x] Paint the pier, Owner: Odo\n- [ ] Dry it\n"
        "=== cust/quay/2026-06-12.md\n# B\n\n- [ ] Paint the pier, Owner: Odo\n"
        "=== cust/tarn/2026-06-12.md\n# B\n\n- [x] Dry it\n",
    ),
    "an item done there under emphasis": Case(
        "WS303",
        "=== cust/quay/2026-06-10.md\n# A\n\n- [ ] Paint the pier, Owner: Odo\n"
        "=== cust/quay/2026-06-12.md\n# B\n\n- [x] Paint the **pier**, Owner: Odo\n",
        (("cust/quay/2026-06-10.md", 3),),
        "=== cust/quay/2026-06-10.md\n# A\n\n- [ ] Paint the pier, Owner: Odo\n"
        "=== cust/quay/2026-06-12.md\n# B\n\n- [x] Paint the **peer**, Owner: Odo\n",
    ),
    "an item done once, beside lists that come again": Case(
        "WS303",
        "=== cust/quay/2026-05-10.md\n- [ ] Check the lamps\n"
        "=== cust/quay/2026-06-10.md\n- [x] Check the lamps\n"
        "=== cust/tarn/2026-06-10.md\n- [x] Check the lamps\n",
        (("cust/quay/2026-05-10.md", 1),),
        "=== cust/quay/2026-05-10.md\n- [ ] Check the lamps\n- [ ] Sweep the pier\n"
        "=== cust/quay/2026-06-10.md\n- [x] Check the lamps\n- [x] Sweep the pier\n"
        "=== cust/quay/2026-06-12.md\n- [x] Sweep the pier\n"
        "=== cust/tarn/2026-06-10.md\n- [x] Check the lamps\n"
        "=== cust/skua/2026-06-10.md\n- [ ] Check the lamps\n",
    ),
    "a link to no note": Case(
        "WS401",
        "=== cust/quay/a.md\n# A\n\nSee [the plan](plans/plan.md).\n",
        (("cust/quay/a.md", 3),),
        "=== cust/quay/a.md\n# A\n\nSee [the plan](plans/the%20plan.md#north), `[x](no.md)`,\n"
        "[a page](https://example.org/no.md), [here](#a), [a picture](no.png).\n\n"
        "```\n[x](no.md)\n```\n<!-- [x](no.md) -->\n"
        "=== cust/quay/plans/the plan.md\n# Plan\n\n[Up](../a.md) and [root](/cust/quay/a.md).\n",
    ),
    "a wiki link to no note": Case(
        "WS401",
        "=== cust/quay/a.md\n# A\n\nSee [[plan]] and [[plam|the plan]].\n"
        "=== cust/quay/plan.md\n# Plan\n",
        (("cust/quay/a.md", 3),),
        "=== cust/quay/a.md\n# A\n\nSee [[plan]], [[Plan#North|it]], [[Old name]], [[The Plan]],\n"
        "[[quay/plan]], ![[map.png]] and `[[plam]]`.\n"
        "=== cust/quay/plan.md\n---\naliases: [Old name]\n---\n# The plan\n",
    ),
    "a source mark of no note": Case(
        "WS401",
        "=== cust/quay/a.md\n# A\n\n- The gate is shut _[cust/quay/gone.md:4]_\n",
        (("cust/quay/a.md", 3),),
        "=== cust/quay/a.md\n# A\n\n- The gate is shut _[cust/quay/a.md:1]_\n",
    ),
    "a note that is no UTF-8": Case(
        "WS402",
        "=== cust/quay/a.md\n# A\n\nAm Kai \udcfcber Nacht.\n",
        (("cust/quay/a.md", 3),),
        "=== cust/quay/a.md\n\ufeff# A\n\nAm Kai über Nacht. Nul is no word.\n",
    ),
    "a fence that is never closed": Case(
        "WS402",
        "=== cust/quay/a.md\n# A\n\n```\nThe rest.\n",
        (("cust/quay/a.md", 3),),
        "=== cust/quay/a.md\n# A\n\n````\n```\nThe rest.\n````\n",
    ),
    "a conflict copy": Case(
        "WS402",
        "=== cust/quay/a.md\n# A\n=== cust/quay/a (conflicted copy 2026-06-10).md\n# A\n",
        (("cust/quay/a (conflicted copy 2026-06-10).md", 0),),
        "=== cust/quay/a.md\n# A\n=== cust/quay/conflicts we had.md\n# Conflicts\n",
    ),
    "merge marks": Case(
        "WS402",
        "=== cust/quay/a.md\n# A\n\n<<<<<<< ours\nShut.\n=======\nOpen.\n>>>>>>> theirs\n",
        (("cust/quay/a.md", 3),),
        "=== cust/quay/a.md\n# A\n\nGate\n=======\n\nShut.\n"
        "=== cust/quay/b.md\n# B\n\nMarks look like <<<<<<< and >>>>>>> there.\n",
    ),
    "a question without its answer": Case(
        "WS501",
        f"{NOTE}=== {FILE_NAME}\n- question: How was the call?\n  facts: [long]\n",
        ((FILE_NAME, 1),),
        f"{NOTE}=== {FILE_NAME}\n- question: How was the call?\n  facts: [Short]\n",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_rule_finds_its_problem_and_the_place(make_vault: MakeVault, case: Case) -> None:
    found = findings(make_vault(case.trips))
    assert places(found) == [(case.code, path, line) for path, line in case.at]
    assert [one["severity"] for one in found] == [SEVERITIES[case.code]] * len(case.at)
    assert all(one["message"] and one["fix"] for one in found)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_rule_ignores_what_only_looks_like_its_problem(make_vault: MakeVault, case: Case) -> None:
    assert findings(make_vault(case.spares)) == []


def test_every_rule_is_tripped_in_this_file() -> None:
    tripped = {case.code for case in CASES.values()} | {"WS102"}  # written briefs: below
    assert tripped == {rule.code for rule in RULES}
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert all(rule.why and rule.severity in ("error", "warning") for rule in RULES)


WAS = {
    "completed": "The dredging is completed.",
    "resolved": "- The quarrel over berth 4 is resolved",
    "was done": "The survey was done by Ebba.",
    "no longer": "| crane | no longer on hire |",
    "deferred, now": "## Deferred to May, now June",
    "formerly": "> Formerly the coal pier.",
    "at the end": "- Dredging of berth 2: completed",
    "as a heading": "## Completed",
    "in another sentence": "If asked, say so. The quarrel was resolved.",
    "German": "Die Baggerung ist abgeschlossen.",
    "French": "Le dragage est terminé.",
}
IS = {
    "not completed words": "The completion of the dredging is due in July.",
    "unresolved": "The quarrel over berth 4 is unresolved.",
    "deferred": "The survey is deferred to August.",
    "in code": "```\nThe dredging is completed.\n```",
    "in a comment": "<!-- The dredging is completed. -->",
    "a day ahead": "The crane comes on 2026-07-04.",
    "a month": "The lease began in 2026-01.",
    "since a day": "Crossings every other Tuesday, starting Tuesday Feb 11, 2025.",
    "a day of review": "**Last updated:** Mar 27, 2025",
    "a day in an address": "Tides: https://example.org/2019/10/05/tides and `log-2019-10-05`",
    "a picture": "![pier-20240806-0010.png](pier-20240806-0010.png)",
    "a condition": "Ring the office each week until it is completed.",
    "a rule": "All tasks that support a crossing are completed on time.",
    "a manner": "Quarrels are resolved by lot.",
    "a plan": "Sundays will no longer have a crossing.",
    "a limit": "No longer than a month.",
    "another name": "The coal pier (formerly known as the north pier) is shut.",
    "a question": "Is it so that the survey was done?",
    "a wrapped condition": "Ring the office when the barge, or what there is of it,\nis no longer here.",
    "a wrapped word": "The pier belongs to what was\nformerly part of the mill.",
    "a condition behind it": "A berth is no longer yours if the fee is owed.",
    "points of a condition": "Close the lock if:\n\n- the gate is no longer tight\n- no keeper is there",
    "points of a wrapped condition": "* Reasons to call:\n  - Leaks were fixed\n  - Rot",
    "a contents line": "- [Dredging is completed](#dredging)",
    "steps of a list": "- the dredging is completed,\n- the berth is swept",
    "a word among words": "- open\n- resolved",
    "advice": "At the lock, you are no longer alone. You no longer need a rope.",
    "a title": 'Discuss "Lights no longer burn at night".',
    "a wish": "Make the coal pier no longer the first stop.",
    "a guess": "Maybe the crane is no longer needed.",
    "from a day": "Mitglieder zahlen ab dem 5. Oktober 2019 den Hafen.",
    "a purpose": "Seile spannen, damit die Boote nicht mehr treiben.",
    "a choice": "Deferred: not for now",
    "a dated document": "Tides: [2019-10-05 tides](https://example.org/tides)",
    "how days are written": "Write days as YYYY-MM-DD, so 2019-10-05.",
    "an example of a day": "Name the log by its day, for example 2019-10-05.",
    "a day from which on": "2019年10月5日から main",
    "a day of founding": "The club, founded 2019-10-05, owns the pier.",
}


@pytest.mark.parametrize("line", WAS.values(), ids=WAS)
def test_a_line_about_the_past_in_an_override_is_found(make_vault: MakeVault, line: str) -> None:
    found = findings(make_vault(NOTE + override(f"Keep to the left.\n\n{line}\n")))
    assert places(found) == [("WS201", OVERRIDE, HEAD + 3)]


def test_words_over_wrapped_lines_are_found_where_they_begin(make_vault: MakeVault) -> None:
    text = "Mind the mud. The quarrel over it\nwas closed by Ebba. The pier is\nno longer shut.\n"
    found = findings(make_vault(NOTE + override(f"Keep to the left.\n\n{text}")))
    assert places(found) == [("WS201", OVERRIDE, HEAD + line) for line in (4, 5)]


@pytest.mark.parametrize("line", IS.values(), ids=IS)
def test_a_line_about_the_present_in_an_override_is_not_reported(
    make_vault: MakeVault, line: str
) -> None:
    assert findings(make_vault(NOTE + override(f"Keep to the left.\n\n{line}\n"))) == []


def test_a_line_about_the_past_is_fine_in_a_note(make_vault: MakeVault) -> None:
    text = "=== cust/quay/2026-06-10.md\n# Call\n\n" + "".join(
        f"{line}\n\n" for line in WAS.values()
    )
    assert findings(make_vault(text + "- [x] Shut the gate\n")) == []


def test_an_undated_override_is_as_old_as_its_file(make_vault: MakeVault) -> None:
    root = make_vault(f"{NOTE}=== {OVERRIDE}\nShut the gate.\n")
    for day, expected in (("2026-05-01", [("WS103", OVERRIDE, 0)]), ("2026-06-01", [])):
        stamp = datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()
        os.utime(root / OVERRIDE, (stamp, stamp))
        assert places(findings(root)) == expected


# -- written briefs --------------------------------------------------------------------------------

BERTH = """\
=== cust/quay/2026-06-10.md
# Call

## STATUS (2026-06-10)

The crane is late.

- [ ] Ring Odo, Owner: Ebba, Due: 2026-06-20
- We meet again on 2026-06-24 and decide then.
- Ebba will write to the harbour office until the end of June.
=== cust/quay/notes.md
# Notes

The office must be told two days ahead of every crossing.
""" + "".join(
    f"=== cust/quay/2026-05-{day}-round.md\n# Round\n\nDecision: berth {day} stays with the ferry"
    f" line until the end of the year.\n\n- [ ] Tell the pilot of berth {day}, Owner: Odo\n"
    for day in range(10, 30)
)


@pytest.fixture
def written(make_vault: MakeVault) -> Path:
    """Make a vault with a written brief."""
    root = make_vault(BERTH)
    write_brief(root)
    assert findings(root) == []
    return root


def write_brief(root: Path, *options: str) -> None:
    arguments = ["brief", "--all", "--write", "--vault", str(root), *options]
    result = CliRunner().invoke(main, [*arguments, "--index-dir", str(root.parent / "index")])
    assert result.exit_code == 0


CHANGES: Mapping[str, Callable[[Path], object]] = {
    "a note changed": lambda root: write_vault(root, "=== cust/quay/notes.md\n# Notes\n"),
    "a note came": lambda root: write_vault(root, "=== cust/quay/2026-06-12.md\n# B\n"),
    "a note went": lambda root: (root / "cust/quay/notes.md").unlink(),
    "an override came": lambda root: write_vault(root, override("Shut the gate.")),
    "a root override came": lambda root: write_vault(root, "=== override.md\nShut the gate.\n"),
    "another budget": lambda root: write_vault(root, "=== workingset.toml\nbrief_budget = 450\n"),
    "edited by hand": lambda root: append(root / QUAY / "brief.md", "- And more.\n"),
}


def append(file: Path, text: str) -> None:
    file.write_bytes(file.read_bytes() + text.encode())


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_written_brief_that_is_behind_its_notes_fails_the_gate(
    written: Path, change: Callable[[Path], object]
) -> None:
    change(written)
    result = run(written)
    assert result.exit_code == 1
    assert "cust/quay/brief.md: WS102 error: " in result.stdout
    assert "workingset-mcp brief cust/quay --write" in result.stdout
    write_brief(written, "--force")
    assert [one for one in findings(written) if one["rule"] == "WS102"] == []


def test_an_edited_brief_is_reported_with_the_command_that_overwrites_it(
    written: Path,
) -> None:
    append(written / QUAY / "brief.md", "- And more.\n")
    result = run(written)
    assert "WS102 error: was edited since it was written" in result.stdout
    assert "workingset-mcp brief cust/quay --write --force" in result.stdout


def test_file_times_do_not_make_a_brief_out_of_date(written: Path) -> None:
    for at, file in enumerate(sorted(written.rglob("*.md"))):
        os.utime(file, (1_000_000_000 + at, 1_000_000_000 + at))
    assert findings(written) == []


@pytest.mark.parametrize("day", ["2026-06-18", "2026-06-27", "2026-07-25"])
def test_passing_days_do_not_make_a_brief_out_of_date(
    example: Path, monkeypatch: pytest.MonkeyPatch, day: str
) -> None:
    write_brief(example)
    monkeypatch.setenv("WORKINGSET_TODAY", day)
    assert [one for one in findings(example) if one["rule"] == "WS102"] == []


def test_a_change_in_another_branch_does_not_make_a_brief_out_of_date(written: Path) -> None:
    write_vault(written, "=== cust/tarn/2026-06-12.md\n# B\n")
    assert findings(written) == []


def test_a_persons_own_brief_md_is_not_a_written_brief(make_vault: MakeVault) -> None:
    root = make_vault(
        f"{NOTE}=== cust/quay/brief.md\n# Brief for the harbour office\n\nDear all,\n"
        "the tool writes `kind: workingset-brief` into its own.\n"
    )
    assert findings(root) == []


# -- what is printed, and the exit code ------------------------------------------------------------

BOTH = CASES["an override over its cap"].trips + "=== cust/quay/b.md\n# B\n\n[x](no.md)\n"
WARNING = CASES["a link to no note"].trips
CLEAN = NOTE


@pytest.mark.parametrize("shape", ["text", "json", "github"])
@pytest.mark.parametrize(
    ("vault", "strict", "expected"),
    [
        (CLEAN, False, 0), (CLEAN, True, 0), (WARNING, False, 0), (WARNING, True, 1),
        (BOTH, False, 1), (BOTH, True, 1),
    ],
    ids=["clean", "clean strict", "warning", "warning strict", "error", "error strict"],
)  # fmt: skip
def test_errors_fail_the_gate_and_warnings_only_when_strict(
    make_vault: MakeVault, shape: str, vault: str, strict: bool, expected: int
) -> None:
    result = run(make_vault(vault), "--format", shape, *(["--strict"] if strict else []))
    assert result.exit_code == expected


@pytest.mark.parametrize(
    ("vault", "totals"),
    [
        (CLEAN, "0 errors, 0 warnings\n"),
        (WARNING, "0 errors, 1 warnings\n"),
        (BOTH, "1 errors, 1 warnings\n"),
    ],
)
def test_the_totals_go_to_stderr(make_vault: MakeVault, vault: str, totals: str) -> None:
    root = make_vault(vault)
    for shape in ("text", "json", "github"):
        result = run(root, "--format", shape)
        assert result.stderr == totals
        assert totals not in result.stdout


def test_text_names_the_place_the_rule_the_reason_and_the_fix(make_vault: MakeVault) -> None:
    lines = run(make_vault(BOTH)).stdout.splitlines()
    assert len(lines) == 4
    why = {rule.code: rule.why for rule in RULES}
    assert lines[0].startswith(f"{OVERRIDE}: WS101 error: 9,001 bytes, over the cap of 9,000")
    assert f"why: {why['WS101']}; fix: " in lines[1]
    assert lines[2] == "cust/quay/b.md:3: WS401 warning: broken link: no.md"
    assert f"why: {why['WS401']}; fix: " in lines[3]


def test_a_clean_vault_prints_nothing(make_vault: MakeVault) -> None:
    root = make_vault(CLEAN)
    assert run(root).stdout == ""
    assert run(root, "--format", "github").stdout == ""
    assert findings(root) == []


def test_json_is_one_envelope_with_every_field(make_vault: MakeVault) -> None:
    found = findings(make_vault(BOTH))
    assert [sorted(one) for one in found] == [
        ["fix", "line", "message", "path", "rule", "severity"]
    ] * 2
    assert places(found) == [("WS101", OVERRIDE, 0), ("WS401", "cust/quay/b.md", 3)]


_ANNOTATION = re.compile(r"::(error|warning) (.*?)::(.*)")


def annotations(output: str) -> list[tuple[str, dict[str, str], str]]:
    """Annotations as GitHub's runner reads them: level, properties, message."""

    def plain(text: str, *codes: str) -> str:
        for code in (*codes, "%0D", "%0A", "%25"):
            text = text.replace(code, bytes.fromhex(code[1:]).decode())
        return text

    found = []
    for line in output.splitlines():
        matched = _ANNOTATION.fullmatch(line)
        assert matched, line
        pairs = (pair.partition("=") for pair in matched[2].split(","))
        properties = {key: plain(value, "%3A", "%2C") for key, _, value in pairs}
        found.append((matched[1], properties, plain(matched[3])))
    return found


def test_github_reads_the_place_the_rule_and_the_fix(make_vault: MakeVault) -> None:
    first, second = annotations(run(make_vault(BOTH), "--format", "github").stdout)
    assert first[:2] == ("error", {"file": OVERRIDE, "title": "WS101"})
    assert second[:2] == ("warning", {"file": "cust/quay/b.md", "line": "3", "title": "WS401"})
    assert second[2] == "broken link: no.md. correct or remove the link"


@pytest.mark.parametrize("name", ["a, b.md", "a:b.md", "100%.md", "a%2Cb.md", "a::b.md"])
def test_github_finds_a_file_of_any_name(make_vault: MakeVault, name: str) -> None:
    root = make_vault(f"=== cust/quay/{name}\n# B\n\n[x](50%25%20off.md)\n")
    [(_, properties, message)] = annotations(run(root, "--format", "github").stdout)
    assert properties == {"file": f"cust/quay/{name}", "line": "3", "title": "WS401"}
    assert "50% off.md" in message


# -- questions -------------------------------------------------------------------------------------

HARBOUR = """\
=== cust/quay/2026-06-10.md
# Call

## STATUS (2026-06-10)

The crane is late.
=== cust/quay/2019-02-03-archive.md
# Archive

The coal pier was built in 1911 by Thorvald Brandt.

"""
LONG_TAIL = "".join(f"Ballast entry {n} of the old books.\n\n" for n in range(300))
DEEP = f"=== cust/quay/2018-02-03-books.md\n# Books\n\n{LONG_TAIL}The last keeper: Sunniva Aas.\n"


def asked(text: str) -> str:
    return f"{HARBOUR}{DEEP}=== {FILE_NAME}\n{text}"


ANSWERED = """\
- id: crane
  question: What holds us up at the quay?
  branch: cust/quay
  facts: [The crane is late]
  where: brief
- id: builder
  question: Who built the coal pier?
  facts:
    - Thorvald Brandt
    - 1911
  where: search
- id: keeper
  question: Who kept the books?
  facts: Sunniva Aas
  where: source
  relpath: cust/quay/2018-02-03-books.md
- id: price
  question: What does the lighthouse cost?
  branch: cust/quay
  facts: ["41,000"]
  where: absent
"""


def test_questions_answered_in_all_four_places_pass(make_vault: MakeVault) -> None:
    assert findings(make_vault(asked(ANSWERED))) == []


@pytest.mark.parametrize(
    ("question", "line", "message"),
    [
        ("crane", 1, "question crane: not in the brief: The crane is early"),
        ("builder", 6, "question builder: not in the search: 1912"),
        ("keeper", 12, "question keeper: not in the source: Gunvor Aas"),
        ("price", 17, "question price: should be absent, but was found: The crane"),
    ],
)
def test_a_question_unanswered_in_any_place_is_found_by_its_name_and_line(
    make_vault: MakeVault, question: str, line: int, message: str
) -> None:
    changes = {
        "crane": ("The crane is late", "The crane is early"),
        "builder": ("1911", "1912"),
        "keeper": ("Sunniva Aas", "Gunvor Aas"),
        "price": ('lighthouse cost?\n  branch: cust/quay\n  facts: ["41,000"]',
                  "lighthouse crane cost?\n  branch: cust/quay\n  facts: [The crane]"),
    }  # fmt: skip
    found = findings(make_vault(asked(ANSWERED.replace(*changes[question]))))
    [finding] = found
    assert (finding["rule"], finding["severity"]) == ("WS501", "error")
    assert finding["path"] == FILE_NAME
    assert finding["message"] == message
    assert abs(finding["line"] - line) <= 1  # the entry or its question


def test_a_fact_may_span_a_line_end(make_vault: MakeVault) -> None:
    text = HARBOUR.replace("The crane is late.", "The crane\nis late.")
    question = "- question: crane?\n  branch: cust/quay\n  facts: [crane is late]\n  where: brief\n"
    assert findings(make_vault(f"{text}=== {FILE_NAME}\n{question}")) == []


def test_also_helps_a_question_find_its_answer(make_vault: MakeVault) -> None:
    question = "- question: Who erected the wharf?\n  facts: [Thorvald Brandt]\n"
    assert len(findings(make_vault(asked(question)))) == 1
    assert findings(make_vault(asked(f"{question}  also: [coal pier, built]\n"))) == []


WRONG = {
    "a table": "question: Where?\nfacts: [here]\n",
    "a text": "Where is the crane?\n",
    "a number": "7\n",
    "no YAML": "- question: [\n",
    "no text": "\udcff\udcfe\n",
    "tabs": "-\tquestion: x\n\tfacts: [y]\n",
    "an impossible day": "- question: 2026-13-45\n",
    "deep nesting": "[" * 2_000 + "\n",
    "a tag": "!!python/object:os.system [ls]\n",
    "an entry that is a text": "- Where is the crane?\n",
    "an entry that is nothing": "- \n",
    "no question": "- facts: [crane]\n",
    "an empty question": "- question: ''\n  facts: [crane]\n",
    "a blank question": "- question: '  '\n  facts: [crane]\n",
    "an unknown place": "- question: crane?\n  facts: [crane]\n  where: anywhere\n",
    "a place that is a list": "- question: crane?\n  facts: [crane]\n  where: [brief]\n",
    "a branch of another vault": "- question: crane?\n  facts: [crane]\n  branch: cust/nowhere\n",
    "a branch that is a number": "- question: crane?\n  facts: [crane]\n  branch: 7\n",
    "a branch that is a list": "- question: crane?\n  facts: [crane]\n  branch: [cust/quay]\n",
    "aliases without end": "- question: crane?\n  id: &a [x]\n"
    + "".join(f"  f{n}: &{chr(98 + n)} [{f'*{chr(97 + n)}, ' * 9}]\n" for n in range(20))
    + "  branch: *u\n",
    "a question of aliases": "- question: &a [x]\n  id: &b [*a, *a]\n",
    "a number as another word": "- question: crane?\n  facts: [zebra]\n  also: 7\n",
    "no facts": "- question: crane?\n",
    "a misspelt field": "- question: crane?\n  fact: [zebra]\n",
    "an empty list of facts": "- question: crane?\n  facts: []\n  where: brief\n",
    "a source that is gone": "- question: x?\n  facts: [a]\n  where: source\n  relpath: no.md\n",
    "a source outside": "- question: x?\n  facts: [a]\n  where: source\n  relpath: ../../a.md\n",
    "a source that is a list": "- question: x?\n  facts: [a]\n  where: source\n  relpath: [a.md]\n",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_malformed_questions_file_fails_the_gate_with_a_plain_line(
    make_vault: MakeVault, text: str
) -> None:
    root = make_vault(asked(text))
    result = run(root)
    assert result.exit_code == 1
    lines = [line for line in result.stdout.splitlines() if ": WS501 error: " in line]
    assert len(lines) == 1
    assert lines[0].startswith(FILE_NAME)
    assert "Traceback" not in result.output


@pytest.mark.parametrize("text", ["[]\n", "--- []\n"])
def test_an_empty_questions_file_asks_nothing(make_vault: MakeVault, text: str) -> None:
    assert findings(make_vault(asked(text))) == []


def test_a_byte_order_mark_before_the_questions_changes_nothing(make_vault: MakeVault) -> None:
    assert findings(make_vault(asked(f"\ufeff{ANSWERED}"))) == []


def test_also_may_be_a_single_word(make_vault: MakeVault) -> None:
    question = "- question: Who erected it?\n  facts: [Thorvald Brandt]\n  also: coal pier\n"
    assert findings(make_vault(asked(question))) == []


def test_words_from_the_question_alone_are_not_an_answer(make_vault: MakeVault) -> None:
    unanswered = "- question: zebra?\n  facts: [zebra]\n"
    [finding] = findings(make_vault(asked(unanswered)))
    assert finding["message"] == "question 1: not in the search: zebra"
    assert findings(make_vault(asked(f"{unanswered}  where: absent\n"))) == []


def test_questions_of_a_vault_without_notes_are_unanswered(make_vault: MakeVault) -> None:
    root = make_vault(f"=== {FILE_NAME}\n- question: crane?\n  facts: [crane]\n")
    assert places(findings(root)) == [("WS501", FILE_NAME, 1)]


# -- a tracker of 88 KB with a hand-written override -----------------------------------------------

TRACKER = f"{QUAY}/tracker.md"
TRACKER_BYTES = 88_000
GOOD_OVERRIDE = """\
---
updated: 2026-06-15
---
# Quay: what holds now

- The harbour office speaks first, then we do. Contact: Ebba Lind, desk of the harbour office.
- Berth 4 stays closed until the crane permit is there.
- **Blocker:** the crane permit is missing, Odo Marsh asks every Monday.
- Invoices carry the berth number, never the name of a ship.
"""
BAD_OVERRIDE = """\
---
updated: 2026-05-28
---
# Quay: what holds now

- The harbour office speaks first, then we do.
- The dredging of berth 2 is completed.
- [x] Order the fenders
- The tariff of 2026-02-03 holds.
- The survey was deferred to May, now it is June.
- The coal pier is no longer ours.
"""
PLANTED_LINES = [7, 8, 9, 10, 11]
NEW_BLOCKER = (
    "- [ ] **[Quay, BLOCKER]** The crane permit is missing, Owner: Odo Marsh, Due: 2026-06-30"
)


def tracker() -> str:
    """Return a long invented history, newest day first; the text is the same every time."""
    choose = random.Random(88)
    who = ("Ebba Lind", "Odo Marsh", "Sunniva Aas", "Thorvald Brandt", "Gunvor Holm")
    what = ("the fenders", "the tide gauge", "berth 2", "the coal pier", "the north light")
    did = ("looked at", "measured", "painted", "ordered parts for", "wrote to the office about")
    why = (
        "the old one leaks at spring tide and nobody knows since when",
        "the insurer asks for a picture of it, with a date on it",
        "the diver found rust below the water line on the seaward side",
        "two crossings were late and the captain wrote a letter",
    )
    parts = ["# Tracker of the quay\n"]
    day, size = date(2026, 6, 15), 0
    while size < TRACKER_BYTES:
        lines = [f"\n## {day.isoformat()}\n\n"]
        if len(parts) == 1:
            lines.append(f"{NEW_BLOCKER}\n")
        for number in range(choose.randint(3, 9)):
            box = "- [x]" if number % 3 == 0 else "-"
            lines.append(
                f"{box} {choose.choice(who)} {choose.choice(did)} {choose.choice(what)}:"
                f" {choose.choice(why)} (entry {len(parts)}.{number})\n"
            )
        parts.append("".join(lines))
        size += len(parts[-1])
        day -= timedelta(days=choose.randint(1, 4))
    return "".join(parts)


def quay_vault(override_text: str) -> str:
    return (
        f"=== {TRACKER}\n{tracker()}=== {QUAY}/index.md\n# Quay\n\n## STATUS (2026-06-15)\n\n"
        f"Berth 4 is closed, all else runs.\n=== {OVERRIDE}\n{override_text}"
    )


def test_the_tracker_is_as_large_as_it_says_and_the_override_fits() -> None:
    assert TRACKER_BYTES <= len(tracker().encode()) < TRACKER_BYTES + 1_500
    assert len(GOOD_OVERRIDE.encode()) < 9_000


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "no index"])
@pytest.mark.parametrize("source", ["startup", "compact"])
def test_the_hook_injects_the_override_of_a_tracker_at_both_points(
    make_vault: MakeVault, open_vault: OpenVault, source: str, with_index: bool
) -> None:
    root = make_vault(quay_vault(GOOD_OVERRIDE))
    if with_index:
        open_vault(root).close()
    arguments = ["hook", "session-start", "--vault", str(root), "--index-dir"]
    stdin = json.dumps({"cwd": str(root / QUAY), "source": source})
    result = CliRunner().invoke(main, [*arguments, str(root.parent / "index")], input=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout_bytes) <= 9_500
    text = json.loads(result.stdout)["hookSpecificOutput"]["additionalContext"]
    assert GOOD_OVERRIDE in text
    head = text[:2_000]
    assert all(word in head for word in (QUAY, "2026-06-15", "STATUS (2026-06-15)"))
    assert "The crane permit is missing, Owner: Odo Marsh" in head
    assert head.index("The crane permit is missing, Owner") < text.index("speaks first")


_BLOCK = re.compile(
    r"^### (?P<path>\S+?):\d+(?:-\d+)? · [^\n]*?(?P<open> · no line end behind the last line)?\n"
    r"(?P<fence>`{3,})\n(?P<text>.*?)^(?P=fence)\n",
    re.MULTILINE | re.DOTALL,
)
_NEXT = re.compile(r'\A\[workingset\][^\n]*\nnext: [^\n]*cursor="([^"]+)"')


def test_full_context_gives_the_whole_tracker_back_byte_for_byte(
    make_vault: MakeVault, open_vault: OpenVault
) -> None:
    root = make_vault(quay_vault(GOOD_OVERRIDE))
    open_vault(root).close()
    arguments = ["full", QUAY, "--vault", str(root), "--index-dir", str(root.parent / "index")]
    texts: dict[str, str] = {}
    cursor: list[str] = []
    for _page in range(20):
        result = CliRunner().invoke(main, [*arguments, *cursor])
        assert (result.exit_code, result.stderr) == (0, "")
        for block in _BLOCK.finditer(result.stdout):
            text = block["text"].removesuffix("\n") if block["open"] else block["text"]
            texts[block["path"]] = texts.get(block["path"], "") + text
        following = _NEXT.match(result.stdout)
        if not following:
            break
        cursor = ["--cursor", following[1]]
    assert texts[TRACKER] == tracker()
    assert texts[OVERRIDE] == GOOD_OVERRIDE
    assert cursor, "88 KB are more than a page"


def test_a_good_override_of_a_tracker_has_no_finding(make_vault: MakeVault) -> None:
    assert findings(make_vault(quay_vault(GOOD_OVERRIDE))) == []


def test_a_bad_override_of_a_tracker_is_named_line_by_line_with_the_blocker_it_misses(
    make_vault: MakeVault,
) -> None:
    found = findings(make_vault(quay_vault(BAD_OVERRIDE)))
    blocker_line = tracker().split("\n").index(NEW_BLOCKER) + 1
    assert places(found) == [
        *(("WS201", OVERRIDE, line) for line in PLANTED_LINES),
        ("WS202", TRACKER, blocker_line),
    ]
    assert "The crane permit is missing" in found[-1]["message"]
