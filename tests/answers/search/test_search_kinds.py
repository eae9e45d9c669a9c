"""Each kind of question that people ask, on a vault of its own: what is found, what comes first, what is said.

The kinds come from failures of other search tools: words that an index splits differently, characters that
are syntax elsewhere, stems, scripts without spaces, absent words, copies, neighbouring branches, dates, sizes.
"""

import re
from typing import Any

import pytest
from conftest import OpenVault, exact_tokens

from answers.search.test_pack import Run, lines_of, read_answer
from workingset_mcp.answers.answer import printed
from workingset_mcp.cli.written import write_brief
from workingset_mcp.errors import ArgumentError
from workingset_mcp.workspace.facade import Workspace


def found(workspace: Workspace, query: str, **limits: Any) -> list[str]:
    """Return the names of the notes that a search shows, best first, without folder and suffix."""
    paths = read_answer(printed(workspace.search(query, **limits))).paths
    return [path.rpartition("/")[2].removesuffix(".md") for path in paths]


def notices(workspace: Workspace, query: str, **limits: Any) -> str:
    """Return the lines above the passages of a search."""
    return "\n".join(read_answer(printed(workspace.search(query, **limits))).notices)


def vault_of(notes: dict[str, str], branch: str = "cust/acme") -> str:
    return "".join(f"=== {branch}/{name}.md\n{text}\n" for name, text in notes.items())


# -- letters ---------------------------------------------------------------------------------------

LETTERS = vault_of(
    {
        "accents": "# Café Zürich\n\nRésumé of the naïve approach.",
        "bare": "# Plain\n\nThe facade of the cooperative.",
        "apart": "# Apart\n\nThe cre\u0300me bru\u0302le\u0301e of Go\u0308teborg.",
        "turkish": "# Turkish\n\nThe depot of İstanbul and the hall in Iğdır.",
        "polish": "# Polish\n\nŻółw z Łodzi.",
        "vietnamese": "# Vietnamese\n\nKho hàng ở Đà Nẵng.",
        "danish": "# Danish\n\nSmørrebrød fra Ærø.",
        "german": "# German\n\nDie Straße nach Gießen.",
        "russian": "# Russian\n\nНовый чайный склад, ёлка и съезд.",
        "ukrainian": "# Ukrainian\n\nПоїзд до Києва.",
        "greek": "# Greek\n\nΗ αποθήκη στην Αθήνα, και το φως.",
        "hindi": "# Hindi\n\nबैठक सोमवार को होगी।",
        "arabic": "# Arabic\n\nالْمِيزَانِيَّة محدودة هذا العام.",
        "hebrew": "# Hebrew\n\nהמחסן בחיפה סגור.",
        "thai": "# Thai\n\nประชุม ประจำเดือน",
        "georgian": "# Georgian\n\nსაწყობი თბილისში.",
    }
)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("cafe zurich", "accents"),
        ("café zürich", "accents"),
        ("CAFÉ ZÜRICH", "accents"),
        ("cafe\u0301 zu\u0308rich", "accents"),
        ("resume", "accents"),
        ("re\u0301sume\u0301", "accents"),
        ("naive", "accents"),
        ("façade", "bare"),
        ("fac\u0327ade", "bare"),
        ("coöperative", "bare"),
        ("crème brûlée", "apart"),
        ("creme brulee", "apart"),
        ("cre\u0300me", "apart"),
        ("Göteborg", "apart"),
        ("istanbul", "turkish"),
        ("İstanbul", "turkish"),
        ("ISTANBUL", "turkish"),
        ("Iğdır", "turkish"),
        ("żółw", "polish"),
        ("Łodzi", "polish"),
        ("Đà Nẵng", "vietnamese"),
        ("hàng", "vietnamese"),
        ("hang", "vietnamese"),
        ("smørrebrød", "danish"),
        ("Ærø", "danish"),
        ("straße", "german"),
        ("Gießen", "german"),
        ("чайный", "russian"),
        ("НОВЫЙ", "russian"),
        ("ёлка", "russian"),
        ("Ёлка", "russian"),
        ("съезд", "russian"),
        ("поїзд", "ukrainian"),
        ("Києва", "ukrainian"),
        ("αποθήκη", "greek"),
        ("Αθήνα", "greek"),
        ("φως", "greek"),
        ("बैठक", "hindi"),
        ("सोमवार को", "hindi"),
        ("الْمِيزَانِيَّة", "arabic"),
        ("محدودة", "arabic"),
        ("המחסן", "hebrew"),
        ("ประชุม", "thai"),
        ("საწყობი", "georgian"),
    ],
)
def test_a_word_is_found_as_written_and_with_or_without_its_accents(
    open_vault: OpenVault, query: str, name: str
) -> None:
    workspace = open_vault(LETTERS)
    assert (found(workspace, query)[:1], notices(workspace, query)) == ([name], "")


# -- marks inside words ----------------------------------------------------------------------------

