"""Properties of every search on every vault: it raises nothing, keeps its budget and filters, and shows the
lines of the files. The bytes are the same every time, whatever the order of indexing.

A test takes up to 10 s, because each example writes and indexes a vault.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from conftest import exact_tokens, write_vault
from hypothesis import HealthCheck, Phase, assume, example, given, settings
from hypothesis import strategies as st

from answers.search.test_pack import Answer, lines_of, read_answer
from workingset_mcp.answers.answer import Limits, printed
from workingset_mcp.errors import ArgumentError
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

# Each example builds a vault: few examples, and no shrinking of a failing one.
few_vaults = settings(
    max_examples=60,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# fmt: off
WORDS = [
    "gondola", "kiln", "crane", "harbour", "Grafana", "C++", ".NET", "100%", "foo_bar", "DEC-0054",
    "v1.2.3", "L'Avenir", "café", "cafe\u0301", "Straße", "чай", "2026-05-05", "May", "倉庫", "倉",
    "東京の倉庫", "预算", "창고", "mara@brunnfeld.example", "don't", "the",
]
# fmt: on
VAULT = """\
=== cust/acme/2026-05-05-call.md
---
tags: [invoice, café]
aliases: [QFW]
---
# Weekly call

The gondola of L'Avenir needs C++ and .NET, 100% of it; see DEC-0054 and foo_bar.

## 2026-05-12 · 東京

東京倉庫の予算は三百万円です。SyncをDropboxで共有する。

```sh
echo "not sqlite"   # kiln
```
=== cust/acme/long.md
# Long

LONG
=== cust/acme-labs/crane.md
# Crane

The crane, the kiln and the café in the harbour of Zürich.
=== notes/чай.md
# Чай

