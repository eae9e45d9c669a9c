"""The rule on links: broken note links, wiki links and source marks."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from urllib.parse import unquote

from workingset_mcp.cli.check.reading import Finding, Reading
from workingset_mcp.notes.outline import LineKind
from workingset_mcp.vault.ignoring import NOTE_SUFFIXES
from workingset_mcp.workspace.facade import Workspace

_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(r"\]\(\s*<?([^()\s<>]+(?:\([^()\s]*\)[^()\s]*)?)>?(?:\s+[\"'][^)]*)?\)")
_WIKI = re.compile(r"!?\[\[([^\[\]|#^\n]{1,200})(?:[#^][^\[\]|\n]*)?(?:\\?\|[^\[\]\n]*)?\]\](?!\()")
_SOURCE = re.compile(r"_\[([^\[\]_]+?\.(?:md|markdown|mdx)):\d+[^\[\]]*\]_")
_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//|#|\{)", re.IGNORECASE)


def dead(reading: Reading) -> Iterator[Finding]:
    """WS401: find links to notes that do not exist."""
    names = _names(reading.workspace, reading.workspace.index.data_version())
    found = list(_dead_links(reading, names))
    wiki = any(target.startswith("[[") for _, _, target in found) and _uses_wiki_links(
        reading, names
    )
    for path, number, target in found:
        if wiki or not target.startswith("[["):
            yield Finding(path, number, f"broken link: {target}", "correct or remove the link")


def _dead_links(reading: Reading, names: frozenset[str]) -> Iterator[tuple[str, int, str]]:
    """Yield path, line and target of every broken link of the branch."""
    for path, outline in reading.outlines.items():
        for number, line in enumerate(outline.lines, start=1):
            kind = outline.kind(number)
            if "[" in line and kind not in (LineKind.CODE, LineKind.COMMENT, LineKind.FRONT_MATTER):
                bare = _CODE_SPAN.sub("", line)
                for target in _dead_targets(reading.workspace, path, bare, names):
                    yield path, number, target


def _uses_wiki_links(reading: Reading, names: frozenset[str]) -> bool:
    """Return whether any wiki link of the branch works; if none does, `[[…]]` means something else here."""
    return any(
        _is_named(found[1].strip().rstrip("\\"), names)
        for outline in reading.outlines.values()
        for found in _WIKI.finditer(outline.flat)
    )


def _dead_targets(
    workspace: Workspace, path: str, line: str, names: frozenset[str]
) -> Iterator[str]:
    for found in _LINK.finditer(line):
        target = unquote(found[1].partition("#")[0].partition("?")[0])
        is_note = not _SCHEME.match(target) and target.lower().endswith(NOTE_SUFFIXES)
        if target and is_note and not _exists(workspace, path, target):
            yield target
    for found in _WIKI.finditer(line):
        target = found[1].strip().rstrip("\\")
        suffix = PurePosixPath(target).suffix.lower()
        if (
            target
            and (not suffix or suffix in NOTE_SUFFIXES or " " in suffix)
            and not _is_named(target, names)
        ):
            yield f"[[{target}]]"
    for found in _SOURCE.finditer(line):
        if not (workspace.vault.root / found[1]).exists():
            yield found[1]


def _exists(workspace: Workspace, path: str, target: str) -> bool:
    root = workspace.vault.root
    if target.startswith("/"):
        return (root / target.lstrip("/")).exists() or not (
            root / target.lstrip("/").partition("/")[0]
        ).exists()
    place = (root / path).parent / target
    try:
        return place.exists() or not place.resolve().is_relative_to(root)
    except (OSError, ValueError, RuntimeError):
        return False


def _is_named(target: str, names: frozenset[str]) -> bool:
    folded = target.casefold().removesuffix(".md").strip("/")
    return folded in names or folded.rpartition("/")[2] in names


@lru_cache(maxsize=2)
def _names(workspace: Workspace, _state: object) -> frozenset[str]:
    """Return what a wiki link may name: paths, names, titles and aliases of notes, case-folded."""
    found: set[str] = set()
    with workspace.index.snapshot() as snapshot:
        for note in snapshot.notes():
            stem = note.path.rpartition(".")[0].casefold()
            found |= {stem, stem.rpartition("/")[2], note.title.casefold()}
        found |= {alias.casefold() for alias in snapshot.aliases()}
    return frozenset(found)