MARKS = vault_of(
    {
        "other": "# Other\n\nNothing related, by anyone.",
        "ids": "# Ids\n\nDEC-0054 replaces RFC_0011; see ticket OPS-7 and build 4.11.2.",
        "hyphens": "# Hyphens\n\nThe multi-agent plan and the state-of-the-art survey.",
        "mail": "# Mail\n\nAsk mara.lindqvist@brunnfeld.example about docs/kiln_plan.md.",
        "talk": "# Talk\n\nWhat's the budget, roughly? L'Avenir Foods doesn’t know; O'Brien does.",
        "site": "# Site\n\nRead https://brunnfeld.example/kiln/2?step=oil#top first.",
        "names": "# Names\n\nThe function load_kiln_map and the file C:\\yard\\book.txt.",
    }
)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("DEC-0054", "ids"),
        ("dec-0054", "ids"),
        ("DEC 0054", "ids"),
        ("0054", "ids"),
        ("RFC_0011", "ids"),
        ("RFC-0011", "ids"),
        ("OPS-7", "ids"),
        ("build 4.11.2", "ids"),
        ("4.11.2", "ids"),
        ("multi-agent", "hyphens"),
        ("multi agent", "hyphens"),
        ("multi\u2011agent", "hyphens"),
        ("state-of-the-art plan", "hyphens"),
        ("mara.lindqvist@brunnfeld.example", "mail"),
        ("lindqvist", "mail"),
        ("docs/kiln_plan.md", "mail"),
        ("kiln_plan", "mail"),
        ("what's the budget, roughly?", "talk"),
        ("what’s the budget, roughly?", "talk"),
        ("L'Avenir Foods", "talk"),
        ("l’avenir", "talk"),
        ("Avenir", "talk"),
        ("O'Brien", "talk"),
        ("O’Brien", "talk"),
        ("OBrien's budget", "talk"),
        ("https://brunnfeld.example/kiln/2?step=oil#top", "site"),
        ("load_kiln_map", "names"),
        ("load_kiln_map()", "names"),
        ("C:\\yard\\book.txt", "names"),
        ('"function load_kiln_map"', "names"),
    ],
)
def test_marks_inside_words_are_not_syntax(open_vault: OpenVault, query: str, name: str) -> None:
    assert found(open_vault(MARKS), query)[:1] == [name]


def test_an_exact_phrase_comes_before_its_words_apart(open_vault: OpenVault) -> None:
    workspace = open_vault(
        vault_of(
            {
                "apart": "# Apart\n\nRegions, regions: two of the regions, or two more regions.",
                "phrase": "# Phrase\n\nWe settle on two regions for the first year of use.",
            }
        )
    )
    assert found(workspace, '"two regions"') == ["phrase", "apart"]


SYMBOLS = vault_of(
    {
        "symbols": "# Hiring\n\nNeeds C++ and C# and .NET; F# is a plus. 100% remote, $500 a day.",
        "letters": "# Vitamin\n\nVitamin C, C, C in the net of 100, f, 500: plus a net of C.",
        "no": "# Other\n\nNothing of it.",
    }
)


@pytest.mark.parametrize("query", ["C++", "c++", "C#", ".NET", "F#", "100%", "$500", "(C++)?"])
def test_symbols_belong_to_the_word(open_vault: OpenVault, query: str) -> None:
    workspace = open_vault(SYMBOLS)
    assert found(workspace, query)[0] == "symbols"
    assert "no" not in found(workspace, query)


def test_each_of_two_names_that_differ_by_a_symbol_counts(open_vault: OpenVault) -> None:
    notes = {f"day-{number}": f"# Day {number}\n\nThe yard is quiet." for number in range(9)}
    notes["both"] = "# Both\n\nThe importer is written in C, its window in C++."
    notes["one"] = "# One\n\nC here, C there: grade C, plan C, and a C for the effort."
    workspace = open_vault(vault_of(notes))
    assert found(workspace, "C or C++")[0] == "both"


# -- dates -----------------------------------------------------------------------------------------

DATE_FORMS = [
    "2026-06-18",
    "2026/06/18",
    "20260618",
    "18.06.2026",
    "18 June 2026",
    "June 18th, 2026",
    "18. Juni 2026",
    "2026年6月18日",
    "what was on 2026-06-18?",
]


@pytest.mark.parametrize("query", DATE_FORMS)
@pytest.mark.parametrize(
    "path",
    [
        "daily/2026-06-18.md",
        "daily/20260618.md",
        "2026/06/18.md",
        "2026/06-18-call.md",
        "18. Juni 2026.md",
    ],
)
def test_the_note_of_a_day_comes_first(open_vault: OpenVault, path: str, query: str) -> None:
    workspace = open_vault(
        f"=== cust/acme/{path}\n# Thursday\n\nShort call.\n"
        "=== cust/acme/note.md\n# Note\n\nThe review of 18 June, in week 2026-25, page 18.\n"
        "=== cust/acme/2026-06-17.md\n# Wednesday\n\nShort call, too.\n"
    )
    assert read_answer(printed(workspace.search(query))).paths[:1] == [f"cust/acme/{path}"]


@pytest.mark.parametrize("query", DATE_FORMS)
def test_the_section_of_a_day_comes_first(open_vault: OpenVault, query: str) -> None:
    workspace = open_vault(
        "=== cust/acme/minutes.md\n# Minutes\n\n## June 11, 2026\n\nThe crane is oiled today.\n\n"
        "## June 18, 2026\n\nThe crane is sold today.\n\n## June 25, 2026\n\nThe crane is gone.\n"
    )
    run = read_answer(printed(workspace.search(query))).runs[0]
    assert run.lines == ("The crane is sold today.",)


def test_a_date_ranks_the_note_of_that_day_above_similar_ones(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "".join(
            f"=== cust/acme/2026-05-{day:02}.md\n# Call\n\nThe importer review, week {day}.\n"
            for day in range(1, 29)
        )
    )
    assert found(workspace, "importer review of May 19, 2026")[0] == "2026-05-19"


# -- stems -----------------------------------------------------------------------------------------


# exact word: (note that holds it, note that holds others of its stem)
STEMS = {
    "news": ("The news about the plant opening.", "New new new account, new form."),
    "university": ("The university signed.", "A universal remote, universal fit."),
    "organization": ("The organization grows fast.", "The organ and other organs."),
    "generics": ("The generics compile well.", "A general rule, a general plan."),
    "marketing": ("The marketing is done.", "The market of markets."),
    "caching": ("The caching is on.", "The cache, a cache for caches."),
}


@pytest.mark.parametrize("query", STEMS)
@pytest.mark.parametrize("crowd", [2, 20])
def test_the_exact_word_comes_before_words_of_its_stem(
    open_vault: OpenVault, query: str, crowd: int
) -> None:
    exact, stemmed = STEMS[query]
    notes = {f"day-{number}": f"# Day {number}\n\nThe yard is quiet." for number in range(crowd)}
    notes |= {"stemmed": f"# Setup\n\n{stemmed}", "exact": f"# Press\n\n{exact}"}
    assert found(open_vault(vault_of(notes)), query)[0] == "exact"


