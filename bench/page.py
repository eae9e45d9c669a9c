"""The performance page in Markdown: targets and results, growth, and other tools.

It uses only the figures of `performance`; a missing figure is shown as not measured. Values are
medians; a ratio is the median of the ratios within each round. Not here: measuring, the plot (`plot`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from plot import curves, slope

LARGEST_OFTEN = 10_000  # the size of the targets table; larger vaults are measured once
SMALL, LARGE = 1_300, 100_000
ABSENT = "not measured"

Figures = Mapping[str, Any]
Row = Sequence[str]


def page(figures: Figures) -> str:
    """Render the whole page."""
    sizes = {int(notes): made for notes, made in figures["sizes"].items()}
    versions = ", ".join(f"{name} {told}" for name, told in figures.get("versions", {}).items())
    return (
        "\n".join(
            [
                "# Performance",
                "",
                "One command generates the vaults and this page: `python bench/performance.py --work DIR"
                " --notes 1300,10000,100000 --peers`.",
                "",
                f"Measured with {versions}. Each run alternates the baseline and this server. Figures are"
                " medians: of at least five rounds up to 10,000 notes, of one round above that. Absolute"
                " times depend on the machine, ratios much less.",
                "",
                "## Targets and results",
                "",
                *_asked(sizes),
                "",
                "## Where the time goes",
                "",
                *_where(sizes.get(LARGEST_OFTEN, {})),
                "",
                "## Every kind of call",
                "",
                *_calls(sizes),
                "",
                "## Growth",
                "",
                "![Growth from the smallest vault to the largest](performance.svg)",
                "",
                *_growth(figures, sizes),
                "",
                "## Compared with other tools",
                "",
                *_others(figures.get("peers", {})),
            ]
        )
        + "\n"
    )


def table(head: Row, rows: Sequence[Row]) -> list[str]:
    """Render a Markdown table as lines."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


# -- targets ---------------------------------------------------------------------------------


def _asked_in(at: Figures, era: str) -> list[tuple[str, str, Callable[[], str]]]:
    """The targets of a server in one protocol era."""
    return [
        (f"search over stdio, {era}", "p50 ≤ 8 ms and p99 ≤ 25 ms above an empty tool",
         lambda: _above(at["search"][era]["search"])),
        (f"brief over stdio, {era}", "p50 ≤ 10 ms above an empty tool, for a branch of 50 notes",
         lambda: _above(at["search"][era]["brief"])
         + f"; {at['search'][era]['notes of a brief']:.0f} notes; repeated "
         + _above(at["search"][era]["brief, repeated"])),
        (f"process start to first answer, warm index, {era}",
         "≤ 1.3 × an empty server built on the SDK",
         lambda: _ratio(at["start"][era]["first answer"], "{:.0f} ms")),
    ]  # fmt: skip


def _asked(sizes: Mapping[int, Figures]) -> list[str]:
    at = sizes.get(LARGEST_OFTEN, {})
    rows: list[tuple[str, str, Callable[[], str]]] = [
        ("full index, searchable", "≤ 3.0 × a bare FTS5 insert of the same sections",
         lambda: _ratio(at["index"], "{:.2f} s", "of CPU")),
        ("refresh with no changes", "≤ 1.5 × a bare `scandir` and `stat` walk",
         lambda: _ratio(at["refresh"], "{:.0f} ms", "of CPU")),
        ("from a save to a search over MCP that shows it", "p50 ≤ 150 ms, longest of 50 ≤ 400 ms",
         lambda: _saves(at["save"]["milliseconds"])),
    ]  # fmt: skip
    for era in ("handshake", "sessionless"):
        rows += _asked_in(at, era)
    rows += [
        ("all briefs of a 1,300-note vault, new process, warm index", "≤ 1.5 s",
         lambda: f"{median(sizes[SMALL]['cli']['all briefs']):.2f} s"),
        ("`hook`, `status`", "≤ 0.3 s", lambda: _commands(at["cli"], "hook", "status")),
        ("`brief`, `search` from the command line", "≤ 0.9 s",
         lambda: _commands(at["cli"], "brief", "search")),
        ("commands that import the SDK", "none",
         lambda: ", ".join(at["cli"]["import mcp"]) or "none"),
        ("resident memory of an idle server", "≤ 1.5 × the empty server + 40 MB",
         lambda: _memory(at["memory"])),
        ("index size", "≤ 2.2 × the vault",
         lambda: "{:.2f} × ({:.0f} MB of {:.0f} MB)".format(
             at["size"]["index bytes"] / at["size"]["vault bytes"],
             at["size"]["index bytes"] / 1e6, at["size"]["vault bytes"] / 1e6)),
        ("search at 100,000 notes", "p50 ≤ 25 ms above an empty tool",
         lambda: _above(sizes[LARGE]["search"]["handshake"]["search"])),
        ("full index, 100,000 against 10,000 notes", "≤ 11 ×",
         lambda: "{:.1f} ×".format(median(sizes[LARGE]["index"]["ours"])
                                   / median(at["index"]["ours"]))),
    ]  # fmt: skip
    told = [(what, asked, _or_absent(measured)) for what, asked, measured in rows]
    return table((f"at {LARGEST_OFTEN:,} notes", "target", "measured"), told)


