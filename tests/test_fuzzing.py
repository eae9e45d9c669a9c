"""Fuzzing of property tests: a planted fault is found and kept, and a clean run ends in time.

`make fuzz` runs `bench/fuzz_tests.py`; here it runs over its own folder.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

FUZZ = Path(__file__).parents[1] / "bench/fuzz_tests.py"
PROFILE = """\
import hypothesis

hypothesis.settings.register_profile("fuzz", deadline=None, derandomize=False, database=None)
"""
PROPERTY = """\
from hypothesis import given
from hypothesis import strategies as st


def test_without_examples() -> None:
    raise AssertionError("only property tests are run")


@given(number=st.integers(0, 99_999))
def test_numbers_are_small(number: int) -> None:
    assert number < {limit}
"""


def fuzz(folder: Path, limit: int, *options: str) -> subprocess.CompletedProcess[str]:
    """Fuzz one property test, which fails for numbers from `limit` on."""
    (folder / "conftest.py").write_text(PROFILE, encoding="utf-8")
    test = folder / "test_numbers.py"
    if not test.exists():
        test.write_text(PROPERTY.format(limit=limit), encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(FUZZ), "--processes", "0", *options, "."],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.process
@pytest.mark.timeout(180)
def test_a_planted_fault_is_found_and_added_as_an_example(tmp_path: Path) -> None:
    """Takes 5 s: pytest starts twice, and Hypothesis loads its patch writer."""
    found = fuzz(tmp_path, 70_000)
    assert found.returncode == 1, found.stdout + found.stderr
    [seed] = re.findall(r"^round \d+: seed (\d+)$", found.stdout, re.MULTILINE)
    assert f"repeat it with --seed {seed}" in found.stdout
    test = tmp_path / "test_numbers.py"
    with_example = test.read_text(encoding="utf-8")
    assert "from hypothesis import example, given\n" in with_example
    [line] = re.findall(r"^@example.*(?:\n    .*)*", with_example, re.MULTILINE)
    assert "number=70000" in line
    assert "number=70000" in found.stdout

    test.write_text(PROPERTY.format(limit=70_000), encoding="utf-8")
    repeated = fuzz(tmp_path, 70_000, "--seed", seed)
    assert repeated.returncode == 1
    assert test.read_text(encoding="utf-8") == with_example


@pytest.mark.process
@pytest.mark.timeout(180)
def test_a_clean_run_repeats_with_new_seeds_until_its_time_is_over(
    tmp_path: Path,
) -> None:
    """Takes 4 s: the given time and the rest of the last round."""
    clean = fuzz(tmp_path, 100_000, "--seconds", "3")
    assert clean.returncode == 0, clean.stdout + clean.stderr
    seeds = re.findall(r"^round \d+: seed (\d+)$", clean.stdout, re.MULTILINE)
    assert len(set(seeds)) == len(seeds) >= 1
    assert f"nothing failed in {len(seeds)} rounds" in clean.stdout


def drawn() -> list[tuple[str, int]]:
    """Return the examples of one run of a property test."""
    examples = []

    @given(st.text(), st.integers())
    def draw(text: str, number: int) -> None:
        examples.append((text, number))

    draw()
    return examples


def test_without_fuzzing_a_property_test_draws_the_same_examples_every_time() -> None:
    assert drawn() == drawn()