@pytest.mark.parametrize("query", ["cached", "caches", "cache", "caching"])
def test_another_form_of_the_word_is_found(open_vault: OpenVault, query: str) -> None:
    workspace = open_vault(vault_of({"a": "# A\n\nThe caching is on.", "b": "# B\n\nNothing."}))
    assert (found(workspace, query), notices(workspace, query)) == (["a"], "")


# -- operators and garbage -------------------------------------------------------------------------

OPERATORS = vault_of(
    {"op": "# Research and development\n\nNEAR the depot, NOT before July, this OR that column."}
)


@pytest.mark.parametrize(
    "query",
    [
        '"research AND development',
        "research AND",
        "OR depot",
        "NOT depot",
        "(depot",
        "depot)",
        "NEAR(depot",
        "NEAR(depot july, 5)",
        "^research",
        "depot*",
        "*depot",
        "body:depot",
        "{body path}: depot",
        "depot + july",
        "depot -july",
        "-depot",
        "'depot'",
        "depot;",
        "depot--",
        "' OR 1=1 -- depot",
        "depot\0july",
        "\ud800depot\udfff",
        "\N{RIGHT-TO-LEFT OVERRIDE}depot",
        "depot " * 5_000,
        " ".join(f"w{number}" for number in range(20)) + " depot",
        "[depot](july)",
        "%depot%",
        "depot_",
    ],
    ids=lambda query: query[:24].encode("ascii", "backslashreplace").decode(),
)
def test_operators_and_garbage_are_text(open_vault: OpenVault, query: str) -> None:
    assert found(open_vault(OPERATORS), query) == ["op"]


@pytest.mark.parametrize(
    "query", ["*", "?!…", '"', '""', "()", "-", "--", "+", "\0", "\udfff", "^", ":", "...."]
)
def test_a_query_without_a_word_finds_nothing_and_says_so(
    open_vault: OpenVault, query: str
) -> None:
    text = printed(open_vault(OPERATORS).search(query))
    answer = read_answer(text)
    assert (answer.passages, answer.runs) == (0, ())
    assert "holds no word" in text
    assert "Nothing found in the whole vault (1 note)." in text


@pytest.mark.parametrize("query", ["", " ", "\t\n", "\u00a0", "\u3000"])
def test_an_empty_query_is_refused(open_vault: OpenVault, query: str) -> None:
    with pytest.raises(ArgumentError, match="query is empty"):
        printed(open_vault(OPERATORS).search(query))


@pytest.mark.parametrize("query", ["AND", "OR", "NOT", "NEAR"])
def test_an_operator_alone_is_a_word(open_vault: OpenVault, query: str) -> None:
    assert found(open_vault(OPERATORS), query) == ["op"]


# -- questions -------------------------------------------------------------------------------------

QUESTIONS = vault_of(
    {
        **{
            f"day-{number:02}": f"# Day {number}\n\nWhat we did on day {number}: the call was "
            "about the usual things, and we will see what to do, who does it and when."
            for number in range(1, 25)
        },
        "lunch": "# Lunch\n\nWhat did we order for lunch about noon, and who paid for it?",
        "renewal": "# Renewal\n\nDecision: renew for two years with the regional tier.",
        "escalation": "# People\n\nMara Lindqvist owns the escalation path since the spring.",
        "limits": "# Quotas\n\nThe importer takes at most 400 rows a minute per tenant.",
        "lager": "# Lager\n\nDas Lager in Brunnfeld schließt am Freitag um 16 Uhr.",
        "livraison": "# Livraison\n\nLa livraison des fours est prévue pour le mois de mars.",
        "almacen": "# Almacén\n\nEl almacén guarda doce hornos y una grúa vieja.",
        "souko": "# 倉庫\n\n倉庫の鍵は受付の田中さんが持っています。",
    }
)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("what did we decide about the acme renewal tier?", "renewal"),
        ("For how many years do we renew?", "renewal"),
        ("who owns the escalation path?", "escalation"),
        ("Who is responsible for escalations at the moment?", "escalation"),
        ("how many rows per minute can the importer take?", "limits"),
        ("is there a quota for the importer, and what is it?", "limits"),
        ("Wann schließt das Lager am Freitag?", "lager"),
        ("Quand est prévue la livraison des fours ?", "livraison"),
        ("¿Cuántos hornos hay en el almacén?", "almacen"),
        ("倉庫の鍵は誰が持っていますか？", "souko"),
    ],
)
def test_a_question_in_plain_language_ranks_the_note_that_answers_first(
    open_vault: OpenVault, question: str, name: str
) -> None:
    assert found(open_vault(QUESTIONS), question)[0] == name


def test_one_unknown_word_does_not_empty_the_answer(open_vault: OpenVault) -> None:
    workspace = open_vault(QUESTIONS)
    assert found(workspace, "escalation path xylophone")[0] == "escalation"


# -- names beside the text -------------------------------------------------------------------------