Чайный склад. 창고 예산. 预算调整。
=== top.md
Ask mara@brunnfeld.example on May 5th, 2026 about v1.2.3.
""".replace("LONG", " ".join(f"Sentence {n} of the harbour gondola." for n in range(300)))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root = write_vault(tmp_path_factory.mktemp("vault"), VAULT)
    chosen = Settings(
        index_dir=str(tmp_path_factory.mktemp("index")),
        glossary={"headcount": ("crane", "the"), "c++": ("cpp",), "倉": ("warehouse",)},
    )
    with closing(Workspace(root, chosen)) as workspace:
        workspace.build()
        yield workspace


# -- any query -------------------------------------------------------------------------------------

any_character = st.characters(codec=None)  # with lone surrogates and NUL
any_text = st.one_of(
    st.text(any_character, max_size=200),
    st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join),
    st.lists(
        st.one_of(st.sampled_from(WORDS), st.text(any_character, max_size=8)), max_size=12
    ).map("".join),
    st.text(st.sampled_from("\"'()*^:-+{}[]~ ANDORTNEa\0\n%_"), max_size=60),
)
long_text = st.builds(
    lambda text, times: (text * times)[:10_000],
    st.text(any_character, min_size=1, max_size=50),
    st.integers(1, 10_000),
)


def assert_answer(text: str, budget: int, max_bytes: int | None = None) -> Answer:
    text.encode("utf-8")  # no lone surrogate reaches the wire
    assert exact_tokens(text) <= budget
    assert max_bytes is None or len(text.encode("utf-8")) <= max_bytes
    answer = read_answer(text)
    assert answer.tokens == exact_tokens(text)
    assert answer.notes == len(answer.paths)
    assert answer.notes <= answer.passages <= len(answer.runs)
    return answer


@given(
    query=st.one_of(any_text, long_text),
    also=st.lists(any_text, max_size=6),
    budget=st.integers(200, 24_000),
    max_bytes=st.one_of(st.none(), st.integers(1_000, 20_000)),
)
@example(query="\ud800", also=["\udfff"], budget=200, max_bytes=1_000)
@example(query="\0", also=["\0" * 9], budget=200, max_bytes=None)
@example(query='"' * 10_000, also=[], budget=200, max_bytes=None)
@example(query="倉" * 10_000, also=[], budget=200, max_bytes=1_000)
@example(query="가" * 10_000, also=["가"], budget=200, max_bytes=1_000)
@example(query="a-" * 5_000, also=[], budget=200, max_bytes=1_000)
@example(query="ab " * 3_333, also=["*", ""], budget=200, max_bytes=1_000)
@example(query=" ".join(f"w{n}" for n in range(1_900)), also=[], budget=200, max_bytes=1_000)
@example(query="𝕏𝕐 𐐀𐐁 " * 1_000, also=[], budget=200, max_bytes=1_000)
@example(query="\U00010000" * 32, also=[], budget=200, max_bytes=None)
def test_no_query_raises_leaks_the_engine_or_breaks_a_limit(
    workspace: Workspace, query: str, also: list[str], budget: int, max_bytes: int | None
) -> None:
    limits = Limits(max_bytes=max_bytes)
    if not query.strip():
        with pytest.raises(ArgumentError, match="query is empty"):
            printed(workspace.search(query, also=also, budget=budget, limits=limits))
        return
    text = printed(workspace.search(query, also=also, budget=budget, limits=limits))
    assert_answer(text, budget, max_bytes)
    lowered = text.replace('echo "not sqlite"', "").lower()
    assume("sqlite" not in query.lower())
    assume("fts5" not in query.lower())
    assert "sqlite" not in lowered
    assert "fts5" not in lowered


@settings(max_examples=50)
@given(query=any_text, also=st.lists(any_text, max_size=3), budget=st.integers(200, 4_000))
@example(query="\U00010000" * 32, also=[], budget=200)
def test_the_same_query_gives_the_same_bytes(
    workspace: Workspace, query: str, also: list[str], budget: int
) -> None:
    assume(query.strip())
    first = printed(workspace.search(query, also=also, budget=budget))
    assert printed(workspace.search(query, also=also, budget=budget)) == first


ALPHABETS = [
    ("A", "\u024f"),  # Latin
    ("\u1e00", "\u1eff"),
    ("\u0386", "\u03ff"),  # Greek
    ("\u0400", "\u0481"),  # Cyrillic
    ("\u0531", "\u0586"),  # Armenian
    ("\u05d0", "\u05ea"),  # Hebrew
    ("\u0621", "\u064a"),  # Arabic
    ("\u0904", "\u0939"),  # Devanagari
    ("\u0e01", "\u0e2e"),  # Thai
    ("\u10d0", "\u10f0"),  # Georgian
]
letters_of_one_alphabet = st.sampled_from(ALPHABETS).flatmap(
    lambda ends: st.text(
        st.characters(
            min_codepoint=ord(ends[0]), max_codepoint=ord(ends[1]), categories=["Lu", "Ll", "Lo"]
        ),
        min_size=2,
        max_size=12,
    )
)


@few_vaults
@given(word=letters_of_one_alphabet)
@example(word="чайный")
@example(word="Αθήνας")
@example(word="İĞDIR")
def test_a_word_on_a_line_of_its_own_is_found_as_written(word: str) -> None:
    with opened({"note.md": f"# Note\n\nBefore\n{word}\nbehind.\n"}) as workspace:
        text = printed(workspace.search(word))
    assert "not in any note" not in text
    assert read_answer(text).paths == ["note.md"]


# -- any vault -------------------------------------------------------------------------------------

line_ends = st.sampled_from(["\n", "\n", "\r\n", "\r"])
phrase = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
line = st.one_of(
    st.just(""),
    st.just("   "),
    phrase,
    phrase.map("- {}".format),
    phrase.map("  > {}".format),
    phrase.map("# {}".format),
    phrase.map("## {}".format),
    phrase.map("#{}".format),
    phrase.map("| {} | x |".format),
    phrase.map("{}\n===".format),
    st.sampled_from(["```", "````", "~~~", "``` sh", "---", "<!--", "-->", "%%"]),
    st.sampled_from(["a\u2028gondola", "\x0bkiln\x0c", "crane\x85", "\ufeffkiln", "\0 gondola"]),
    st.builds("{}. ".format, phrase).map(lambda text: text * 12),  # over 300, sentences
    phrase.map(lambda text: f"{text} " * 60),  # over 300, no sentence end
    st.just("預算和倉庫的日常事務。" * 60),
    st.builds("{1}{0}{1}".format, phrase, st.just(" " * 1_300)),
    st.just("x" * 2_600 + " gondola"),
)
note_text = st.builds(
    lambda front, lines, end, final: (front + end.join(lines) + final * end).replace("\n", end),
    st.sampled_from(["", "", "---\ntitle: Kiln\ntags: [gondola]\n---\n", "\ufeff"]),
    st.one_of(st.lists(line, max_size=14), st.lists(line, min_size=30, max_size=120)),
    line_ends,
    st.booleans(),
)
PATHS = [
    "cust/acme/a.md",
    "cust/acme/2026-03-01-b.md",
    "cust/acme/2026-05-05.md",
    "cust/acme-labs/2026-05-06 c.md",
    "cust/acm_/d.md",
    "wiki/2025-12-31.md",
    "倉庫.md",
]
vaults = st.dictionaries(st.sampled_from(PATHS), note_text, min_size=1, max_size=5)


def write(root: Path, notes: Mapping[str, str]) -> None:
    for path, text in notes.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))


@contextmanager
def opened(notes: Mapping[str, str]) -> Iterator[Workspace]:
    """Open a workspace on notes in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="workingset-test-") as folder:
        root = Path(folder)
        write(root, notes)
        with closing(Workspace(root, Settings(), in_memory=True)) as workspace:
            workspace.build()
            yield workspace


def assert_true_to_files(answer: Answer, root: Path) -> None:
    for run in answer.runs:
        kept = lines_of(root / run.path)[run.first - 1 : run.last]
        if run.is_cut:
            assert "\n".join(run.lines) in "\n".join(kept)
        else:
            assert list(run.lines) == kept


