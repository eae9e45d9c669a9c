"""Search folds what people fold: a note that holds one form of a word is found by its other forms."""

from collections.abc import Callable

import pytest
from conftest import OpenVault
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workingset_mcp.index import open_stemmer
from workingset_mcp.index.rows import SearchableNote
from workingset_mcp.notes.folding import all_forms, as_read, fold, searchable
from workingset_mcp.workspace.facade import Workspace

KINDS = {
    "hyphen": ["e-mail", "email", "e\u2011mail"],
    "hyphen before a capital": ["Wi-Fi", "wifi", "WiFi"],
    "two hyphens": ["day-to-day", "daytoday"],
    "camel case": ["maxRetryCount", "max retry count", "max_retry_count", "max-retry-count"],
    "soft hyphen": ["con\u00adtract", "contract"],
    "zero-width blank": ["roll\u200bout", "rollout"],
    "ligature": ["\ufb01nance", "finance"],
    "full width": ["Ｂｒｕｎｎ", "Brunn"],
    "half-width Katakana": ["ｻｰﾊﾞ", "サーバ"],
    "decomposed Hangul": ["\u110e\u1161\u11bc\u1100\u1169", "창고"],
    "Arabic marks": ["مُحَمَّد", "محمد"],
    "Arabic alif": ["أُرسلت", "ارسلت"],
    "Arabic article": ["الفاتورة", "فاتورة", "بالفاتورة"],
    "Arabic digits": ["٢٠٧١", "2071"],
    "Hebrew points": ["שָׁלוֹם", "שלום"],
    "Hebrew prefix": ["החשבונית", "חשבונית", "והחשבונית"],
    "gershayim": ['צה"ל', "צה״ל", "צהל"],
    "Thai": ["สัญญาเช่า", "สัญญา"],
    "Lao": ["ສັນຍາເຊົ່າ", "ສັນຍາ"],
    "Khmer": ["កិច្ចសន្យា", "សន្យា"],
    "Hindi": ["हिन्दी", "हिन्दी।"],
    "io": ["ёлка", "елка"],
    "tonos": ["Συμφωνία", "συμφωνια", "ΣΥΜΦΩΝΙΑ"],
    "final sigma": ["ΟΔΟΣ", "οδός"],
    "Scandinavian": ["Ørsted", "Orsted", "Oersted"],
    "Polish": ["Łódź", "lodz"],
    "Croatian": ["Đakovo", "Dakovo"],
    "umlaut": ["Müller", "Mueller", "Muller", "Mu\u0308ller"],
    "sharp s": ["Lindenstraße", "Lindenstrasse", "LINDENSTRASSE"],
    "numbers": ["1250000", "1,250,000", "1.250.000", "1 250 000", "1’250’000", "1\u202f250\u202f000"],
    "emoji": ["🚀", "🚀\ufe0f"],
    "euro": ["5 €", "euro"],
    "percent": ["7 %", "percent", "Prozent"],
}  # fmt: skip
# One way only: what was asked is less than what the note holds.
ONE_WAY = {
    "Scandinavian",
    "Thai",
    "Lao",
    "Khmer",
    "percent",
    "euro",
    "camel case",
    "hyphen before a capital",
    "umlaut",
}
ASKED = [
    (kind, written, typed)
    for kind, forms in KINDS.items()
    for written in forms
    for typed in forms
    if written != typed and (kind not in ONE_WAY or written == forms[0])
]


def found_by(workspace: Workspace, typed: str) -> list[str]:
    """Return the paths of the notes that a search shows, if it calls no word absent."""
    answer = workspace.search(typed)
    assert answer.content.absent == ()
    return [passage.ranked.note.path for passage in answer.content.passages]


@pytest.mark.parametrize(("kind", "written", "typed"), ASKED)
def test_a_note_is_found_by_any_form_of_its_word(
    open_vault: OpenVault, kind: str, written: str, typed: str
) -> None:
    workspace = open_vault(
        f"=== a.md\n# Call\n\nWe spoke of {written} at noon.\n=== b.md\nNothing.\n"
    )
    answer = workspace.search(typed)
    assert [passage.ranked.note.path for passage in answer.content.passages] == ["a.md"], kind
    assert answer.content.absent == ()
    assert written in answer.content.passages[0].runs[0][2]  # as it is written


@pytest.mark.parametrize("typed", ["Frist", "Kündigung", "kündigung", "FRIST"])
def test_a_german_compound_is_found_by_its_parts_where_no_note_holds_them(
    open_vault: OpenVault, typed: str
) -> None:
    note = "# Protokoll\n\nDie Kündigungsfrist der Wohnung beträgt drei Monate.\n"
    workspace = open_vault(f"=== a.md\n{note}=== b.md\nNothing.\n")
    assert found_by(workspace, typed) == ["a.md"]


def test_a_word_that_a_note_holds_is_not_looked_for_in_compounds(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== a.md\nDie Kündigungsfrist der Wohnung ist kurz.\n=== b.md\nDie Frist der Bank.\n"
    )
    assert found_by(workspace, "Frist") == ["b.md"]


