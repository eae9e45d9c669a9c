"""Every pattern of the package takes time linear in its text.

All compiled patterns are collected from the modules. Each is run over texts that could make it slow:
what its own repeats match, many times over, and runs of characters that are common in notes.
"""

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]  # how the engine reads a pattern
from typing import Any

import pytest

import workingset_mcp
from workingset_mcp.notes import dates, fields, patterns, standing, words
from workingset_mcp.settings import Settings

pytestmark = pytest.mark.untraced

FLOOR_SECONDS = 0.01  # a shorter time is never slow
LENGTH = 8_000
SHORT, LONG = LENGTH // 2, 2 * LENGTH
MOST_GROWTH = 8  # from SHORT to LONG: linear is 4, quadratic 16
PUMPS = (
    " ", "a", "A", "*", "_", "1", "(", "[", "|", "%", "`", "-", ".", "/", ">", "#", "\t", ":", "<!--", "a ", "a-",
    "](", "[a](", "> ", "1/", "1-", "- ", "a@", "é", "中",
)  # fmt: skip

Pattern = re.Pattern[Any]
Found = tuple[Pattern, bool]
# Their texts are short, or only a person's command runs them.
BOUNDED = {
    "vault.ignoring '\\\\\\\\.|": "a pattern of 1,000 characters",
    "cli.check.": "lines of notes, in `check` alone",
}


def modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(workingset_mcp.__path__, "workingset_mcp."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def patterns_in(value: object, *, anchored: bool = False, depth: int = 0) -> Iterator[Found]:
    """Yield the patterns in a value, and whether each is tried only at one place of a text."""
    if isinstance(value, re.Pattern):
        yield value, anchored
    elif isinstance(value, words.Phrases):
        yield from ((value._words, False), (value._opening, True), (value._signs, False))
    elif isinstance(value, words.PhraseKinds):
        yield value._any, False
    elif isinstance(value, patterns.Patterns):
        yield from patterns_in(vars(value), depth=depth)
    elif isinstance(value, dict) and depth < 3:
        for name, one in value.items():
            used = USES.get(str(name), set())
            only = bool(used) and used <= {"match", "fullmatch"}
            yield from patterns_in(one, anchored=only, depth=depth + 1)
    elif isinstance(value, list | tuple | set | frozenset) and depth < 3 and len(value) < 1_000:
        for one in value:
            yield from patterns_in(one, depth=depth + 1)


def uses_of_names() -> dict[str, set[str]]:
    """Return the methods called on each name, and `given` if it is passed as an argument."""
    uses: dict[str, set[str]] = {}
    for module in modules():
        for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            if isinstance(node.func, ast.Attribute):
                name = getattr(node.func.value, "id", getattr(node.func.value, "attr", ""))
                uses.setdefault(name, set()).add(node.func.attr)
            for given in node.args:
                name = getattr(given, "id", getattr(given, "attr", ""))
                uses.setdefault(name, set()).add("given")
    return uses


def constant_patterns(module: Any) -> Iterator[Found]:
    """Return the patterns that are written where they are used."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for call in ast.walk(tree):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id == "re"
            and call.func.attr not in ("compile", "escape")  # those have names
            and call.args
            and isinstance(call.args[0], ast.Constant)
        ):
            anchored = call.func.attr in ("match", "fullmatch")
            yield re.compile(call.args[0].value), anchored


def every_pattern() -> dict[str, Found]:
    settings = Settings()
    made = [
        patterns.patterns_for(settings),
        fields._owner_field(settings.labels["owner"]),
        [dates._compile(year_given=given) for given in (True, False)],
        [standing._hints(in_ascii=ascii_only) for ascii_only in (True, False)],
    ]
    found: dict[tuple[str | bytes, int, bool], str] = {}
    for place, value in [("made", made), *((m.__name__, vars(m)) for m in modules())]:
        for pattern, anchored in patterns_in(value):
            found.setdefault((pattern.pattern, pattern.flags, anchored), place)
    for module in modules():
        for pattern, anchored in constant_patterns(module):
            found.setdefault((pattern.pattern, pattern.flags, anchored), module.__name__)
    return {
        f"{place.removeprefix('workingset_mcp.')} {pattern[:40]!r}{' at one place' * anchored}": (
            re.compile(pattern, flags),
            anchored,
        )
        for (pattern, flags, anchored), place in found.items()
    }


EXAMPLES = {
    _constants.CATEGORY_DIGIT: "1",
    _constants.CATEGORY_NOT_DIGIT: "a",
    _constants.CATEGORY_SPACE: " ",
    _constants.CATEGORY_NOT_SPACE: "a",
    _constants.CATEGORY_WORD: "a",
    _constants.CATEGORY_NOT_WORD: "-",
}


def example(parsed: Any) -> str:
    """Return a text that a parsed pattern matches, or nearly, using the first of each choice."""
    text = ""
    for operation, value in parsed:
        name = str(operation)
        if name == "LITERAL":
            text += chr(value)
        elif name == "NOT_LITERAL":
            text += "b" if value == ord("a") else "a"
        elif name == "ANY":
            text += "a"
        elif name == "IN":
            text += example_of_class(value)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            text += example(value[2]) * max(1, value[0])
        elif name == "SUBPATTERN":
            text += example(value[3])
        elif name == "ATOMIC_GROUP":
            text += example(value)
        elif name == "BRANCH":
            text += example(value[1][0])
    return text


def example_of_class(members: Any) -> str:
    operation, value = members[0]
    if str(operation) == "NEGATE":
        return "a"
    if str(operation) == "RANGE":
        return chr(value[0])
    return EXAMPLES.get(value, "a") if str(operation) == "CATEGORY" else chr(value)


def repeats(parsed: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Return the text before each repeat of a pattern, and what the repeat matches."""
    for item in parsed:
        operation, value = item
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            if value[1] > 8:
                yield before, example(value[2])
            yield from repeats(value[2], before)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            yield from repeats(value[3] if name == "SUBPATTERN" else value, before)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from repeats(branch, before)
        before += example([item])


def pumps_of(pattern: Pattern) -> set[tuple[str, str]]:
    text = pattern.pattern
    flags = pattern.flags
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    parsed = _parser.parse(text, flags)
    pumps = {("", pump) for pump in PUMPS}
    for before, taken in repeats(parsed):
        pumps |= {(before, taken), ("", before + taken), ("", taken), ("", before)}
    return {(before[:200], pump[:200]) for before, pump in pumps if pump}


def seconds_of(found: Found, before: str, pump: str, length: int) -> float:
    pattern, anchored = found
    text: Any = f"{before}{pump * (length // len(pump))}\x01"
    if isinstance(pattern.pattern, bytes):
        text = text.encode("utf-8", "replace")
    started = time.process_time()
    if anchored:
        pattern.match(text)
    else:
        pattern.subn(text[:0], text)
    return time.process_time() - started


USES = uses_of_names()
PATTERNS = every_pattern()
CHECKED = [name for name in sorted(PATTERNS) if not name.startswith(tuple(BOUNDED))]


def grows_too_fast(found: Found) -> tuple[str, str] | None:
    """Return what makes a pattern slow: the prefix and the repeated text; None if nothing does."""
    for before, pump in sorted(pumps_of(found[0])):
        if seconds_of(found, before, pump, LENGTH) < FLOOR_SECONDS:
            continue
        short, long = (
            min(seconds_of(found, before, pump, length) for _ in range(3))
            for length in (SHORT, LONG)
        )
        if long > max(FLOOR_SECONDS, MOST_GROWTH * short):
            return before, pump
    return None


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", CHECKED)
def test_a_pattern_is_linear(name: str) -> None:
    assert grows_too_fast(PATTERNS[name]) is None


def test_a_pattern_that_backtracks_would_be_found() -> None:
    assert grows_too_fast((re.compile(r"a*b"), False))


def test_the_patterns_of_the_whole_package_are_collected() -> None:
    assert len(PATTERNS) > 150