FRONT = """\
=== cust/acme/bills.md
# Bills

The invoice arrived on Monday.
=== cust/acme/call.md
---
type: meeting
owner: finance lead
tags: [invoice, quarterly]
aliases:
  - Quillfish Works
  - QFW
---

# Call

Short text about the weather.
=== cust/acme/garden.md
---
{"title": "Garden", "tags": ["compost"], "secret_key": "sunflower"}
---
The beds are dug.
=== cust/acme/broken.md
---
title: Broken: note
tags: [unclosed
path: "C:\\x"
---
The hinge is bent.
=== cust/acme/tagged.md
---
tags: solitude
---
"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("invoice", {"bills", "call"}),
        ("quarterly", {"call"}),
        ("Quillfish", {"call"}),
        ("quillfish works", {"call"}),
        ("QFW", {"call"}),
        ("compost", {"garden"}),
        ("hinge", {"broken"}),
        ("weather", {"call"}),
    ],
)
def test_tags_and_aliases_find_a_note_and_front_matter_is_never_shown(
    open_vault: OpenVault, query: str, expected: set[str]
) -> None:
    workspace = open_vault(FRONT)
    text = printed(workspace.search(query))
    assert set(found(workspace, query)) == expected
    body_begins = {"bills": 1, "call": 9, "garden": 4, "broken": 6}
    for run in read_answer(text).runs:
        name = run.path.rpartition("/")[2].removesuffix(".md")
        assert run.first >= body_begins[name]
    for never in ("type:", "finance lead", "aliases", "secret_key", "sunflower", "unclosed"):
        assert never not in text


@pytest.mark.parametrize("query", ["quarterly", "Quillfish", "Quillfish Works", "QFW", "compost"])
def test_a_note_found_by_its_own_tag_or_alias_is_not_called_weak(
    open_vault: OpenVault, query: str
) -> None:
    assert notices(open_vault(FRONT), query) == ""


def test_a_note_with_only_a_tag_is_named(open_vault: OpenVault) -> None:
    assert "cust/acme/tagged.md" in printed(open_vault(FRONT).search("solitude"))


@pytest.mark.parametrize("query", ["finance", "sunflower", "secret_key", "meeting"])
def test_other_fields_of_the_front_matter_match_nothing(open_vault: OpenVault, query: str) -> None:
    assert found(open_vault(FRONT), query) == []


def test_title_file_name_and_folder_find_a_note(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== cust/acme/gondola-plan/yard_book.md\n# The funicular\n\n## Its keeper\n\nMara.\n"
        "=== cust/acme/other.md\n# Other\n\nNothing.\n"
    )
    for query in ("gondola", "yard book", "yard_book", "funicular", "keeper", "Acme funicular"):
        assert found(workspace, query)[0] == "yard_book"


# -- Chinese, Japanese, Korean ---------------------------------------------------------------------

CJK = vault_of(
    {
        "jp": "# 定例会議\n\n東京倉庫の予算は三百万円です。"
        "新APIの仕様は来週、SyncをDropboxで共有。猫が来た。",
        "zh": "# 项目周报\n\n预算调整到三百万元，负责人是王芳。使用Kubernetes集群，TLS证书到期。",
        "ko": "# 회의록\n\n서울 창고의 예산은 삼백만 원입니다. "
        "담당자는 김민수. Grafana대시보드 확인.",
        "memo": "# メモ\n\n別の倉庫、棚卸しは金曜日。",
        "en": "# Warehouse\n\nThe warehouse in Tokyo has a budget of its own.",
        "file-議事録": "# June\n\nNothing to see.",
    }
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("倉庫", {"jp", "memo"}),
        ("倉", {"jp", "memo"}),
        ("東京倉庫", {"jp", "memo"}),
        ("猫", {"jp"}),
        ("円", {"jp"}),
        ("棚", {"memo"}),
        ("メモ", {"memo"}),
        ("予算", {"jp"}),
        ("定例", {"jp"}),
        ("议", set()),
        ("预算", {"zh"}),
        ("预", {"zh"}),
        ("王芳", {"zh"}),
        ("芳", {"zh"}),
        ("元", {"zh"}),
        ("周报", {"zh"}),
        ("集群", {"zh"}),
        ("예산", {"ko"}),
        ("창고", {"ko"}),
        ("원", {"ko"}),
        ("김민수", {"ko"}),
        ("회의", {"ko"}),
        ("수", {"ko"}),
        ("議事録", {"file-議事録"}),
        ("Kubernetes", {"zh"}),
        ("kubernetes集群", {"zh"}),
        ("TLS", {"zh"}),
        ("API", {"jp"}),
        ("Sync", {"jp"}),
        ("Dropbox", {"jp"}),
        ("Grafana", {"ko"}),
    ],
)
def test_words_of_scripts_without_blanks_are_found(
    open_vault: OpenVault, query: str, expected: set[str]
) -> None:
    assert set(found(open_vault(CJK), query)) == expected


@pytest.mark.parametrize("query", ["Kubernetes", "TLS", "API", "Sync", "Dropbox", "Grafana"])
def test_a_latin_word_inside_such_text_is_not_called_weak(
    open_vault: OpenVault, query: str
) -> None:
    assert notices(open_vault(CJK), query) == ""


def test_a_latin_word_inside_a_long_text_of_such_script_is_shown(open_vault: OpenVault) -> None:
    lines = [f"- 第{number}週の定例会議では倉庫の棚卸しを確認した。" for number in range(60)]
    lines[47] = "- 来週からGrafanaで監視する。"
    workspace = open_vault(vault_of({"jp": "# 会議\n\n" + "\n".join(lines)}))
    shown = [
        line for run in read_answer(printed(workspace.search("Grafana"))).runs for line in run.lines
    ]
    assert lines[47] in shown


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("東京の倉庫の予算はいくらですか", "jp"),
        ("负责人是谁？", "zh"),
        ("창고 예산은 얼마입니까?", "ko"),
        ("棚卸しはいつですか", "memo"),
    ],
)
def test_a_question_in_such_a_script_ranks_the_note_that_answers_first(
    open_vault: OpenVault, question: str, name: str
) -> None:
    assert found(open_vault(CJK), question)[0] == name


@pytest.mark.parametrize("query", ["飞艇", "気球", "비행선"])
def test_an_absent_word_of_such_a_script_is_named(open_vault: OpenVault, query: str) -> None:
    workspace = open_vault(CJK)
    assert (
        found(workspace, query),
        f"not in any note: {query}" in printed(workspace.search(query)),
    ) == (
        [],
        True,
    )


# -- absent words, weak answers --------------------------------------------------------------------

WORDS = vault_of(
    {
        "fish": "# Fish\n\nThe headline number of fish grew in the tank.",
        "tank": "# Tank\n\nThe heading of the tank book is torn.",
    },
    "cust/acme-labs",
) + vault_of(
    {
        "kiln": "# Kiln\n\nThe kiln burns at 1,200 degrees, says the importer team.",
        "crane": "# Crane\n\nThe headquarters own a crane and a budget.",
    }
)


def absent_line(workspace: Workspace, query: str, **limits: object) -> str:
    lines = notices(workspace, query, **limits).split("\n")
    return next((line for line in lines if line.startswith("not in ")), "")


def test_absent_words_are_named_with_the_nearest_words_of_the_notes(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault(WORDS)
    line = absent_line(workspace, "headcount of the importer xylophone")
    absent, _, nearest = line.partition(" · nearest: ")
    assert absent == "not in any note: headcount, xylophone"
    assert set(nearest.split(", ")) <= {"headline", "heading", "headquarters"}
    assert nearest


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("importr", "importer"), ("budgte", "budget"), ("headlines2", "headline"), ("krane", "")],
)
def test_a_misspelt_word_gets_the_word_as_the_notes_spell_it(
    open_vault: OpenVault, typed: str, meant: str
) -> None:
    line = absent_line(open_vault(WORDS), typed)
    assert line.startswith(f"not in any note: {typed}")
    assert meant in line


def test_a_very_frequent_near_word_is_spelled_as_in_a_note_or_its_path(
    open_vault: OpenVault,
) -> None:
    many = "# Changed approval\n" * 1_200
    workspace = open_vault(vault_of({"a": "# Exchanges", "b": many}))
    assert absent_line(workspace, "chagned") == "not in any note: chagned · nearest: changed"
    assert absent_line(workspace, "custt") == "not in any note: custt · nearest: cust"


def test_the_rarer_of_two_frequent_words_is_found_alone_if_they_rarely_meet(
    open_vault: OpenVault,
) -> None:
    apart = {"a": "# Kiln\n" * 2_100, "b": "# Crane\n" * 2_200}
    both = open_vault(vault_of(apart | {"c": "# Crane and kiln"}))
    assert read_answer(printed(both.search("crane kiln"))).paths == [
        "cust/acme/c.md",
        "cust/acme/a.md",
    ]
    neither = open_vault(vault_of(apart))
    assert read_answer(printed(neither.search("crane kiln"))).paths == ["cust/acme/a.md"]


def test_frequent_words_are_searched_only_in_pairs_if_pairs_are_enough(
    open_vault: OpenVault,
) -> None:
    notes = {"a": "# Kiln\n" * 2_100, "b": "# Crane\n" * 2_200, "c": "# Crane and kiln\n" * 300}
    workspace = open_vault(vault_of(notes))
    assert read_answer(printed(workspace.search("crane kiln", budget=24_000))).paths == [
        "cust/acme/c.md"
    ]


def test_in_a_branch_words_are_found_together_however_frequent_they_are_in_others(
    open_vault: OpenVault,
) -> None:
    elsewhere = {"a": "# Kiln\n" * 2_100, "b": "# Crane and harbour\n" * 4_000}
    here = {"c": "# Crane and harbour", "d": "# Kiln"}
    workspace = open_vault(vault_of(elsewhere) + vault_of(here, "cust/acme-labs"))
    answer = read_answer(printed(workspace.search("kiln crane harbour", branch="cust/acme-labs")))
    assert sorted(answer.paths) == ["cust/acme-labs/c.md", "cust/acme-labs/d.md"]


def test_near_words_are_suggested_but_not_searched(open_vault: OpenVault) -> None:
    answer = read_answer(printed(open_vault(WORDS).search("importr")))
    assert (answer.passages, answer.runs) == (0, ())


def test_near_words_are_computed_again_after_a_note_changed(open_vault: OpenVault) -> None:
    workspace = open_vault(WORDS)
    asked = "importr"
    assert absent_line(workspace, asked) == f"not in any note: {asked} · nearest: importer"
    note = workspace.vault.root / "cust/acme/kiln.md"
    note.write_text("# Kiln\n\nSays the importing team.\n", encoding="utf-8")
    assert absent_line(workspace, asked) == f"not in any note: {asked} · nearest: importing"


def test_under_a_branch_only_words_of_that_branch_are_near(open_vault: OpenVault) -> None:
    workspace = open_vault(WORDS)
    assert absent_line(workspace, "headcount", branch="cust/acme") == (
        "not in cust/acme: headcount · nearest: headquarters"
    )
    near = absent_line(workspace, "headcount", branch="cust/acme-labs").partition("nearest: ")[2]
    assert set(near.split(", ")) == {"headline", "heading"}


def test_a_word_of_another_branch_is_not_in_this_one(open_vault: OpenVault) -> None:
    workspace = open_vault(WORDS)
    assert absent_line(workspace, "kiln", branch="cust/acme-labs") == "not in cust/acme-labs: kiln"
    assert absent_line(workspace, "kiln") == ""


def test_a_word_in_notes_of_other_dates_is_not_called_absent(
    open_vault: OpenVault,
) -> None:
    workspace = open_vault("=== cust/acme/2026-03-01.md\n# A\n\nThe gondola.\n")
    for text in (
        printed(workspace.search("gondola", since="2026-04-01")),
        printed(workspace.search("gondola", until="2026-01-31")),
    ):
        assert read_answer(text).passages == 0
        assert "not in any note: gondola" not in text
    within = printed(workspace.search("gondola", branch="cust/acme", since="2026-04-01"))
    assert "not in cust/acme: gondola" not in within


def test_words_of_also_are_never_called_absent(open_vault: OpenVault) -> None:
    workspace = open_vault(WORDS)
    line = absent_line(workspace, "oven temperature", also=["kiln", "furnace"])
    assert line.partition(" · ")[0] == "not in any note: oven, temperature"


@pytest.mark.parametrize(
    ("query", "limits", "sentence"),
    [
        ("xylophone zeppelin", {}, "Nothing found in the whole vault (4 notes)."),
        (
            "kiln",
            {"branch": "cust/acme-labs"},
            "Nothing found in branch cust/acme-labs (2 notes).",
        ),
        (
            "kiln",
            {"since": "2026-01-01"},
            "Nothing found in the whole vault, dated 2026-01-01 to … (4 notes).",
        ),
        (
            "kiln",
            {"branch": "acme", "until": "2026"},
            "Nothing found in branch cust/acme, dated … to 2026 (2 notes).",
        ),
    ],
)
def test_where_nothing_matches_a_plain_sentence_says_what_was_searched(
    open_vault: OpenVault, query: str, limits: dict[str, Any], sentence: str
) -> None:
    text = printed(open_vault(WORDS).search(query, **limits))
    answer = read_answer(text)
    assert (answer.passages, answer.runs) == (0, ())
    assert sentence in answer.notices
    assert text.startswith("[workingset] search · nothing found · ")
    assert "also=[" in text


SCATTERED = vault_of(
    {
        name: f"# {name.title()}\n\nThe {name} stands in the yard and is swept every morning."
        for name in (
            "gondola",
            "kiln",
            "crane",
            "ladder",
            "barrel",
            "anvil",
            "lantern",
            "winch",
            "pulley",
            "trolley",
            "wagon",
            "bellows",
        )
    }
)
FAR_QUESTION = "did the anvil, the gondola, the ladder, the winch and the barrel ever burn down?"


def weak_line(workspace: Workspace, query: str, **limits: object) -> str:
    lines = notices(workspace, query, **limits).split("\n")
    return next((line for line in lines if line.startswith("weak: ")), "")


def test_an_answer_that_covers_little_of_the_question_is_said_to_be_weak_and_asks_for_also(
    open_vault: OpenVault,
) -> None:
    line = weak_line(open_vault(SCATTERED), FAR_QUESTION)
    assert "not found unless a passage states" in line
    assert "also=[" in line


def test_a_weak_answer_to_a_question_with_also_does_not_ask_for_it_again(
    open_vault: OpenVault,
) -> None:
    line = weak_line(open_vault(SCATTERED), FAR_QUESTION, also=["fire", "ashes"])
    assert line
    assert "also" not in line


@pytest.mark.parametrize("query", ["anvil", "is the anvil swept every morning?", "winch yard"])
def test_an_answer_that_covers_the_question_is_not_called_weak(
    open_vault: OpenVault, query: str
) -> None:
    assert notices(open_vault(SCATTERED), query) == ""


def test_other_words_for_the_question_bring_the_note_first(open_vault: OpenVault) -> None:
    workspace = open_vault(QUESTIONS)
    question = "throughput ceiling of the loader"
    assert found(workspace, question)[:1] != ["limits"]
    with_also = printed(workspace.search(question, also=["importer", "rows a minute", "quota"]))
    assert read_answer(with_also).paths[0] == "cust/acme/limits.md"


# -- copies ----------------------------------------------------------------------------------------

PARAGRAPH = (
    "The signing of the harbour contract moves into the small hall, the large one is flooded."
)


def test_copies_are_shown_once_the_newest_and_the_others_named(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "".join(
            f"=== cust/acme/{name}.md\n# Hall\n\n{PARAGRAPH}\n"
            for name in ("2026-03-01-a", "2026-05-01-b", "2026-04-01-c", "undated")
        )
    )
    answer = read_answer(printed(workspace.search("harbour contract")))
    assert answer.paths == ["cust/acme/2026-05-01-b.md"]
    (same,) = [line for line in answer.remarks if line.startswith("the same text: ")]
    named = re.findall(r"cust/acme/([\w-]+)\.md:\d+", same)
    assert sorted(named) == ["2026-03-01-a", "2026-04-01-c", "undated"]


@pytest.mark.parametrize(
    "copy",
    [
        f"# Hall\n\n{PARAGRAPH.upper()}\n",
        f"# Hall\n\n**{PARAGRAPH}**\n",
        f"# Hall\n{PARAGRAPH.replace(' ', '  ')}\n\n",
        f"# Hall\r\n\r\n{PARAGRAPH}\r\n",
        f"---\ntags: [hall]\n---\n# Hall\n\n{PARAGRAPH}\n",
        f"# Another heading above it\n\n{PARAGRAPH}\n",
        f"# Minutes\n\n## 2026-02-11\n\n{PARAGRAPH}\n",
    ],
    ids=["case", "emphasis", "blanks", "line ends", "front matter", "heading", "dated heading"],
)
def test_copies_may_differ_in_markup(open_vault: OpenVault, copy: str) -> None:
    workspace = open_vault(
        f"=== cust/acme/2026-05-01.md\n# Hall\n\n{PARAGRAPH}\n=== cust/acme/2026-02-11.md\n{copy}"
    )
    answer = read_answer(printed(workspace.search("harbour contract")))
    assert (answer.paths, answer.passages) == (["cust/acme/2026-05-01.md"], 1)
    assert any("the same text: cust/acme/2026-02-11.md:" in line for line in answer.remarks)


def test_a_text_that_differs_by_a_number_is_not_a_copy(open_vault: OpenVault) -> None:
    workspace = open_vault(
        vault_of({str(n): f"# Hall\n\n{PARAGRAPH} Seats: {n}00." for n in (1, 2)})
    )
    assert sorted(found(workspace, "harbour contract")) == ["1", "2"]


def test_copies_outside_the_filter_are_not_named(open_vault: OpenVault) -> None:
    workspace = open_vault(
        f"=== cust/acme/2026-05-01.md\n# Hall\n\n{PARAGRAPH}\n"
        f"=== cust/acme-labs/2026-05-02.md\n# Hall\n\n{PARAGRAPH}\n"
    )
    text = printed(workspace.search("harbour contract", branch="cust/acme"))
    assert read_answer(text).paths == ["cust/acme/2026-05-01.md"]
    assert "acme-labs" not in text
    assert "2026-05-02" not in printed(workspace.search("harbour contract", until="2026-05-01"))


# -- the glossary of the settings ------------------------------------------------------------------


def test_the_glossary_is_searched_named_and_comes_after_the_word_itself(
    open_vault: OpenVault,
) -> None:
    notes = {
        "own": "# Own\n\nThe headcount is twelve.",
        "other": "# Other\n\nThe number of engineers is twelve.",
        "unrelated": "# Unrelated\n\nNothing.",
    }
    workspace = open_vault(
        vault_of(notes), glossary={"headcount": ("number of engineers", "developers")}
    )
    assert found(workspace, "headcount") == ["own", "other"]
    assert notices(workspace, "headcount") == (
        "searched too (glossary): number of engineers, developers"
    )
    assert notices(workspace, "engineers") == ""


def test_the_glossary_answers_if_the_word_itself_is_absent(open_vault: OpenVault) -> None:
    notes = {"other": "# Other\n\nThe number of engineers is twelve.", "no": "# No\n\nNothing."}
    workspace = open_vault(vault_of(notes), glossary={"headcount": ("engineers",)})
    lines = notices(workspace, "headcount").split("\n")
    assert found(workspace, "headcount") == ["other"]
    assert lines[0].startswith("not in any note: headcount")
    assert lines[1] == "searched too (glossary): engineers"


# -- filters ---------------------------------------------------------------------------------------

NEIGHBOURS = "".join(
    f"=== {path}\n# Note\n\nThe gondola of this branch.\n"
    for path in (
        "cust/acme/a.md",
        "cust/acme/deep/er/b.md",
        "cust/acme-labs/c.md",
        "cust/acm_/d.md",
        "cust/acmeX/e.md",
        "cust/acme2/f.md",
        "cust/a%/g.md",
        "cust/readme.md",
        "wiki/h.md",
        "wiki-old/i.md",
        "top.md",
    )
)


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        ("cust/acme", ["a", "b"]),
        ("CUST/Acme", ["a", "b"]),
        ("acme", ["a", "b"]),
        ("cust/acme/", ["a", "b"]),
        ("cust/acme-labs", ["c"]),
        ("cust/acm_", ["d"]),
        ("cust/acmeX", ["e"]),
        ("cust/acme2", ["f"]),
        ("cust/a%", ["g"]),
        ("cust", ["readme"]),
        ("wiki", ["h"]),
        ("wiki-old", ["i"]),
        (".", ["top"]),
    ],
)
def test_a_branch_shows_its_own_notes_and_no_neighbours(
    open_vault: OpenVault, branch: str, expected: list[str]
) -> None:
    assert sorted(found(open_vault(NEIGHBOURS), "gondola", branch=branch)) == expected


def test_a_blank_branch_is_the_whole_vault(open_vault: OpenVault) -> None:
    assert len(found(open_vault(NEIGHBOURS), "gondola", branch=" ")) == 11


DATED = """\
=== cust/acme/2026-03-01-a.md
# A