queries = st.one_of(phrase, st.sampled_from(WORDS))


@few_vaults
@given(vault=vaults, query=queries, budget=st.integers(200, 6_000))
@example(vault={"a.md": "x\n\n" + " " * 1_300 + "gondola"}, query="gondola", budget=200)
@example(vault={"a.md": "\n\n" + " " * 1_300 + "gondola\n"}, query="gondola", budget=200)
@example(vault={"a.md": "# A\r\n\r\ngondola\rkiln\n"}, query="kiln", budget=200)
@example(vault={"a.md": "kiln\n\n" * 200 + "gondola"}, query="gondola", budget=200)
def test_every_shown_run_is_the_lines_it_names(
    vault: dict[str, str], query: str, budget: int
) -> None:
    with opened(vault) as workspace:
        text = printed(workspace.search(query, budget=budget))
        answer = assert_answer(text, budget)
        assert_true_to_files(answer, workspace.vault.root)
        for run in answer.runs:
            assert run.lines[0].strip() or run.first == run.last
            assert run.lines[-1].strip()


@few_vaults
@given(vault=vaults, query=queries, branch=st.sampled_from(["cust/acme", "cust/acm_", "wiki"]))
def test_a_branch_filter_shows_only_its_notes(
    vault: dict[str, str], query: str, branch: str
) -> None:
    vault = vault | {f"{branch}/here.md": "# Here\n\nThe gondola.\n"}
    with opened(vault) as workspace:
        text = printed(workspace.search(query, branch=branch, budget=6_000))
    outside = {path for path in vault if not path.startswith(f"{branch}/")}
    assert all(path.startswith(f"{branch}/") for path in read_answer(text).paths)
    assert not [path for path in outside if f"{path}:" in text]


NAMED_BY_DAY = {
    f"cust/{branch}/{day}.md": day
    for branch in ("acme", "acme-labs")
    for day in ("2025-12-31", "2026-01-01", "2026-03-01", "2026-03-02", "2026-06-16")
}
days = st.one_of(st.none(), st.dates().map(str), st.sampled_from(list(NAMED_BY_DAY.values())))


@few_vaults
@given(
    body=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    since=days,
    until=days,
)
def test_a_date_filter_shows_only_notes_of_those_days(
    workspace_of_days: Workspace, body: str, since: str | None, until: str | None
) -> None:
    assume(all(value is None or "1990" <= value[:4] <= "2099" for value in (since, until)))
    text = printed(
        workspace_of_days.search(f"gondola {body}", since=since, until=until, budget=6_000)
    )
    within = {
        path
        for path, day in NAMED_BY_DAY.items()
        if (since is None or since <= day) and (until is None or day <= until)
    }
    if since is until is None:
        within.add("undated.md")
    assert set(read_answer(text).paths) == within


@pytest.fixture(scope="module")
def workspace_of_days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    text = "".join(
        f"=== {path}\n# Day\n\nThe gondola number {at} of this day is oiled and put away.\n"
        for at, path in enumerate(NAMED_BY_DAY)
    )
    root = write_vault(tmp_path_factory.mktemp("days"), f"{text}=== undated.md\nThe gondola.\n")
    with closing(Workspace(root, Settings(), in_memory=True)) as workspace:
        workspace.build()
        yield workspace


# -- the order of indexing -------------------------------------------------------------------------


def indexed_one_by_one(
    workspace: Workspace, vault: Mapping[str, str], order: Sequence[str], drafts: Set[str]
) -> None:
    """Index the files one after the other, some of them with another text at first."""
    for path in order:
        first = "# Draft\n\nThe kiln of a draft.\n" if path in drafts else vault[path]
        write(workspace.vault.root, {path: first})
        workspace.branches()  # looks at the disk
    write(workspace.vault.root, {path: vault[path] for path in drafts})


def test_equal_matches_keep_their_order_whichever_was_indexed_first() -> None:
    vault = dict.fromkeys(PATHS, "# Same\n\nThe gondola.\n")
    seen = set()
    for order in (PATHS, PATHS[::-1], PATHS[3:] + PATHS[:3]):
        with opened({}) as workspace:
            indexed_one_by_one(workspace, vault, order, drafts=set())
            seen.add(printed(workspace.search("gondola")))
    assert len(seen) == 1


@few_vaults
@given(
    vault=vaults,
    query=queries,
    order=st.permutations(PATHS),
    drafts=st.sets(st.sampled_from(PATHS), max_size=3),
)
def test_an_answer_does_not_depend_on_the_order_in_which_files_were_indexed(
    vault: dict[str, str], query: str, order: list[str], drafts: set[str]
) -> None:
    with opened(vault) as workspace:
        expected = printed(workspace.search(query))
    with opened({}) as workspace:
        present = [path for path in order if path in vault]
        indexed_one_by_one(workspace, vault, present, drafts & vault.keys())
        assert printed(workspace.search(query)) == expected
