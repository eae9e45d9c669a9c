"""The gate: questions that the vault must answer, and where.

`workingset-questions.yaml` in the vault root is a list of `question`, `facts`, `where` (brief,
search, source, absent), and `id`, `branch`, `relpath`, `also` where they help.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

import yaml
from rapidfuzz import process

from workingset_mcp.answers.budget import MOST_BUDGET
from workingset_mcp.cli.check.reading import Finding, Reading
from workingset_mcp.errors import WorkingsetError
from workingset_mcp.vault.files import read_without_links
from workingset_mcp.workspace.facade import Workspace

FILE_NAME = "workingset-questions.yaml"
_PLACES = ("brief", "search", "source", "absent")
_FIELDS = ("id", "question", "facts", "where", "branch", "relpath", "also")
_MOST_BYTES = 2_000_000


class Question(NamedTuple):
    """One entry, in its right shape."""

    question: str
    facts: tuple[str, ...]
    where: str
    branch: str | None
    relpath: str | None
    also: tuple[str, ...]


class _WrongShape(Exception):
    """An entry or a file that is no question, in words for a person."""


def unanswered(reading: Reading) -> Iterator[Finding]:
    """WS501: questions whose facts are not where they must be."""
    if not reading.first:
        return
    try:
        raw, _ = read_without_links(reading.workspace.vault.root, FILE_NAME, _MOST_BYTES + 1)
        text, entries = _read(raw)
    except FileNotFoundError:
        return
    except OSError as error:
        yield Finding(FILE_NAME, 0, f"cannot be read: {error.strerror}", "correct it")
        return
    except _WrongShape as error:
        yield Finding(FILE_NAME, 0, str(error), "begin each question with `- question: …`")
        return
    for number, entry in enumerate(entries, start=1):
        problem = _problem(reading.workspace, entry)
        if problem:
            named = entry.get("id") if isinstance(entry, dict) else None
            name = named if isinstance(named, str | int) else number
            yield Finding(
                FILE_NAME,
                _line_of(text, entry, number),
                f"question {name}: {problem}",
                "mend the notes, or the question",
            )


def _read(raw: bytes) -> tuple[str, list[Any]]:
    """The text of the file and its entries. Raises _WrongShape."""
    if len(raw) > _MOST_BYTES:
        raise _WrongShape(f"cannot be read: over {_MOST_BYTES:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
        entries = yaml.safe_load(text)
    except RecursionError:
        raise _WrongShape("cannot be read: nested too deep") from None
    except (ValueError, yaml.YAMLError) as error:
        raise _WrongShape(f"cannot be read: {str(error).partition(chr(10))[0]}") from None
    if not isinstance(entries, list):
        raise _WrongShape("is no list of questions")
    return text, entries


def _question(entry: Any) -> Question:
    """An entry as a question. Raises _WrongShape."""
    question = _words(entry.get("question")) if isinstance(entry, dict) else ""
    if not question:
        raise _WrongShape("has no `question`")
    for key in entry:
        if key not in _FIELDS:
            near = process.extractOne(_words(key), _FIELDS, score_cutoff=60)
            raise _WrongShape(
                f"{_shown(key)} is no field" + (f"; near: `{near[0]}`" if near else "")
            )
    where = entry.get("where", "search")
    if where not in _PLACES:
        raise _WrongShape(f"`where` is {_shown(where)}, not one of {', '.join(_PLACES)}")
    facts = _texts("facts", entry.get("facts"))
    if not facts:
        raise _WrongShape("has no `facts`")
    return Question(
        question,
        facts,
        where,
        _name("branch", entry.get("branch")),
        _name("relpath", entry.get("relpath")),
        _texts("also", entry.get("also")),
    )


def _texts(key: str, value: Any) -> tuple[str, ...]:
    """A text, a number or a list of them, as texts. Raises _WrongShape."""
    if value is None:
        return ()
    values = value if isinstance(value, list) else [value]
    texts = tuple(map(_words, values))
    if not all(texts):
        raise _WrongShape(f"`{key}` is no text and no list of texts")
    return texts


def _name(key: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _WrongShape(f"`{key}` is {_shown(value)}, not a text")
    return value


def _words(value: Any) -> str:
    """A text, number or date as a text; anything else is empty (aliases grow without end)."""
    return str(value).strip() if isinstance(value, str | int | float | date) else ""


def _shown(value: Any) -> str:
    return repr(_words(value)[:60]) if _words(value) else f"a {type(value).__name__}"


def _problem(workspace: Workspace, entry: Any) -> str:
    """What is wrong with the answer to one question; empty when it is right."""
    try:
        asked = _question(entry)
        text = _answer(workspace, asked)
    except (_WrongShape, WorkingsetError) as error:
        return str(error)
    flat = " ".join(text.split())
    missing = [fact for fact in asked.facts if " ".join(fact.split()) not in flat]
    if asked.where == "absent":
        present = [fact for fact in asked.facts if fact not in missing]
        return f"was to be absent, but is there: {', '.join(present)}" if present else ""
    return f"not in the {asked.where}: {', '.join(missing)}" if missing else ""


def _answer(workspace: Workspace, asked: Question) -> str:
    """What notes say in the answer: not its header, nor lines that repeat the question."""
    if asked.where == "brief":
        return workspace.brief(asked.branch).body
    if asked.where == "source" and asked.relpath:
        return workspace.open(asked.relpath, budget=MOST_BUDGET).content.text
    found = workspace.search(asked.question, also=asked.also, branch=asked.branch)
    return "".join(passage.text for passage in found.content.passages)


def _line_of(text: str, entry: Any, number: int) -> int:
    """The line of a question in the file, else its number in the list."""
    wanted = _words(entry.get("question")) if isinstance(entry, dict) else ""
    for line, content in enumerate(text.splitlines(), start=1):
        if wanted and wanted[:40] in content:
            return line
    return number