def test_a_word_in_camel_case_comes_first_for_itself(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== a.md\nThe max retry count is three.\n=== b.md\nSet maxRetryCount to three.\n"
    )
    assert found_by(workspace, "maxRetryCount") == ["b.md", "a.md"]


@pytest.mark.parametrize("typed", ["github", "git", "hub"])
def test_a_name_with_a_capital_inside_has_no_parts(open_vault: OpenVault, typed: str) -> None:
    workspace = open_vault("=== a.md\nOn GitHub it is.\n")
    paths = [passage.ranked.note.path for passage in workspace.search(typed).content.passages]
    assert paths == (["a.md"] if typed == "github" else [])


@pytest.mark.parametrize(
    ("typed", "absent"),
    [
        ("数据库迁移", []),
        ("数据库升级", ["升级"]),
        ("升级", ["升级"]),
        ("迁移数据", []),
    ],
)
def test_of_a_chinese_question_only_what_no_note_holds_is_called_absent(
    open_vault: OpenVault, typed: str, absent: list[str]
) -> None:
    workspace = open_vault("=== a.md\n我们讨论了数据库。数据迁移下周开始，库迁走。\n")
    assert [word for word, _ in workspace.search(typed).content.absent] == absent


def test_a_word_that_no_form_stands_for_is_called_absent(open_vault: OpenVault) -> None:
    workspace = open_vault("=== a.md\nThe e-mail of Müller, maxRetryCount and 1,250,000.\n")
    typed = "voicemail Meier minRetry 1250001 🚀"
    absent = [word for word, _ in workspace.search(typed).content.absent]
    assert absent == ["voicemail", "Meier", "minRetry", "1250001", "🚀"]


def test_full_context_holds_the_other_forms_too(open_vault: OpenVault) -> None:
    workspace = open_vault(
        "=== a.md\n# A\n\nThe e-mail waits.\n\n# B\n\nNothing.\n\n# C\n\nThe email went.\n"
    )
    text = workspace.full(query="email").body
    assert "The e-mail waits." in text
    assert "The email went." in text
    assert "Nothing." not in text


# -- what holds for any text -----------------------------------------------------------------------
letters = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=8)
any_text = st.text(max_size=200)


@given(any_text)
def test_folding_twice_changes_nothing_and_keeps_the_lines(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold(text).count("\n") == text.count("\n")


@given(any_text)
def test_the_columns_of_a_section_are_the_same_each_time(text: str) -> None:
    def columns() -> tuple[str, ...]:
        note = SearchableNote(path="a.md", title=text[:20], aliases="", tags="", date="")
        return note.search_columns((text[:10],), "", text)

    assert columns() == columns()


@given(st.characters(codec="utf-8"))
def test_the_tokenizer_cuts_no_letter_with_its_marks(character: str) -> None:
    folded = fold(f"x{character}y")
    if folded.isalnum() and folded.isascii():
        assert open_stemmer().stem(folded)


WAYS: dict[str, Callable[[str, str], tuple[str, str]]] = {
    "joined": lambda one, other: (f"{one}-{other}", f"{one}{other}"),
    "split": lambda one, other: (f"{one}{other}", f"{one}-{other}"),
    "camel": lambda one, other: (f"{one}{other.title()}", f"{one} {other}"),
    "soft": lambda one, other: (f"{one}\u00ad{other}", f"{one}{other}"),
    "wide": lambda one, other: (
        "".join(chr(ord(c) + 0xFEE0) for c in f"{one}{other}"),
        f"{one}{other}",
    ),
    "umlaut": lambda one, other: (f"{one}ü{other}", f"{one}ue{other}"),
    "umlaut, spelled out": lambda one, other: (f"{one}ue{other}", f"{one}ü{other}"),
    "sharp s": lambda one, other: (f"{one}ß{other}", f"{one}ss{other}"),
}


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("way", WAYS)
@given(st.lists(st.tuples(letters, letters), min_size=1, max_size=6, unique=True))
def test_random_words_are_found_by_their_other_form(
    way: str, open_vault: OpenVault, pairs: list[tuple[str, str]]
) -> None:
    forms = [WAYS[way](f"q{one}", other) for one, other in pairs]
    text = "\n".join(f"Item {at}: {written}." for at, (written, _) in enumerate(forms))
    workspace = open_vault(f"=== a.md\n{text}\n")
    for _, typed in forms:
        assert found_by(workspace, typed) == ["a.md"]


def test_vowel_marks_are_shown_as_they_are_read() -> None:
    for word in ("हिन्दी", "สัญญา"):
        assert as_read(fold(word)) == word


def test_ascii_text_is_read_as_it_is() -> None:
    assert searchable("Plain TEXT") == "Plain TEXT"
    assert all_forms("Plain TEXT of 2026-06-16, GitHub, NumPy") == ""
