"""Run a folder of cases (small vaults with the right answer for each) and print which come out wrong.

    python bench/cases.py CASES [--only 113,124] [--show]

A case is a folder with `case.json` and `vault/`; `materialize.py` beside the cases builds the vault. Tools are
asked in process, commands (`cli.…`) in a process of their own. Not here: what is right (the cases say it).
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workingset_mcp.answers.answer import printed
from workingset_mcp.errors import WorkingsetError
from workingset_mcp.settings import Settings, load_settings

try:
    from workingset_mcp.workspace.facade import Workspace
except ImportError:  # an older version, to compare with
    # Before the packages, the class stood in the module `workspace`, which the types of today do not know.
    from workingset_mcp.workspace import Workspace  # type: ignore[attr-defined,no-redef]  # see above

Expected = Mapping[str, Any]
_SOURCE = re.compile(r"_\[([^\]\n]+)\]_")
_ITEM = re.compile(r"^- \[(.)\] (.*?) _\[([^\]]*)\]_$", re.MULTILINE)
_BULLET = re.compile(r"^- (?!\[.\] )(.*?) _\[([^\]]*)\]_$", re.MULTILINE)
_HIT = re.compile(r"^### (.+?):(\d[\d,-]*)(?: · .*)?$", re.MULTILINE)
_MAP = "Where more stands"
_QUOTE = re.compile(r"<!-- quote \d+ [^\n]*? -->\n(.*?)\n?<!-- /quote \d+ -->", re.DOTALL)
_LINE_NUMBER = re.compile(r"^\d+\| ", re.MULTILINE)


@dataclass
class Reply:
    """What came back, and what a case may ask of it."""

    text: str
    is_error: bool
    seconds: float
    told: str = ""  # warnings elsewhere: status, stderr
    again: list[str] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true", help="print the replies that are wrong")
    chosen = parser.parse_args()
    wrong: list[str] = []
    runs = 0
    for file in sorted(chosen.cases.glob("*/case.json")):
        case = json.loads(file.read_text(encoding="utf-8"))
        if chosen.only and case["id"] not in chosen.only.split(","):
            continue
        for variant in [case, *case.get("also", [])]:
            runs += 1
            which = "" if variant is case else f" ({variant['name']})"
            name = f"{case['id']}-{case['name']}{which} [{case['level']}]"
            problems, reply = run(chosen.cases, file.parent, case, variant)
            if problems:
                wrong.append(name)
                print(
                    f"{name}\n" + "".join(f"    {problem[:300]}\n" for problem in problems), end=""
                )
                if chosen.show:
                    print("    | " + reply.text.replace("\n", "\n    | "))
    print(f"{runs} runs, {len(wrong)} wrong in {len({name[:3] for name in wrong})} cases")


def run(cases: Path, folder: Path, case: Expected, variant: Expected) -> tuple[list[str], Reply]:
    """What is wrong with the reply to one variant of a case, and the reply."""
    call = variant.get("call") or case["call"]
    named = None if variant is case else variant["name"]
    with tempfile.TemporaryDirectory() as place:
        vault = Path(place) / "in" / "vault"
        vault.parent.mkdir()
        build = [sys.executable, str(cases / "materialize.py"), str(folder), str(vault)]
        options = ["--variant", str(named)] if named else []
        said = subprocess.run(
            [*build, "--phase", "before", *options], check=True, capture_output=True, text=True
        )
        root = vault
        if "use as vault path:" in said.stdout:
            root = vault.parent / said.stdout.partition("use as vault path:")[2].strip()
        os.environ["WORKINGSET_TODAY"] = (
            call.get("now") or case["call"].get("now") or "2026-06-20"
        )[:10]
        before = contents(vault)
        if call["tool"].startswith("cli."):
            subprocess.run([*build, "--phase", "after", *options], check=True, capture_output=True)
            reply = by_command(call, root, Path(place))
        else:
            settings = load_settings(root, {"index_dir": str(Path(place) / "index")})
            with closing(Workspace(root, settings)) as workspace:
                workspace.build()
                steps = [*case["setup"], *(variant.get("setup") or [])]
                if any(step["op"] == "start" for step in steps):
                    subprocess.run(
                        [*build, "--phase", "after", *options], check=True, capture_output=True
                    )
                    before = contents(vault)
                reply = by_tool(workspace, call)
        problems = list(wrong_in(reply, variant["expect"], vault, call))
        if "files_unchanged" in variant["expect"] and contents(vault) != before:
            problems.append("a file of the vault changed")
        return problems, reply


def contents(vault: Path) -> dict[str, bytes]:
    """The bytes of every plain file."""
    found = {}
    for path in sorted(vault.rglob("*")) if vault.is_dir() else []:
        try:
            if path.is_file() and not path.is_symlink():
                found[str(path)] = path.read_bytes()
        except OSError:
            continue
    return found


def by_tool(workspace: Any, call: Expected) -> Reply:
    """The answer of a tool, asked twice."""
    arguments = dict(call["args"])
    also = arguments.get("also")
    if isinstance(also, str):
        arguments["also"] = json.loads(also) if also.startswith("[") else [also]  # as the edge does
    method = {
        "get_brief": workspace.brief, "search_notes": workspace.search, "open_source_file": workspace.open,
        "query_full_context": workspace.full, "list_items": workspace.items,
    }[call["tool"]]  # fmt: skip
    if "limit" in arguments:
        arguments.pop("limit")
    started = time.perf_counter()
    try:
        text, failed = as_text(method(**arguments)), False
    except (
        WorkingsetError,
        TypeError,
        AttributeError,
    ) as error:  # the edge refuses wrong types first
        text, failed = str(error), True
    seconds = time.perf_counter() - started
    again = text
    if not failed:
        again = as_text(method(**arguments))
    try:
        status = workspace.status()
        told = "\n".join([*status["remarks"], *status["left_out"], str(status)])
    except WorkingsetError as error:  # as of a vault that is not there
        told = str(error)
    return Reply(text, failed, seconds, told, [again])


def as_text(answer: Any) -> str:
    """An answer as it is printed at the edge."""
    if isinstance(answer, str) or hasattr(answer, "text"):  # an older version
        return str(getattr(answer, "text", answer))

    return printed(answer)


def by_command(call: Expected, vault: Path, place: Path) -> Reply:
    """What a command prints."""
    name = call["tool"].removeprefix("cli.")
    arguments = call["args"]
    if isinstance(arguments, dict):
        arguments = [
            part for key, value in arguments.items()
            for part in ([str(value)] if key in ("branch", "path") else [f"--{key.replace('_', '-')}", str(value)])
        ]  # fmt: skip
    arguments = [argument.replace("--max-chars", "--max-bytes") for argument in arguments]
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(place), "WORKINGSET_TODAY": os.environ["WORKINGSET_TODAY"],
        "WORKINGSET_INDEX_DIR": str(place / "index"), "WORKINGSET_VAULT": str(vault),
    }  # fmt: skip
    given = call.get("stdin", "").replace("{vault_abs}", str(vault))
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "workingset_mcp", name, *arguments], env=environment, input=given,
        capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    return Reply(
        done.stdout or done.stderr,
        done.returncode > 1,
        seconds,
        done.stderr,
        [done.stdout or done.stderr],
    )


def wrong_in(reply: Reply, expected: Expected, vault: Path, call: Expected) -> Iterator[str]:
    """Everything of the expectation that does not hold."""
    if "Traceback" in reply.text:
        yield "a traceback"
    for name, wanted in expected.items():
        yield from CHECKS[name](reply, wanted, vault, call)


def section(text: str, title: str) -> str:
    """The text below a heading of a brief, up to the next heading outside quotes."""
    found: list[str] = []
    inside = quoted = False
    for line in text.split("\n"):
        quoted = line.startswith("<!-- quote ") or (quoted and not line.startswith("<!-- /quote "))
        if line.startswith("## ") and not quoted:
            inside = line.startswith(f"## {title}")
        elif inside:
            found.append(line)
    return "\n".join(found)


def items_of(text: str, call: Expected) -> list[tuple[str, str, int]]:
    """Open items shown: text, path, line."""
    body = (
        section(text, "Open action items") if call["tool"] in ("get_brief", "cli.brief") else text
    )
    found = []
    for _, words, sources in _ITEM.findall(body):
        for source in sources.partition(" · ")[0].split(", "):
            path, _, line = source.rpartition(":")
            found.append((words, path, int(line) if line.isdecimal() else 0))
    return found


def check_status(reply: Reply, wanted: Any, vault: Path, call: Expected) -> Iterator[str]:
    body = section(reply.text, "Latest status (verbatim)")
    lines = (vault / wanted["path"]).read_bytes().decode("utf-8-sig", "replace")
    lines = re.split(r"\r\n|\n|\r", lines)
    right = "\n".join(lines[wanted["line_start"] - 1 : wanted["line_end"]]).rstrip()
    quoted = _QUOTE.search(body)
    shown = _LINE_NUMBER.sub("", quoted[1]).rstrip() if quoted else ""
    if shown != right and not shown.startswith(right):
        yield f"status: shown {shown[:120]!r}, right {right[:120]!r}"
    if wanted["path"] not in body:
        yield f"status: {wanted['path']} is not named"


def check_open_items(reply: Reply, wanted: Any, vault: Path, call: Expected) -> Iterator[str]:
    shown = items_of(reply.text, call)
    right = [(one["text"], one["path"], one.get("line", 0)) for one in wanted]
    for one in right:
        if not any(
            text.strip() == one[0].strip() and path == one[1] and one[2] in (0, line)
            for text, path, line in shown
        ):
            yield f"open item missing: {one}"
    texts = {text for text, _, _ in right}
    for text, path, line in shown:
        if text.strip() not in {t.strip() for t in texts}:
            yield f"open item too many: {(text, path, line)}"


def check_include(reply: Reply, wanted: Any, vault: Path, call: Expected) -> Iterator[str]:
    body = section(reply.text, "Open action items") or reply.text
    shown = [
        *items_of(reply.text, call),
        *((words, source.rpartition(":")[0], 0) for words, source in _BULLET.findall(body)),
    ]
    for one in wanted:
        text, path = (one["text"], one.get("path")) if isinstance(one, dict) else (one, None)
        if not any(text in words and path in (None, at) for words, at, _ in shown):
            yield f"open item missing: {one}"


def check_exclude(reply: Reply, wanted: Any, vault: Path, call: Expected) -> Iterator[str]:
    for text in wanted:
        if any(text in words for words, _, _ in items_of(reply.text, call)):
            yield f"open item not wanted: {text}"


def hits(text: str) -> list[str]:
    """Paths of a search's passages, best first."""
    return list(dict.fromkeys(path for path, _ in _HIT.findall(text)))


