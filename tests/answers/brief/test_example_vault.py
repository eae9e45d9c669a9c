"""The example vault answers its questions, each in the place that its list names.

The list is fixtures/vault/workingset-questions.yaml. Update the briefs under golden/ in the commit that
changes them: `pytest --inline-snapshot=fix`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from inline_snapshot import external_file

from answers.brief.reading import STATUS, read_brief
from workingset_mcp.answers.answer import printed
from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.settings import load_settings
from workingset_mcp.workspace.facade import Workspace

EXAMPLE = Path(__file__).parents[3] / "fixtures" / "vault"
BUDGETS = (8_000, 2_000)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the facts of its answer, and the place where they must be."""

    id: str
    question: str
    branch: str
    facts: tuple[str, ...]
    where: str  # brief, search, source
    relpath: str


def questions(where: str) -> list[Question]:
    listed = yaml.safe_load((EXAMPLE / "workingset-questions.yaml").read_text(encoding="utf-8"))
    found = [Question(**{**entry, "facts": tuple(entry["facts"])}) for entry in listed]
    return [question for question in found if question.where == where]


def each(where: str) -> pytest.MarkDecorator:
    found = questions(where)
    return pytest.mark.parametrize("question", found, ids=[question.id for question in found])


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    index_dir = str(tmp_path_factory.mktemp("example-index"))
    workspace = Workspace(EXAMPLE, load_settings(EXAMPLE, {"index_dir": index_dir}))
    workspace.build()
    yield workspace
    workspace.close()


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKINGSET_TODAY", "2026-06-17")


def test_every_question_says_where_its_answer_is() -> None:
    kinds = {where: questions(where) for where in ("brief", "search", "source")}
    assert all(kinds.values())
    listed = yaml.safe_load((EXAMPLE / "workingset-questions.yaml").read_text(encoding="utf-8"))
    assert sum(map(len, kinds.values())) == len(listed)
    for question in [one for some in kinds.values() for one in some]:
        note = (EXAMPLE / question.relpath).read_text(encoding="utf-8")
        assert question.relpath.startswith(f"{question.branch}/")
        assert [fact for fact in question.facts if fact not in note] == []


@pytest.mark.parametrize("budget", BUDGETS)
@each("brief")
def test_the_brief_holds_what_a_session_must_know(
    example: Workspace, question: Question, budget: int
) -> None:
    text = printed(example.brief(question.branch, budget))
    assert count_tokens(text) <= budget
    assert [fact for fact in question.facts if fact not in text] == []


@each("search")
def test_a_search_finds_what_the_brief_leaves_out(example: Workspace, question: Question) -> None:
    for budget in BUDGETS:
        brief = printed(example.brief(question.branch, budget))
        assert [fact for fact in question.facts if fact in brief] == []
    for scope in (question.branch, None):
        found = printed(example.search(question.question, branch=scope))
        assert [fact for fact in question.facts if fact not in found] == []
        assert question.relpath in found


@each("source")
def test_a_source_holds_what_the_brief_leaves_out(example: Workspace, question: Question) -> None:
    for budget in BUDGETS:
        brief = printed(example.brief(question.branch, budget))
        assert [fact for fact in question.facts if fact in brief] == []
    opened = printed(example.open(question.relpath))
    assert [fact for fact in question.facts if fact not in opened] == []


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_misleading_number_comes_with_the_word_that_explains_it(
    example: Workspace, budget: int
) -> None:
    text = printed(example.brief("cust/acme", budget))
    lines = [line for line in text.split("\n") if "10-20 core engineers" in line]
    assert lines
    assert [line for line in lines if "workshop" not in line.lower()] == []


def test_the_latest_status_is_the_corrected_one(example: Workspace) -> None:
    for budget in BUDGETS:
        shown = read_brief(printed(example.brief("cust/acme", budget)))
        (quote,) = shown.section(STATUS).quotes
        assert quote.lines[0] == "## STATUS (2026-06-16)"
        assert shown.fields["as_of"] == "2026-06-16"


def test_a_brief_shows_no_other_customer(example: Workspace) -> None:
    for branch in ("cust/acme", "cust/acme-labs", "projects/billing-migration", "wiki", "log", "."):
        shown = read_brief(printed(example.brief(branch)))
        marked = [
            source.partition(" · ")[0].rpartition(":")[0] or source
            for section in shown.sections.values()
            for _, sources in section.marked
            for source in sources
        ]
        quoted = [quote.path for section in shown.sections.values() for quote in section.quotes]
        paths = {path for path in [*marked, *quoted] if (EXAMPLE / path).is_file()}
        assert paths
        own = "" if branch == "." else f"{branch}/"
        assert {path for path in paths if not path.startswith(own)} == set()


def test_the_brief_of_acme_at_2_000_tokens(example: Workspace) -> None:
    assert printed(example.brief("cust/acme", 2_000)) == external_file(
        "golden/cust-acme-2000.md", format=".txt"
    )


def test_the_brief_of_the_billing_migration(example: Workspace) -> None:
    assert printed(example.brief("projects/billing-migration")) == external_file(
        "golden/billing-migration.md", format=".txt"
    )
