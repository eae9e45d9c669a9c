"""An expression and a scope as FTS5 and SQL read them, and where in the word index branches lie. Pure."""

from collections.abc import Sequence
from itertools import pairwise

from workingset_mcp.index.query import And, Column, Expr, Or, Prefix, Scope, Term
from workingset_mcp.index.sqlite.columns import marks

MOST_RANGES = 4
LEAST_GAP = 1_000  # sections; to pass over fewer costs less than to ask once more
SECTION_DATE = "CASE WHEN s.date != '' THEN s.date ELSE n.date END"
NOTE_DATE = "n.date"


def rendered(expr: Expr) -> str:
    """An expression in the syntax of FTS5; every word stands between quotes."""
    if isinstance(expr, And):
        return f"({' AND '.join(map(rendered, expr.parts))})"
    if isinstance(expr, Or):
        return f"({' OR '.join(map(rendered, expr.parts))})"
    if isinstance(expr, Term):
        return _in_column(expr.column, _quoted(expr.word))
    if isinstance(expr, Prefix):
        return _in_column(expr.column, f"{_quoted(expr.word)} *")
    return _in_column(expr.column, _quoted(" ".join(expr.words)))


def conditions(scope: Scope, date: str) -> tuple[str, tuple[str, ...]]:
    """A scope as conditions on note `n` and what `date` names, with their parameters.

    The window is the one of `Scope.may_hold`: a date is compared as far as both are known.
    """
    parts, parameters = list[str](), list[str]()
    if scope.branches is not None:
        parts.append(f"AND n.branch IN ({marks(tuple(scope.branches))})")
        parameters.extend(sorted(scope.branches))
    if scope.undated:
        return " ".join([*parts, f"AND {date} = ''"]), tuple(parameters)
    if scope.since:
        parts.append(f"AND {date} != '' AND {date} >= substr(?, 1, length({date}))")
        parameters.append(scope.since)
    if scope.until:
        parts.append(f"AND {date} != '' AND substr({date}, 1, length(?)) <= ?")
        parameters.extend((scope.until, scope.until))
    return " ".join(parts), tuple(parameters)


def ranges_of(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A few ranges that hold every span, given in order; the widest gaps stay between them.

    The notes of a branch are written one behind the other; those that change go to the end.
    """
    gaps = [(after[0] - before[1], at) for at, (before, after) in enumerate(pairwise(spans), 1)]
    wide = sorted(gap for gap in gaps if gap[0] > LEAST_GAP)[1 - MOST_RANGES :]
    borders = [0, *sorted(at for _, at in wide), len(spans)]
    return [(spans[first][0], spans[last - 1][1]) for first, last in pairwise(borders) if spans]


def _in_column(column: Column, term: str) -> str:
    if column == "written":
        return f"{{body title heads path}} : {term}"
    return f"{column} : {term}" if column else term


def _quoted(words: str) -> str:
    plain = words.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return f'"{plain.replace(chr(34), chr(34) * 2)}"'