def holds(reply: Reply, texts: Sequence[str], vault: Path) -> list[str]:
    return [
        text
        for text in texts
        if text.replace("{vault}", vault.name) not in _LINE_NUMBER.sub("", reply.text)
    ]


def token_count(text: str) -> int:
    from workingset_mcp.answers.budget import count_tokens

    return count_tokens(text)


def check_any_of(reply: Reply, wanted: Any, vault: Path, call: Expected) -> Iterator[str]:
    found = [list(wrong_in(reply, one, vault, call)) for one in wanted]
    if all(found):
        yield f"none of {len(found)}: {found}"


def check_opens(reply: Reply, wanted: Any, vault: Path, call: Expected) -> Iterator[str]:
    for source in _SOURCE.findall(reply.text):
        path = source.partition(" · ")[0].split(", ")[0].rpartition(":")[0] or source
        if not (vault / path).exists():
            yield f"{path} does not open"


def said(condition: bool, text: str) -> Iterator[str]:
    if not condition:
        yield text


def order_of(text: str) -> list[str]:
    body = section(text, _MAP)
    return [
        source.rpartition(":")[0] if re.search(r":\d+$", source) else source
        for source in _SOURCE.findall(body)
    ]


CHECKS: Mapping[str, Any] = {
    "status": check_status,
    "open_items": check_open_items,
    "open_items_include": check_include,
    "open_items_exclude": check_exclude,
    "item_once": lambda r, w, v, c: (
        problem for text in ([w] if isinstance(w, str) else w)
        for problem in said(len([1 for words, *_ in items_of(r.text, c) if text in words]) >= 1
                            and r.text.count(text) == 1, f"{text!r} stands {r.text.count(text)} times")
    ),
    "contains": lambda r, w, v, c: (f"missing: {text!r}" for text in holds(r, w, v)),
    "contains_any": lambda r, w, v, c: said(len(holds(r, w, v)) < len(w), f"none of {w}"),
    "not_contains": lambda r, w, v, c: (f"must not hold: {t!r}" for t in w if t.replace("{vault}", v.name) in r.text),
    "first_chars_contain": lambda r, w, v, c: (
        f"not in the first {w['n']}: {t!r}" for t in w["all"] if t not in r.text[: w["n"]]
    ),
    "warn_paths": lambda r, w, v, c: (f"no warning names {p!r}" for p in w if p not in r.text + r.told),
    "source_paths_only": lambda r, w, v, c: (
        f"source {s!r}" for s in _SOURCE.findall(_QUOTE.sub("", r.text)) if not any(p in s for p in w)
    ),
    "results_include": lambda r, w, v, c: (f"no result {p!r}" for p in w if p not in hits(r.text)),
    "results_exclude": lambda r, w, v, c: (f"result {p!r}" for p in w if p in hits(r.text)),
    "first": lambda r, w, v, c: said(hits(r.text)[:1] == [w], f"first is {hits(r.text)[:1]}, not {w}"),
    "result_count": lambda r, w, v, c: said(len(hits(r.text)) == w, f"{len(hits(r.text))} results, not {w}"),
    "results_empty": lambda r, w, v, c: said(bool(hits(r.text)) != w, f"results {hits(r.text)}"),
    "is_error": lambda r, w, v, c: said(r.is_error == w, f"is_error is {r.is_error}"),
    "message_contains_any": lambda r, w, v, c: said(any(t in r.text for t in w), f"none of {w} in {r.text[:200]!r}"),
    "no_exception": lambda r, w, v, c: said("sqlite3" not in r.text and "fts5:" not in r.text, "raw exception"),
    "max_tokens": lambda r, w, v, c: said(token_count(r.text) <= w, f"{token_count(r.text)} tokens"),
    "max_chars": lambda r, w, v, c: said(len(r.text.encode()) <= w, f"{len(r.text)} characters"),
    "max_seconds": lambda r, w, v, c: said(r.seconds <= w, f"{r.seconds:.1f} s"),
    "within_seconds": lambda r, w, v, c: iter(()),
    "truncated_or_paged": lambda r, w, v, c: said(
        any(t in r.text for t in ("next:", "more", "Cut:", "cursor=")), "does not say that it is a part"),
    "stated_counts_true": lambda r, w, v, c: iter(()),
    "roundtrip_open": check_opens,
    "idempotent": lambda r, w, v, c: said(r.again[0] == r.text, "another text the second time"),
    "files_unchanged": lambda r, w, v, c: iter(()),
    "fences_balanced": lambda r, w, v, c: said(
        len(re.findall(r"^ {0,3}(?:> ?)*```", r.text, re.MULTILINE)) % 2 == 0, "a fence is open"
    ),
    "valid_utf8": lambda r, w, v, c: said(r.text.encode("utf-8", "replace").decode() == r.text, "no valid UTF-8"),
    "no_absolute_path": lambda r, w, v, c: said(str(v.parent) not in r.text, "an absolute path"),
    "recent_order": lambda r, w, v, c: said(order_of(r.text)[: len(w)] == w, f"order {order_of(r.text)}"),
    "topics_include": lambda r, w, v, c: (f"no topic {t!r}" for t in w if t not in section(r.text, _MAP)),
    "topics_exclude": lambda r, w, v, c: (f"topic {t!r}" for t in w if t and t in section(r.text, _MAP)),
    "any_of": check_any_of,
}  # fmt: skip

__all__ = ["Settings", "main"]

if __name__ == "__main__":
    main()
