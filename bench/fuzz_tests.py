"""Run the property tests with fresh seeds for a given time, and add what fails to them as an example.

    python bench/fuzz_tests.py [--seconds 300] [--seed N] [--processes auto] [tests ...]

`make test` runs the property tests on the same examples every time; this draws new ones. Each round has
one seed, which is printed: `--seed` repeats that round alone. The first failure ends the run. Hypothesis
writes it as an `@example(...)` into a patch, which is printed and applied to the test.
"""

import argparse
import random
import re
import subprocess
import sys
import time
from pathlib import Path

PATCHES = Path(".hypothesis/patches")


def run_round(seed: int, processes: str, tests: list[Path]) -> int:
    """Run the property tests once; return the exit code of pytest."""
    options = ["--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", "-m", "hypothesis"]
    options += ["--maxfail=1", f"--numprocesses={processes}", "--dist=worksteal"]
    quiet = ["-q", "-p", "no:cacheprovider", "--inline-snapshot=disable"]
    return subprocess.call([sys.executable, "-m", "pytest", *options, *quiet, *map(str, tests)])


def property_tests(paths: list[Path]) -> list[Path]:
    """The files with property tests; the others need not be collected."""
    files = [path for path in paths if path.is_file()]
    files += [file for path in paths for file in sorted(path.rglob("test_*.py"))]
    return [file for file in files if "@given(" in file.read_text(encoding="utf-8")]


def patches() -> set[tuple[Path, int]]:
    """The patches that Hypothesis has written here, and when: the same find has the same name."""
    return {(path, path.stat().st_mtime_ns) for path in PATCHES.glob("*.patch")}


def add_example(patch: Path) -> None:
    """Apply a patch, import `example` where it is new, and print what to look at."""
    text = patch.read_text(encoding="utf-8")
    print(
        "".join(f"    {line[1:]}\n" for line in text.splitlines() if re.match(r"\+(?!\+\+)", line))
    )
    if subprocess.call(["git", "apply", str(patch)]):
        print(f"{patch} does not apply: paste these lines above the test")
        return
    for name in re.findall(r"^\+\+\+ \./(.+)$", text, re.MULTILINE):
        file = Path(name)
        source = file.read_text(encoding="utf-8")
        if not re.search(r"^from hypothesis import .*\bexample\b", source, re.MULTILINE):
            with_import = "from hypothesis import example\nfrom hypothesis import "
            source = source.replace("from hypothesis import ", with_import, 1)
            file.write_text(source, encoding="utf-8")
        for command in (["check", "--quiet", "--select", "I", "--fix"], ["format", "--quiet"]):
            subprocess.call([sys.executable, "-m", "ruff", *command, name])
        print(f"added to {name}: fix the fault and commit both")


def main() -> None:
    """Fuzz as the command line says; exit 0 when nothing failed in the time given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, help="run one round with this seed")
    parser.add_argument("--processes", default="auto", help="as pytest-xdist takes it; 0 for none")
    parser.add_argument("tests", nargs="*", type=Path, default=[Path("tests")])
    chosen = parser.parse_args()
    tests = property_tests(chosen.tests)
    end = time.monotonic() + chosen.seconds
    rounds, code = 0, 0
    while not code and (not rounds or (chosen.seed is None and time.monotonic() < end)):
        rounds += 1
        seed = random.SystemRandom().getrandbits(64) if chosen.seed is None else chosen.seed
        print(f"round {rounds}: seed {seed}", flush=True)
        known = patches()
        code = run_round(seed, chosen.processes, tests)
    if code:
        print(f"round {rounds} failed; repeat it with --seed {seed}", flush=True)
        written = patches() - known
        for patch, _ in written:
            add_example(patch)
        if not written:
            print(
                "Hypothesis wrote no example: its values have no literal, or an example failed again"
            )
    else:
        print(f"nothing failed in {rounds} rounds", flush=True)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
