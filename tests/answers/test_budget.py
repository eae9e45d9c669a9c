"""Tokens are counted exactly, whatever the text, and what is cut to a budget fits."""

import gzip
import hashlib
import math
import subprocess
import sys
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import pytest
import tiktoken
from conftest import (
    assert_costs_its_length,
    least_seconds,
    published_table,
    reference_encoder,
)
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from workingset_mcp.answers import tokenizer
from workingset_mcp.answers.answer import Answer, printed, put_together
from workingset_mcp.answers.budget import (
    count_lines,
    count_tokens,
    cut_to_tokens,
    estimate_tokens,
    fits,
    is_counted_exactly,
    least_tokens,
    priced,
    take_lines,
)

TABLE_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


@pytest.fixture(scope="session")
def reference() -> tiktoken.Encoding:
    return reference_encoder()


def test_the_ranks_are_the_published_ones() -> None:
    assert hashlib.sha256(published_table()).hexdigest() == TABLE_SHA256


GENERATOR = Path(__file__).parents[2] / "bench/make_token_table.py"


def made_table(ranks: bytes, folder: Path) -> tuple[int, Path]:
    """Run the generator on a file of ranks; return its exit code and the path of the table."""
    given, made = folder / "ranks", folder / "made.table"
    given.write_bytes(ranks)
    command: list[str | Path] = [sys.executable, GENERATOR, given, "--to", made]
    return subprocess.run(command, check=False, capture_output=True).returncode, made


@pytest.mark.process
def test_the_generator_makes_the_table_in_the_package_from_the_published_ranks(
    tmp_path: Path,
) -> None:
    in_package = Path(tokenizer.__file__).with_name("data") / "o200k_base.table"
    for ranks in (published_table(), gzip.compress(published_table())):
        code, made = made_table(ranks, tmp_path)
        assert code == 0
        assert made.read_bytes() == in_package.read_bytes()


@pytest.mark.process
def test_the_generator_refuses_other_ranks(tmp_path: Path) -> None:
    code, made = made_table(published_table()[:-1], tmp_path)
    assert code == 1
    assert not made.exists()


# -- exact -----------------------------------------------------------------------------------------

EXACT = [
    "",
    "a",
    "Hello, world!",
    "# Heading\n\n- [ ] task (due 2026-06-16) @ana\n",
    "naïve Größe ÄÖÜ ß e\u0301 İ",
    "設定を直す 当前状态 한국어",
    "🚦👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "it's IT'S they'll WE'VE I'd",
    "a  b   c\t\td\n\n\n e \r\n\r\n f",
    "   leading and trailing   ",
    "0 12 123 1234 12345678 1,234.56",
    "https://example.com/a/b?c=d#e",
    "<|endoftext|><|endofprompt|><|im_start|>",
    "```python\ndef f(x: int) -> str:\n    return f'{x!r}'\n```\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "snake_case camelCase PascalCase SCREAMING_CASE kebab-case",
    "\0\x01\x1f\x7f\x85\u2028\u2029\ufeff\u200b\u202e",
    " " * 1_999,
    "\n" * 1_999,
    "x" * 3_999,
    "漢" * 3_999,
    "=" * 3_999,
    "word " * 20_000,
]