def _or_absent(measured: Callable[[], str]) -> str:
    try:
        return measured()
    except KeyError:
        return ABSENT


def _ratio(made: Figures, form: str, of: str = "") -> str:
    ratios = [ours / floor for ours, floor in zip(made["ours"], made["floor"], strict=True)]
    ours, floor = (form.format(median(made[whose])) for whose in ("ours", "floor"))
    return f"**{median(ratios):.2f} ×** ({ours} over {floor} {of}".rstrip() + ")"


def _above(made: Figures) -> str:
    told = []
    for name in ("p50", "p99"):
        ours, floor = made["ours"][name], made["floor"][name]
        above = median(one - other for one, other in zip(ours, floor, strict=True))
        told.append(f"{name} **{above:.1f} ms** ({median(ours):.1f} over {median(floor):.1f})")
    return ", ".join(told)


def _saves(took: Sequence[float]) -> str:
    return f"p50 **{median(took):.0f} ms**, longest of {len(took)} **{max(took):.0f} ms**"


def _commands(made: Figures, *names: str) -> str:
    return ", ".join(f"`{name}` {median(made[name]):.2f} s" for name in names)


def _memory(made: Figures) -> str:
    ours, floor = median(made["ours"]), median(made["floor"])
    return f"**{ours:.0f} MB**, allowed {1.5 * floor + 40:.0f} MB (empty server {floor:.0f} MB)"


# -- where the time goes, growth ---------------------------------------------------------------


def _where(at: Figures) -> list[str]:
    rows: list[Row] = []
    if "index" in at:
        parts = {
            name: seconds for name, seconds in at["index"]["parts"].items()
            if not name.startswith("size")
        }  # fmt: skip
        whole = sum(parts.values())
        shares = {name: seconds / whole for name, seconds in parts.items()}
        rows.append(("full index, parts timed separately", f"{whole:.2f} s", _shares(shares)))
    for name, made in at.get("profile", {}).items():
        rows.append((name, f"{made['milliseconds']:.1f} ms", _shares(made["shares"])))
    rows += _saved(at) + _commanded(at)
    if not rows:
        return [ABSENT]
    return table((f"at {LARGEST_OFTEN:,} notes", "time", "share"), rows)


def _saved(at: Figures) -> list[Row]:
    """The shares of a save; the refresh and the search in it are measured elsewhere."""
    try:
        whole = median(at["save"]["milliseconds"])
        parts = {
            "refresh and commit": median(at["refresh"]["one note saved"]),
            "search": median(at["search"]["handshake"]["search"]["ours"]["p50"]),
        }
    except KeyError:
        return []
    shares = {name: part / whole for name, part in parts.items()}
    shares["waiting for file events and the next search"] = 1 - sum(shares.values())
    return [("from a save to a search that shows it", f"{whole:.0f} ms", _shares(shares))]


def _commanded(at: Figures) -> list[Row]:
    imports = at.get("cli", {}).get("imports", {})
    rows: list[Row] = []
    for name, importing in imports.items():
        whole = median(at["cli"][name])
        shares = {
            "importing": importing / whole,
            "Python start-up and the work": 1 - importing / whole,
        }
        rows.append((f"`{name}`", f"{whole:.2f} s", _shares(shares)))
    return rows


def _shares(shares: Mapping[str, float]) -> str:
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {share:.0%}" for name, share in ordered if share >= 0.005)