Gondola of March.
=== cust/acme/front.md
---
date: 2026-04-10
---
# B

Gondola of April.
=== cust/acme/minutes.md
# Minutes

## 2026-05-05

Gondola of early May.

### Detail

Gondola of early May in detail.

## 19 May 2026

Gondola of late May.

## June 2026

Gondola of June.
=== cust/acme/month-2026-07.md
# Month

Gondola of July.
=== cust/acme/annual-report-2025.md
# Annual

Gondola of the year 2025.
=== cust/acme/undated.md
# Undated

Gondola without a day.
"""
ALL_2026 = ["March.", "April.", "early May.", "early May in detail.", "late May.", "June.", "July."]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (None, None, [*ALL_2026, "the year 2025.", "Gondola without a day."]),
        ("2026-03-01", None, ALL_2026),
        ("2026-03-02", None, ALL_2026[1:]),
        (None, "2026-03-01", ["March.", "the year 2025."]),
        (None, "2026-02-28", ["the year 2025."]),
        ("2026-04-10", "2026-04-10", ["April."]),
        ("10 April 2026", "10.04.2026", ["April."]),
        ("2026-05-06", "2026-05-31", ["late May."]),
        ("2026-05", "2026-05", ["early May.", "early May in detail.", "late May."]),
        ("May 2026", "2026-05-18", ["early May.", "early May in detail."]),
        ("2026-06-01", "2026-06-30", ["June."]),
        ("2026-06", "2026-06", ["June."]),
        ("2026-07-01", "2026-07-31", ["July."]),
        ("2026-07-01", None, ["July."]),
        ("2026", None, ALL_2026),
        (None, "2025", ["the year 2025."]),
        ("2025-01-01", "2025-12-31", ["the year 2025."]),
        ("2025", "2025", ["the year 2025."]),
        ("2027", None, []),
        ("2026-05-05", "2026-05-01", []),
    ],
)
def test_since_and_until_go_by_the_dates_of_headings_and_notes(
    open_vault: OpenVault, since: str | None, until: str | None, expected: list[str]
) -> None:
    answer = read_answer(printed(open_vault(DATED).search("gondola", since=since, until=until)))
    shown = [line.removeprefix("Gondola of ") for run in answer.runs for line in run.lines]
    assert sorted(line for line in shown if line.endswith(".")) == sorted(expected)


def test_the_date_beside_a_passage_is_that_of_its_heading_else_of_its_note(
    open_vault: OpenVault,
) -> None:
    answer = read_answer(printed(open_vault(DATED).search("gondola")))
    dates = {
        run.lines[0].removeprefix("Gondola of "): run.about.split(" · ")[1] for run in answer.runs
    }
    assert dates == {
        "March.": "2026-03-01",
        "April.": "2026-04-10",
        "early May.": "2026-05-05",
        "early May in detail.": "2026-05-05",
        "late May.": "2026-05-19",
        "June.": "2026-06",
        "July.": "2026-07",
        "the year 2025.": "2025",
        "Gondola without a day.": "Undated",
    }


@pytest.mark.parametrize("value", ["yesterday", "2026-13-01", "02/09/2015", "*", "12"])
@pytest.mark.parametrize("name", ["since", "until"])
def test_an_invalid_date_is_refused_by_name(open_vault: OpenVault, name: str, value: str) -> None:
    limit: dict[str, Any] = {name: value}
    with pytest.raises(ArgumentError, match=f"{name}=.* is no date"):
        printed(open_vault(DATED).search("gondola", **limit))


# -- sizes -----------------------------------------------------------------------------------------


def test_a_note_of_three_megabytes_is_searched_and_opened_in_parts(open_vault: OpenVault) -> None:
    line = "10:01 platform team: the quick status line of the day, nothing decided yet"
    lines = [line] * 42_000
    lines[31_415] = "10:02 platform team: the gondola is painted green"
    text = "# Export\n\n" + "\n".join(lines) + "\n- [ ] last item of the log\n"
    workspace = open_vault(
        f"=== cust/acme/chat.md\n{text}=== cust/acme/small.md\n# Small\n\nA small note.\n"
    )
    answer = read_answer(printed(workspace.search("which colour is the gondola?")))
    (run,) = answer.runs
    assert list(run.lines) == text.split("\n")[run.first - 1 : run.last]
    assert run.first <= 31_418 <= run.last
    for query in ("status line", "platform team", "last item of the log"):
        found_text = printed(workspace.search(query))
        assert exact_tokens(found_text) <= 2_000
        assert read_answer(found_text).paths[0] == "cust/acme/chat.md"
    opened = printed(workspace.open("cust/acme/chat.md"))
    assert exact_tokens(opened) <= 6_000
    assert re.search(
        r'next: open_source_file\(path="cust/acme/chat\.md", lines="\d+-42003"\)\n', opened
    )
    assert "- [ ] last item of the log\n" in printed(
        workspace.open("cust/acme/chat.md", lines="42003")
    )


def sentences(number: int, special: str, at: int) -> list[str]:
    made = [f"Sentence {n} speaks of the ordinary matters of the yard." for n in range(number)]
    made[at] = special
    return made


def assert_cut_at_sentences(run: Run, file_lines: list[str], parts: list[str], glue: str) -> None:
    assert run.about.endswith(" · part of the line")
    (shown,) = run.lines
    assert shown in file_lines[run.first - 1]
    kept = [part for part in parts if part in shown]
    assert glue.join(kept) == shown.rstrip()


def test_a_long_line_is_cut_at_sentence_ends_and_marked(open_vault: OpenVault) -> None:
    special = "The zeppelin hangar costs 4,200 euro a month!"
    parts = sentences(80, special, 41)
    workspace = open_vault(vault_of({"a": f"# Long\n\n{' '.join(parts)}"}))
    (run,) = read_answer(printed(workspace.search("zeppelin hangar"))).runs
    assert special in run.lines[0]
    assert_cut_at_sentences(run, lines_of(workspace.vault.root / run.path), parts, " ")


def test_a_long_line_without_blanks_is_cut_at_sentence_ends_and_marked(
    open_vault: OpenVault,
) -> None:
    special = "飞艇机库每月租金四千二百元。"
    parts = [f"第{n}句话只谈院子里的日常事务。" for n in range(90)]
    parts[61] = special
    workspace = open_vault(vault_of({"a": f"# 长\n\n{''.join(parts)}"}))
    (run,) = read_answer(printed(workspace.search("飞艇机库"))).runs
    assert special in run.lines[0]
    assert_cut_at_sentences(run, lines_of(workspace.vault.root / run.path), parts, "")


def test_a_run_that_begins_or_ends_inside_a_line_says_so(open_vault: OpenVault) -> None:
    parts = sentences(80, "The zeppelin flies.", 2)
    workspace = open_vault(
        vault_of({"a": f"# Long\n\nThe zeppelin, first.\n{' '.join(parts)}\nLast line."})
    )
    (run,) = read_answer(printed(workspace.search("zeppelin"))).runs
    assert (run.first, run.last) == (3, 4)
    assert run.about.endswith(" · lines cut")
    assert run.lines[0] == "The zeppelin, first."
    assert " ".join(parts).startswith(run.lines[1].rstrip())


def test_a_line_up_to_300_characters_is_never_cut(open_vault: OpenVault) -> None:
    line = ("The zeppelin flies. " * 15)[:300]
    workspace = open_vault(vault_of({"a": f"# Long\n\n{line}\n{line}"}), search_budget=200)
    for run in read_answer(printed(workspace.search("zeppelin"))).runs:
        assert not run.is_cut
        assert set(run.lines) == {line}


# -- files that are not searched -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["brief.md", "Brief of June.md", "context/old.md"])
def test_a_generated_brief_is_not_searched_whatever_its_name(
    open_vault: OpenVault, name: str
) -> None:
    workspace = open_vault(
        f"=== cust/acme/{name}\n---\nvault: x\nkind: workingset-brief\nversion: 3\n---\n"
        "# Brief: cust/acme\n\nThe gondola is green.\n"
        "=== cust/acme/note.md\n# Note\n\nThe gondola is old.\n"
    )
    assert found(workspace, "gondola") == ["note"]
    assert found(workspace, "green brief") == []
    assert "(1 note)" in printed(workspace.search("green", branch="cust/acme"))
    assert "(1 note)" in printed(workspace.search("green"))


def test_a_written_brief_is_not_searched(open_vault: OpenVault) -> None:
    workspace = open_vault("=== cust/acme/note.md\n# Note\n\n- [ ] paint the gondola\n")
    assert write_brief(workspace, "cust/acme", None) == "cust/acme/brief.md"
    assert found(workspace, "gondola") == ["note"]


def test_an_override_is_searched(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== cust/acme/override.md\n# Always\n\nThe gondola is never painted.\n"
        "=== cust/acme/note.md\n# Note\n\nNothing.\n"
        "=== override.md\n# For all\n\nThe funicular is never oiled.\n"
    )
    assert found(workspace, "gondola") == ["override"]
    assert found(workspace, "funicular") == ["override"]


def test_ignored_hidden_and_conflicting_files_are_not_searched(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== .gitignore\nprivate/\n=== private/a.md\nThe gondola.\n=== .hidden/b.md\nThe gondola.\n"
        "=== node_modules/c.md\nThe gondola.\n=== list.txt\nThe gondola.\n"
        "=== plan (conflicted copy 2026-06-12).md\nThe gondola.\n=== note.md\nThe gondola.\n"
    )
    assert found(workspace, "gondola") == ["note"]
