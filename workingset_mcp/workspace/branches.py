"""Resolve a branch name: exact, in another case, or a unique last part. All callers use this rule.

Not here: which branches exist (the index knows, and a hook looks at the folders).
"""

from collections.abc import Callable, Sequence

from workingset_mcp.errors import ArgumentError, BranchNotFound
from workingset_mcp.escaping import read_name, show_name

_LEAST_SCORE = 55  # lowest similarity of a name that is suggested


def name_branch(
    given: str,
    is_branch: Callable[[str], bool],
    lists: Sequence[Callable[[], Sequence[str]]],
    *,
    may_be_gone: bool = False,
) -> str:
    """Return the branch that `given` means.

    `lists` return all names, the fastest first; the next is called only if the one before has no match.
    `may_be_gone`: accept a full name that is not a branch today. Raises ArgumentError, and
    BranchNotFound with near matches.
    """
    wanted = given.strip()
    if not wanted:
        raise ArgumentError("No branch is named.", 'Name one, e.g. "cust/acme".')
    for name in dict.fromkeys(
        (read_name(given), read_name(wanted), wanted)
    ):  # as printed, and as typed
        if is_branch(name):
            return name
    wanted = wanted.replace("\\", "/").strip("/") or "."
    if is_branch(wanted):
        return wanted
    names: Sequence[str] = ()
    matches: list[str] = []
    for names_of in lists:
        names = names_of()
        matches = _matches(wanted, names)
        if len(matches) == 1 and is_branch(matches[0]):
            return matches[0]
    if may_be_gone and not matches and could_be_folder(wanted):
        return wanted
    raise _no_branch(given, wanted, matches, names)


def _matches(wanted: str, names: Sequence[str]) -> list[str]:
    """Return the branches with this name in another case, else those whose last part it is."""
    folded = wanted.casefold()
    same = [name for name in names if name.casefold() == folded]
    return same or [name for name in names if name.rpartition("/")[2].casefold() == folded]


def _no_branch(given: str, wanted: str, matches: list[str], names: Sequence[str]) -> BranchNotFound:
    several = len(matches) > 1
    near = matches if several else near_names(wanted, names, _LEAST_SCORE)
    about = "means several branches" if several else "is no branch of this vault"
    hint = (
        f"Near: {', '.join(map(show_name, near))}." if near else "get_brief() lists the branches."
    )
    return BranchNotFound(f"{given[:80]!r} {about}.", hint)


def near_names(word: str, names: Sequence[str], least_score: float) -> list[str]:
    """Return the names most similar to a word, at most three."""
    from rapidfuzz import process  # takes 12 ms, and only a mistake needs it

    # Compare only the beginning: a word of a megabyte would take a quarter of a second.
    found = process.extract(word[:200], names, limit=3)
    return [name for name, score, _ in found if score > least_score]


def could_be_folder(name: str) -> bool:
    """Return whether a folder inside the vault could have this name; other names never reach the disk."""
    try:
        parts = name.encode("utf-8").split(b"/")
    except UnicodeEncodeError:
        return False
    inside = not {b"", b".", b".."} & set(parts) and b"\0" not in name.encode()
    return inside and max(map(len, parts)) <= 255 and len(name) <= 1_000