def _calls(sizes: Mapping[int, Figures]) -> list[str]:
    rows = []
    for notes, made in sorted(sizes.items()):
        for name, one in made.get("search", {}).get("handshake", {}).items():
            if isinstance(one, Mapping):
                ours, floor = one["ours"], one["floor"]
                rows.append((
                    f"{notes:,}", name, f"{median(ours['p50']):.1f} / {median(ours['p99']):.1f}",
                    f"{median(floor['p50']):.1f} / {median(floor['p99']):.1f}",
                    f"{one['bytes']:,.0f}",
                ))  # fmt: skip
    head = ("notes", "call", "p50 / p99, ms", "empty tool, same bytes, p50 / p99", "answer bytes")
    return table(head, rows) if rows else [ABSENT]


def _growth(figures: Figures, sizes: Mapping[int, Figures]) -> list[str]:
    notes = sorted(sizes)
    units = {"index": "s", "memory": "MB"}
    rows = []
    for name, points in curves(figures).items():
        values = dict(points)
        exponent = slope(points)
        rows.append((
            f"{name}, {units.get(name, 'ms')}",
            *(f"{values[one]:,.1f}" if one in values else ABSENT for one in notes),
            ABSENT if math.isnan(exponent) else f"{exponent:.2f}",
        ))  # fmt: skip
    found = [
        "{} of {} and {} of {}".format(
            one["found"]["query"], one["found"]["planted"], one["found"]["question"],
            one["found"]["planted"])
        if (one := sizes[size].get("search")) else ABSENT
        for size in notes
    ]  # fmt: skip
    rows.append(("planted facts shown: exact query, question", *found, ""))
    return table(("what", *(f"{size:,} notes" for size in notes), "slope"), rows)


# -- other tools ----------------------------------------------------------------------------------------


def _found(form: str, name: str) -> list[tuple[str, Callable[[Figures], str]]]:
    """Speed and quality for one form of question."""
    return [
        (f"{name}: p50 / p99",
         lambda made: f"{made[form]['p50']:.1f} / {made[form]['p99']:.1f} ms"),
        (f"{name}: first / first ten / shown",
         lambda made: " / ".join(f"{made[form][key]:.2f}" for key in ("first", "among", "shown"))),
        (f"{name}: answer tokens", lambda made: f"{made[form]['tokens']:,}"),
    ]  # fmt: skip


def _others(peers: Mapping[str, Figures]) -> list[str]:
    ran = {name: made for name, made in peers.items() if "query" in made}
    lines = [
        f"One vault of {SMALL:,} notes, {{}} questions in each form, each tool called over stdio as an"
        " agent calls it. \"first\" and \"first ten\": how often the right note ranks first, or among the"
        " first ten. \"shown\": how often the reply contains the answer itself.".format(
            max((made["query"]["asked"] for made in ran.values()), default=0)
        ),
        "",
    ]  # fmt: skip
    rows: list[tuple[str, Callable[[Figures], str]]] = [
        ("version", lambda made: made["version"]),
        ("index, whole process", _indexed),
        ("index on disk", lambda made: f"{made['index bytes'] / 1e6:.1f} MB"),
        ("refresh after one save, whole process", lambda made: f"{median(made['refresh']):.2f} s"),
        ("start to first answer", lambda made: f"{median(made['start']):,.0f} ms"),
        ("save to searchable, p50 / longest / never", _seen),
        ("`tools/list`", lambda made: f"{made['tools tokens']:,} tokens, {made['tools']} tools"),
        ("memory, serving", lambda made: f"{made['memory']:.0f} MB"),
    ]
    rows += _found("query", "exact") + _found("question", "question")
    told = [
        (what, *(_cell(figure, made) for made in ran.values()))
        for what, figure in rows
    ]  # fmt: skip
    lines += table(("", *ran), told) if ran else [ABSENT]
    lines.append("")
    for name, made in peers.items():
        if made.get("failed"):
            lines.append(f"- {name}: **did not finish**: {made['failed']}.")
        elif made["remark"]:
            cut = "; queried on the part it had indexed" if "index cut" in made else ""
            lines.append(f"- {name}: {made['remark']}{cut}.")
    return lines


def _cell(figure: Callable[[Figures], str], made: Figures) -> str:
    try:
        return figure(made)
    except KeyError:
        return "–"


def _indexed(made: Figures) -> str:
    if "index cut" in made:
        return f"cut at {made['index cut']:.0f} s"
    return f"{median(made['index']):.2f} s"


def _seen(made: Figures) -> str:
    took, missed = made["saves"]["milliseconds"], made["saves"]["missed"]
    if not took:
        return f"– / – / {missed} of {missed}"
    return f"{median(took):,.0f} ms / {max(took):,.0f} ms / {missed} of {missed + len(took)}"
