"""Queries as people type them, and their concepts: one row for each form.

A concept is written `kind:text`, with its text in lower case. Not here: what the concepts find
(`test_search_kinds`).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workingset_mcp.answers.search import Concept, Query, parse_query
from workingset_mcp.answers.search.query import MOST_CONCEPTS, MOST_QUERY_CHARACTERS


def told(concepts: tuple[Concept, ...]) -> list[str]:
    return [f"{concept.kind}:{concept.text.lower()}" for concept in concepts]


def concepts_of(typed: str) -> list[str]:
    return told(parse_query(typed).concepts)


HYPHENS_DOTS_AND_NAMES = [
    ("multi-agent", ["phrase:multi-agent", "word:multi", "word:agent"]),
    ("multi\u2011agent", ["phrase:multi\u2011agent", "word:multi", "word:agent"]),
    ("Acme\u2013Labs", ["phrase:acme\u2013labs", "word:acme", "word:labs"]),
    (
        "state-of-the-art plan",
        ["phrase:state-of-the-art", "word:state", "word:art", "word:plan"],
    ),
    ("-exclude", ["word:exclude"]),
    ("--dry-run", ["phrase:dry-run", "word:dry", "word:run"]),
    ("a-b", ["phrase:a-b"]),
    ("node.js", ["phrase:node.js", "word:node", "word:js"]),
    ("the end.", ["word:end"]),
    ("foo_bar", ["phrase:foo_bar", "word:foo", "word:bar"]),
    ("_private", ["word:private"]),
    ("**bold** and `code`", ["word:bold", "word:code"]),
    ("[[wiki link]]", ["word:wiki", "word:link"]),
    (
        "mara@brunnfeld.example",
        ["phrase:mara@brunnfeld.example", "word:mara", "word:brunnfeld", "word:example"],
    ),
    (
        "docs/plan.md",
        ["phrase:docs/plan.md", "word:docs", "word:plan", "word:md"],
    ),
    (
        "C:\\notes\\plan",
        ["phrase:c:\\notes\\plan", "word:notes", "word:plan"],
    ),
    (
        "https://brunnfeld.example/kiln?step=2",
        [
            "phrase:https://brunnfeld.example/kiln?step=2",
            "word:https",
            "word:brunnfeld",
            "word:example",
            "word:kiln",
            "word:step",
        ],
    ),
]
VERSIONS_AND_IDS = [
    ("3.12.1", ["phrase:3.12.1"]),
    ("v1.2.3", ["phrase:v1.2.3", "word:v1"]),
    ("release 0.11.16", ["word:release", "phrase:0.11.16"]),
    ("DEC-0054", ["phrase:dec-0054", "word:dec", "word:0054"]),
    ("GH-42", ["phrase:gh-42", "word:gh"]),
    ("#4711", ["word:#4711"]),
    ("RFC 9110", ["word:rfc", "word:9110"]),
    (
        "ISO/IEC 27001:2022",
        [
            "phrase:iso/iec",
            "word:iso",
            "word:iec",
            "phrase:27001:2022",
            "word:27001",
            "word:2022",
        ],
    ),
    ("10:30", ["phrase:10:30"]),
    ("57,141 tokens", ["phrase:57,141", "word:141", "word:tokens"]),
]
SYMBOLS = [
    ("C++", ["word:c++"]),
    ("(C++)?", ["word:c++"]),
    ("C++, Java.", ["word:c++", "word:java"]),
    ("C#", ["word:c#"]),
    ("C", ["word:c"]),
    (".NET", ["word:.net"]),
    ("100%", ["word:100%"]),
    ("$500", ["word:$500"]),
    ("C# and C++", ["word:c#", "word:c++"]),
    ("C or C++", ["word:c", "word:c++"]),
    ("*", []),
    ("?!…", []),
    ("+", []),
    ('"', []),
    ('""', []),
    ("🚀", ["word:🚀"]),
    ("🚀 launch", ["word:🚀", "word:launch"]),
    ("", []),
    ("\0", []),
]
QUOTES = [
    ('"two regions"', ["phrase:two regions", "word:two", "word:regions"]),
    ("“two regions”", ["phrase:two regions", "word:two", "word:regions"]),
    ("„zwei Regionen“", ["phrase:zwei regionen", "word:zwei", "word:regionen"]),
    ("«deux régions»", ["phrase:deux régions", "word:deux", "word:régions"]),
    ("« deux régions »", ["phrase:deux régions", "word:deux", "word:régions"]),
    (
        'quota of "two regions" today',
        ["phrase:two regions", "word:quota", "word:two", "word:regions", "word:today"],
    ),
    ('"two regions', ["word:two", "word:regions"]),
    ('two regions"', ["word:two", "word:regions"]),
    ("“two regions", ["word:two", "word:regions"]),
    ('"plan"', ["word:plan"]),
    ('"to be or not to be"', ["phrase:to be or not to be"]),
]
APOSTROPHES = [
    ("what's the budget, roughly?", ["word:budget", "word:roughly"]),
    ("what’s the budget, roughly?", ["word:budget", "word:roughly"]),
    ("L'Avenir Foods", ["word:avenir", "word:foods"]),
    ("L’Avenir Foods", ["word:avenir", "word:foods"]),
    ("Mara's plan", ["word:mara", "word:plan"]),
    ("Mara’s plan", ["word:mara", "word:plan"]),
    ("the customers' terms", ["word:customers", "word:terms"]),
    ("qu'il livre l'orge", ["word:livre", "word:orge"]),
    ("O'Brien", ["phrase:o'brien", "word:brien"]),
    ("why doesn't the importer run?", ["word:importer", "word:run"]),
    ("when we’ll ship", ["word:ship"]),
    ("they aren't signed", ["word:signed"]),
]
OPERATORS = [
    ("research AND development", ["word:research", "word:development"]),
    ("research OR development", ["word:research", "word:development"]),
    ("NOT July", ["word:july"]),
    ("AND", ["word:and"]),
    ("OR NOT", ["word:or", "word:not"]),
    ("plan*", ["word:plan"]),
    ("(depot", ["word:depot"]),
    ("((depot) OR (kiln))", ["word:depot", "word:kiln"]),
    ("^research", ["word:research"]),
    ("body:plan", ["phrase:body:plan", "word:body", "word:plan"]),
    ("NEAR(depot kiln)", ["phrase:near(depot", "word:near", "word:depot", "word:kiln"]),
    ("{title body} : kiln", ["word:title", "word:body", "word:kiln"]),
]
ACCENTS = [
    ("Café Zürich", ["word:café", "word:zürich"]),
    ("cafe\u0301", ["word:café"]),
    ("Straße", ["word:straße"]),
    ("Москва", ["word:москва"]),
    ("soft\u00a0blank\tand\nline", ["word:soft", "word:blank", "word:line"]),
]
CJK = [
    ("東京倉庫", ["cjk:東京", "cjk:京倉", "cjk:倉庫"]),
    ("東京の倉庫", ["cjk:東京", "cjk:倉庫"]),
    ("予算はいくらですか", ["cjk:予算"]),
    ("预算是多少", ["cjk:预算"]),
    ("谁是负责人", ["cjk:负责", "cjk:责人"]),
    ("서울 창고", ["cjk:서울", "cjk:창고"]),
    ("예산은", ["cjk:예산"]),
    ("倉", ["cjk:倉"]),
    ("창", ["cjk:창"]),
    ("はが", ["cjk:はが"]),
    ("是", ["cjk:是"]),
    ("倉 は", ["cjk:倉"]),
    ("「東京」", ["cjk:東京"]),
    ("倉庫、予算。", ["cjk:倉庫", "cjk:予算"]),
]
MIXED_SCRIPTS = [
    ("API仕様", ["cjk:仕様", "word:api"]),
    ("TLSの期限", ["cjk:期限", "word:tls"]),
    ("Kubernetes集群", ["cjk:集群", "word:kubernetes"]),
    ("Grafana대시보드", ["cjk:대시", "cjk:시보", "cjk:보드", "word:grafana"]),
    ("the 倉庫 budget", ["cjk:倉庫", "word:budget"]),
    ("東京2026-06-18会議", ["date:2026-06-18", "cjk:東京", "cjk:会議"]),
]
STOP_WORDS = [
    ("what did we decide about the renewal?", ["word:decide", "word:renewal"]),
    ("wer ist für das Lager verantwortlich", ["word:lager", "word:verantwortlich"]),
    ("über den Ofen", ["word:ofen"]),
    ("quand est la livraison", ["word:livraison"]),
    ("où est le contrat", ["word:contrat"]),
    ("cuántos hornos hay en el taller", ["word:hornos", "word:taller"]),
    ("dónde están las llaves", ["word:están", "word:llaves"]),
    ("não são as contas", ["word:contas"]),
    ("perché il forno", ["word:forno"]),
    ("waar is het magazijn", ["word:magazijn"]),
    ("who are they", ["word:who", "word:are", "word:they"]),
    ("wer ist das", ["word:wer", "word:ist", "word:das"]),
    ("où est il", ["word:où", "word:est", "word:il"]),
    ("qué es", ["word:qué", "word:es"]),
    ("für", ["word:für"]),
    ("IT", ["word:it"]),
]


FORMS = [
    *HYPHENS_DOTS_AND_NAMES,
    *VERSIONS_AND_IDS,
    *SYMBOLS,
    *QUOTES,
    *APOSTROPHES,
    *OPERATORS,
    *ACCENTS,
    *CJK,
    *MIXED_SCRIPTS,
    *STOP_WORDS,
]


@pytest.mark.parametrize(("typed", "expected"), FORMS, ids=[typed for typed, _ in FORMS])
def test_what_a_person_types_becomes_concepts(typed: str, expected: list[str]) -> None:
    assert sorted(concepts_of(typed)) == sorted(expected)


DATES = [
    "2026-06-18",
    "2026/06/18",
    "2026.06.18",
    "2026_06_18",
    "20260618",
    "2026-6-18",
    "2026–06–18",
    "18.06.2026",
    "18. 6. 2026",
    "18/06/2026",
    "06/18/2026",
    "June 18, 2026",
    "June 18th 2026",
    "Jun 18 2026",
    "18 June 2026",
    "18th of June 2026",
    "18-Jun-2026",
    "18. Juni 2026",
    "18 juin 2026",
    "18 de junio de 2026",
    "18 de junho de 2026",
    "18 giugno 2026",
    "18 juni 2026",
    "2026年6月18日",
    "2026년 6월 18일",
    "2026-06-18T16:40Z",
    "2026-06-18 16:40",
    "16:40, 2026-06-18",
]


@pytest.mark.parametrize("typed", DATES)
def test_a_date_in_any_form_becomes_one_date_concept(typed: str) -> None:
    query = parse_query(typed)
    assert (told(query.concepts), query.dates) == (["date:2026-06-18"], ("2026-06-18",))


@pytest.mark.parametrize("typed", DATES)
def test_words_around_a_date_stay_words(typed: str) -> None:
    assert concepts_of(f"the kiln review of {typed}, please") == [
        "date:2026-06-18",
        "word:kiln",
        "word:review",
        "word:please",
    ]


@pytest.mark.parametrize("typed", ["2026-06", "June 2026", "Juni 2026", "2026年6月", "juin 2026"])
def test_a_month_becomes_one_date_concept(typed: str) -> None:
    assert concepts_of(typed) == ["date:2026-06"]


def test_two_dates_become_two_date_concepts() -> None:
    query = parse_query("kiln from 2026-06-01 to 18 June 2026")
    assert told(query.concepts) == ["date:2026-06-01", "date:2026-06-18", "word:kiln"]
    assert query.dates == ("2026-06-01", "2026-06-18")


def test_a_date_written_twice_in_two_forms_is_one_date() -> None:
    assert parse_query("2026-06-18, that is 18 June 2026").dates == ("2026-06-18",)


@pytest.mark.parametrize("typed", ["02/09/2015", "0.11.16", "16:40", "2026-13-40", "10-12"])
def test_an_uncertain_date_becomes_no_date_concept(typed: str) -> None:
    query = parse_query(typed)
    assert query.dates == ()
    assert {concept.kind for concept in query.concepts} <= {"word", "phrase"}


def test_stop_words_beside_a_date_are_dropped() -> None:
    assert concepts_of("what was on 2026-06-18?") == ["date:2026-06-18"]


# -- words that are not the question's own ---------------------------------------------------------

GLOSSARY = {
    "headcount": ("number of engineers", "developers"),
    "Käufer": ("purchaser",),
    "c++": ("cpp",),
}


def own_and_added(query: Query) -> tuple[list[str], list[str]]:
    own = tuple(concept for concept in query.concepts if concept.own)
    added = tuple(concept for concept in query.concepts if not concept.own)
    return told(own), told(added)


def test_also_adds_concepts_that_are_not_the_questions_own() -> None:
    query = parse_query("kiln budget", also=["oven", "spending plan", "dec-7", "炉"])
    assert own_and_added(query) == (
        ["word:kiln", "word:budget"],
        ["word:oven", "word:spending", "word:plan", "phrase:dec-7", "word:dec", "cjk:炉"],
    )
    assert query.also == ("oven", "spending plan", "dec-7", "炉")


def test_also_drops_stop_words_as_the_question_does() -> None:
    query = parse_query("kiln", also=["the oven of the house"])
    assert own_and_added(query) == (["word:kiln"], ["word:oven", "word:house"])


def test_also_that_repeats_the_question_adds_nothing() -> None:
    query = parse_query("the budget", also=["the budget", "budget", "what budget?"])
    assert own_and_added(query) == (["word:budget"], [])


def test_empty_also_changes_nothing() -> None:
    assert parse_query("kiln", also=["", " ", "?"]).concepts == parse_query("kiln").concepts


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("our headcount?", ("number of engineers", "developers")),
        ("HEADCOUNT", ("number of engineers", "developers")),
        ("headcounts", ()),
        ("head count", ()),
        ("wer ist der käufer", ("purchaser",)),
        ("wer ist der kaufer", ("purchaser",)),
        ("a C++ job", ("cpp",)),
        ("developers", ()),
    ],
)
def test_the_glossary_applies_where_its_key_is_a_whole_word(
    typed: str, named: tuple[str, ...]
) -> None:
    assert parse_query(typed, glossary=GLOSSARY).named == named


def test_words_of_the_glossary_weigh_less_and_are_not_the_questions_own() -> None:
    query = parse_query("headcount", glossary=GLOSSARY)
    assert own_and_added(query) == (
        ["word:headcount"],
        ["word:number", "word:engineers", "word:developers"],
    )
    own, *added = query.concepts
    assert all(concept.weight < own.weight for concept in added)


# -- what holds for every query --------------------------------------------------------------------


@given(st.text(st.characters(codec=None), max_size=300), st.lists(st.text(max_size=40), max_size=4))
def test_any_text_becomes_a_bounded_query(text: str, also: list[str]) -> None:
    query = parse_query(text, also=also)
    assert len(query.concepts) <= MOST_CONCEPTS
    told_apart = {(concept.expr, concept.literal) for concept in query.concepts}
    assert len(told_apart) == len(query.concepts)
    assert parse_query(text, also=also) == query


def test_a_query_over_the_maximum_length_is_cut_there() -> None:
    typed = "kiln " + " " * MOST_QUERY_CHARACTERS + "oven"
    assert concepts_of(typed) == ["word:kiln"]


def test_five_thousand_words_become_no_more_than_the_most_concepts() -> None:
    typed = " ".join(f"w{number}" for number in range(5_000))
    assert len(parse_query(typed).concepts) == MOST_CONCEPTS


def test_own_words_are_not_crowded_out_by_also() -> None:
    crowd = [" ".join(f"other{number}" for number in range(200))]
    query = parse_query("kiln budget", also=crowd)
    assert told(query.concepts[:2]) == ["word:kiln", "word:budget"]