@pytest.fixture(params=["looked up", "encoded"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Count with the table alone, or with the encoder loaded."""
    way = str(request.param)
    tokenizer.encoder()
    monkeypatch.setattr(tokenizer, "_MOST_JOINED", 1 << 30)
    if way == "looked up":
        monkeypatch.setattr(tokenizer, "encoder_is_loaded", lambda: False)
        monkeypatch.setattr(tokenizer, "_tokens_of", tokenizer._TokensOf())
    return way


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("text", EXACT, ids=lambda text: f"{len(text)} {ascii(text)[:30]}")
def test_a_count_is_exact(reference: tiktoken.Encoding, text: str) -> None:
    assert tokenizer.count(text) == len(reference.encode_ordinary(text))


PARTS = st.sampled_from(
    [
        *(" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "'s", "'LL", "/", "//"),
        *("a", "Ab", "ABC", "é", "e\u0301", "漢字", "🚦", "İ", "ß", "ǅ", "ʰ", "12", "12345"),
        *(
            "...",
            "—",
            "_",
            "<|endoftext|>",
            "ſ",
            "'ſ",
            "ÄÖÜ",
            "Ж",
            "ж",
            "Ω",
            "½",
            "\x1c",
            "⚠\ufe0f",
        ),
    ]
)
TEXTS_OF_ALL_KINDS = st.lists(PARTS | st.characters(), max_size=40).map("".join)
USUAL_TEXTS = st.lists(
    PARTS | st.sampled_from([chr(code) for code in chain(*tokenizer._MOST)]), max_size=40
).map("".join)


@pytest.mark.parametrize("way", ["looked up", "encoded"], indirect=True)
@given(text=TEXTS_OF_ALL_KINDS | USUAL_TEXTS)
@hypothesis_settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_counted_exactly(reference: tiktoken.Encoding, way: str, text: str) -> None:
    assert tokenizer.count(text) == len(reference.encode_ordinary(text)), way


@pytest.mark.parametrize("way", ["looked up"], indirect=True)
@pytest.mark.parametrize(("blocks", "step"), [(tokenizer._USUAL, 1), (tokenizer._MOST, 17)])
def test_every_character_is_counted_exactly(
    reference: tiktoken.Encoding, way: str, blocks: tokenizer._Blocks, step: int
) -> None:
    for sign in map(chr, islice(chain(*blocks), 0, None, step)):
        text = f"a{sign}b A{sign} {sign}{sign}'s 1{sign}2\n{sign} é{sign}É{sign}"
        assert tokenizer.count(text) == len(reference.encode_ordinary(text)), (way, sign)


@pytest.mark.parametrize(
    ("text", "loaded"),
    [
        ("Größe — 1. Ж→Ω 🚦 ⚠\ufe0f 設定 שלום ก " * 500, False),
        ("word " * 30_000, False),
        ("".join(map(chr, range(0x4E00, 0x7E00))), True),
        ("x" * 1_500, True),
        ("word " * 60_000, True),
        ("\U00020000", True),
        ("\ud800", True),
    ],
    ids=["mixed", "long", "ideographs", "a long word", "very long", "rare", "no character"],
)
def test_the_encoder_is_loaded_when_it_pays(text: str, loaded: bool) -> None:
    code = (
        "from workingset_mcp.answers.budget import count_tokens\n"
        "from workingset_mcp.answers.tokenizer import encoder_is_loaded\n"
        f"count_tokens({text!a})\n"
        "print(encoder_is_loaded())"
    )
    done = subprocess.run(
        [sys.executable, "-"], input=code, capture_output=True, encoding="ascii", check=True
    )
    assert done.stdout.strip() == str(loaded)


def test_more_pieces_than_are_kept_are_counted_exactly(reference: tiktoken.Encoding) -> None:
    text = " ".join(f"w{number:x}q" for number in range(20_000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer, "encoder_is_loaded", lambda: False)
        patch.setattr(tokenizer, "_MOST_KEPT", 100)
        patch.setattr(tokenizer, "_tokens_of", tokenizer._TokensOf())
        assert tokenizer.count(text) == len(reference.encode_ordinary(text))
        assert len(tokenizer._tokens_of) <= 100


@given(text=TEXTS_OF_ALL_KINDS)
def test_a_line_costs_no_less_than_its_lower_bound(text: str) -> None:
    assert least_tokens(text) <= count_tokens(text)


def test_every_word_of_a_line_costs_at_least_one_token() -> None:
    assert least_tokens("") == 0
    assert least_tokens("- [ ] one two, three …") == 7
    assert least_tokens("one two\tthree") == 1  # a control character: the line is not analysed


@given(
    above=st.lists(PARTS | st.characters(), max_size=20).map("".join),
    text=TEXTS_OF_ALL_KINDS,
)
def test_an_answer_is_the_same_when_its_body_was_counted_before(above: str, text: str) -> None:
    body = f"---\n{text}"
    answer = Answer("a", body, None, warnings=(above,))
    whole = put_together(answer, budget=900, state="index current")
    counted = replace(answer, body_tokens=count_tokens(body))
    made = put_together(counted, budget=900, state="index current")
    assert (printed(made), made.tokens) == (printed(whole), whole.tokens)


def test_a_body_is_counted_whole_if_counting_its_parts_is_not_exact() -> None:
    parts = [f"x{' ' * 2_500}x\n", *["one two three\n"] * 100]
    answer = Answer("a", "".join(parts), None, body_tokens=sum(map(count_tokens, parts)))
    made = put_together(answer, budget=900, state="index current")
    assert made.tokens == count_tokens(printed(made))


def test_a_lone_surrogate_is_counted_and_does_not_raise() -> None:
    assert count_tokens("a\ud800b") > 0


@given(
    st.lists(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(
            lambda text: not (text[0].isspace() or text[0] == "/")
        )
    )
)
def test_counts_add_up_for_parts_that_end_in_a_newline(texts: list[str]) -> None:
    parts = [f"{text}\n" for text in texts]
    assert count_tokens("".join(parts)) == sum(map(count_tokens, parts))


@given(text=TEXTS_OF_ALL_KINDS)
def test_a_text_costs_the_same_counted_line_by_line(text: str) -> None:
    assert count_lines(text) == count_tokens(text)


@given(words=st.integers(0, 900), more=st.integers(-1, 1))
def test_a_run_of_at_least_the_limit_is_found_at_any_position(words: int, more: int) -> None:
    blanks, letters = " " * (2_000 + more), "x" * (4_000 + more)
    for text in (f"{'a word ' * words}so{blanks}on", f"{'a word ' * words}{letters} on"):
        assert is_counted_exactly(text) == (more < 0)


PATHOLOGICAL = {
    "blanks": " " * 20_000,
    "line ends": "\n" * 20_000,
    "Windows line ends": "\r\n" * 10_000,
    "tabs and blanks": "\t " * 10_000,
    "letters": "x" * 20_000,
    "random letters": "".join(chr(97 + number * number % 26) for number in range(20_000)),
    "ideographs": "".join(chr(0x4E00 + number * 31 % 20_000) for number in range(20_000)),
    "kana": "がぎぐげご" * 4_000,
    "emoji": "🚦👩‍👩‍👧" * 3_000,
    "digits": "1234567890" * 2_000,
    "signs": "=-" * 10_000,
    "base64": "QmFzZTY0IGlzIG5vdCBwcm9zZQ" * 800,
    "words around blanks": "word " * 2_000 + " " * 5_000 + "word " * 2_000,
}


@pytest.mark.parametrize("text", [pytest.param(text, id=n) for n, text in PATHOLOGICAL.items()])
def test_counting_in_pieces_is_never_too_low(reference: tiktoken.Encoding, text: str) -> None:
    exact = len(reference.encode_ordinary(text))
    assert exact <= count_tokens(text) <= exact * 1.1 + 500


def ideographs(count: int, line: int) -> str:
    one = "".join(chr(0x4E00 + number * 31 % 20_000) for number in range(line - 1))
    return f"{one}\n" * (count // line)


LARGE = {
    "a million blanks": " " * 1_000_000,
    "a million line ends": "\n" * 1_000_000,
    "a million letters": "x" * 1_000_000,
    "a million ideographs": ideographs(1_000_000, 1_000_000),
    "a million ideographs in lines of 80": ideographs(1_000_000, 80),
    "a million ideographs in lines of 1,000": ideographs(1_000_000, 1_000),
    "ideographs in lines of 3,999": ideographs(120_000, 3_999),
    "letters in lines of 3,999": ("x" * 3_998 + "\n") * 30,
    "signs in lines of 3,999": ("=" * 3_998 + "\n") * 30,
    "blanks in lines of 1,999": (" " * 1_998 + "x") * 150,
    "words of 500 letters": ("abcdefghij" * 50 + " ") * 400,
    "a million characters of base64": "QmFzZTY0IGlzIG5vdCBwcm9zZQ" * 40_000,
}


@pytest.mark.untraced
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in LARGE.items()])
def test_counting_a_million_characters_takes_linear_time(text: str) -> None:
    tokenizer.encoder()
    assert count_tokens(text) > 1_000
    assert_costs_its_length(count_tokens, text)


def seconds_alone(code: str, said: str = "") -> list[float]:
    """Run Python code in its own process; return the CPU seconds that it prints."""
    clocked = f"import sys\nfrom time import process_time as now\n{code}"
    command = [sys.executable, "-X", "utf8", "-c", clocked]
    done = subprocess.run(command, input=said.encode(), capture_output=True, check=True)
    return [float(part) for part in done.stdout.split()]


@pytest.fixture(scope="session")
def loading_seconds() -> float:
    """Return the CPU seconds that loading the encoder takes."""
    code = (
        "from workingset_mcp.answers.tokenizer import encoder\n"
        "start = now(); encoder(); print(now() - start)"
    )
    return min(seconds_alone(code)[0] for _ in range(3))


@pytest.mark.process
@pytest.mark.parametrize(
    "text", [pytest.param(text, id=name) for name, text in LARGE.items() if len(text) < 300_000]
)
def test_the_first_count_of_a_process_costs_little_more_than_loading_the_encoder(
    text: str, loading_seconds: float
) -> None:
    code = (
        "from workingset_mcp.answers.budget import count_tokens\n"
        "text = sys.stdin.read()\n"
        "start = now(); count_tokens(text); print(now() - start)\n"
        "start = now(); count_tokens(text); print(now() - start)"
    )
    first, again = seconds_alone(code, text)
    assert first < 3 * (loading_seconds + again)


def test_a_loaded_encoder_is_not_loaded_again() -> None:
    assert tokenizer.encoder() is tokenizer.encoder()


# -- taking what fits ------------------------------------------------------------------------------

TEXTS = st.lists(
    PARTS | st.sampled_from(["word ", "line\n", "- item\n", " " * 50]), max_size=60
).map("".join)


@given(TEXTS, st.integers(0, 60))
def test_the_cut_prefix_fits_and_is_the_longest(text: str, budget: int) -> None:
    characters = cut_to_tokens(text, budget)
    assert 0 <= characters <= len(text)
    assert count_tokens(text[:characters]) <= budget
    if count_tokens(text) <= budget:
        assert characters == len(text)
    elif characters < len(text):
        longer = [count_tokens(text[:end]) for end in range(characters + 1, len(text) + 1)]
        assert longer[0] > budget


@pytest.mark.parametrize("budget", [-1, 0])
def test_nothing_fits_into_no_budget(budget: int) -> None:
    assert cut_to_tokens("text", budget) == 0
    assert take_lines(["text\n"], budget) == 0


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in LARGE.items()])
def test_a_long_text_is_cut_to_what_fits(text: str) -> None:
    text = text[:100_000]
    characters = cut_to_tokens(text, 500)
    assert 0 < characters < len(text)
    assert count_tokens(text[:characters]) <= 500


LINES = st.lists(TEXTS.map(lambda text: text.replace("\n", " ") + "\n"), max_size=12)


@given(LINES, st.integers(0, 200))
def test_the_lines_that_are_taken_fit_and_one_more_would_not(lines: list[str], budget: int) -> None:
    taken = take_lines(lines, budget)
    costs = [count_tokens(line) for line in lines]
    assert sum(costs[:taken]) <= budget
    if taken < len(lines):
        assert sum(costs[: taken + 1]) > budget
    assert take_lines(lines, sum(costs)) == len(lines)


def test_lines_without_end_are_not_all_counted() -> None:
    lines = ["word " * 10 + "\n"] * 1_000_000
    assert take_lines(lines, 1_100) == 100
    assert (
        least_seconds(lambda: take_lines(lines, 1_100)) < 0.2
    )  # it takes 1 ms; all lines, seconds


@pytest.mark.parametrize(
    ("budget", "max_bytes", "margin", "kept"),
    [
        (4, None, 1.0, True),
        (3, None, 1.0, False),
        (4, 13, 1.0, True),
        (4, 12, 1.0, False),
        (4, None, 1.01, False),
        (5, None, 1.25, True),
        (5, None, 1.26, False),
    ],
)
def test_a_text_fits_by_tokens_bytes_and_margin(
    budget: int, max_bytes: int | None, margin: float, *, kept: bool
) -> None:
    assert fits("Hello, world!", 4, budget, max_bytes, margin) is kept


def test_bytes_are_counted_not_characters() -> None:
    assert fits("漢字", 2, 100, 6)
    assert not fits("漢字", 2, 100, 5)


@given(st.integers(0, 10**6), st.floats(1, 3))
def test_a_price_is_never_below_its_tokens(tokens: int, margin: float) -> None:
    assert priced(tokens, 1.0) == tokens
    assert tokens <= priced(tokens, margin) == math.ceil(tokens * margin)


@pytest.mark.parametrize("text", ["", "word " * 1_000, "A sentence of plain words.\n" * 100])
def test_an_estimate_of_prose_is_close_and_not_low(text: str) -> None:
    exact = count_tokens(text)
    assert exact <= estimate_tokens(text) <= exact * 2 + 1


def test_no_count_needs_the_network_or_a_cache(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
        assert count_tokens("Hello, world!") == 4
    assert list(tmp_path.iterdir()) == []
