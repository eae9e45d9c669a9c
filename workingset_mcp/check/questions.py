"""The gate: questions that the vault must answer, and where.

`workingset-questions.yaml` in the vault root is a list of `question`, `facts`, `where` (brief, search,
source, absent), and `branch`, `relpath`, `also` where they help.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from workingset_mcp.check.reading import Finding, Reading
from workingset_mcp.errors import WorkingsetError
from workingset_mcp.workspace import Workspace

FILE_NAME = "workingset-questions.yaml"
_PLACES = ("brief", "search", "source", "absent")


def unanswered(reading: Reading) -> Iterator[Finding]:
    """WS501: questions whose facts are not where they must be."""
    if not reading.first:
        return
    try:
        text = (reading.workspace.vault.root / FILE_NAME).read_text(encoding="utf-8-sig")
        asked = yaml.safe_load(text)
    except FileNotFoundError:
        return
    except (OSError, ValueError, yaml.YAMLError) as error:
        yield Finding(
            FILE_NAME, 0, f"cannot be read: {str(error).partition(chr(10))[0]}", "correct it"
        )
        return
    if not isinstance(asked, list):
        yield Finding(FILE_NAME, 0, "is no list of questions", "begin each with `- question: …`")
        return
    for number, entry in enumerate(asked, start=1):
        problem = _problem(reading.workspace, entry)
        if problem:
            name = entry.get("id", number) if isinstance(entry, dict) else number
            line = _line_of(text, entry, number)
            yield Finding(
                FILE_NAME, line, f"question {name}: {problem}", "mend the notes, or the question"
            )


def _problem(workspace: Workspace, entry: Any) -> str:
    """What is wrong with the answer to one question; empty when it is right."""
    if not isinstance(entry, dict) or not entry.get("question"):
        return "has no `question`"
    where, facts = entry.get("where", "search"), entry.get("facts") or []
    if where not in _PLACES:
        return f"`where` is {where!r}, not one of {', '.join(_PLACES)}"
    facts = [str(fact) for fact in (facts if isinstance(facts, list) else [facts])]
    branch = entry.get("branch")
    try:
        text = _answer(workspace, where, str(entry["question"]), branch, entry)
    except WorkingsetError as error:
        return str(error)
    flat = " ".join(text.split())
    missing = [fact for fact in facts if " ".join(fact.split()) not in flat]
    if where == "absent":
        present = [fact for fact in facts if fact not in missing]
        return f"was to be absent, but is there: {', '.join(present)}" if present else ""
    return f"not in the {where}: {', '.join(missing)}" if missing else ""


def _answer(
    workspace: Workspace, where: str, question: str, branch: str | None, entry: dict[str, Any]
) -> str:
    if where == "brief":
        return workspace.brief(branch)
    if where == "source" and entry.get("relpath"):
        return workspace.open(str(entry["relpath"]), budget=24_000)
    also = entry.get("also") or ()
    return workspace.search(question, also=tuple(map(str, also)), branch=branch)


def _line_of(text: str, entry: Any, number: int) -> int:
    wanted = str(entry.get("question", "")) if isinstance(entry, dict) else ""
    for line, content in enumerate(text.splitlines(), start=1):
        if wanted and wanted[:40] in content:
            return line
    return number
