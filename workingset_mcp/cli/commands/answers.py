"""The commands that print the same answers that agents get: brief, search, open, full, items."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from workingset_mcp.answers.answer import Answer, printed
from workingset_mcp.cli.commands import shapes
from workingset_mcp.cli.commands.shared import (
    json_option,
    opened_workspace,
    print_answer,
    progress,
    vault_options,
    writing,
)
from workingset_mcp.cli.terminal import say
from workingset_mcp.vault.files import read_regular, write_atomically
from workingset_mcp.workspace.facade import Workspace


@click.command()
@vault_options
@click.argument("branch", required=False)
@click.option("--all", "every", is_flag=True, help="The briefs of all branches.")
@click.option("--budget", type=int, help="Maximum tokens (default 8000).")
@click.option("--max-bytes", type=int, help="Maximum bytes, for clients that count bytes.")
@click.option("--write", is_flag=True, help="Write BRANCH/brief.md if its text changed.")
@click.option("--force", is_flag=True, help="With --write: also overwrite an edited brief.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the brief to this file.")
@json_option
def brief(
    vault: Path | None,
    index_dir: str | None,
    branch: str | None,
    every: bool,
    budget: int | None,
    max_bytes: int | None,
    write: bool,
    force: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the brief of BRANCH, or the overview of the vault."""
    if (write or out) and not (branch or every):
        raise click.UsageError("Say which brief to write: BRANCH, or --all.")
    if branch and every:
        raise click.UsageError("Give BRANCH or --all, not both.")
    if write and out:
        raise click.UsageError("Give --write or --out, not both.")
    if force and not write:
        raise click.UsageError("--force needs --write.")
    with opened_workspace(vault, index_dir, max_answer_bytes=max_bytes) as workspace:
        if write or out:
            names = workspace.branches() if every else [workspace.branch_named(branch or "")]
            written = (
                _written_to(workspace, names, budget, out)
                if out
                else _written_beside_notes(workspace, names, budget, force=force)
            )
            text = "".join(f"{path}\n" for path in written) or "nothing changed\n"
            print_answer("brief", text, as_json=as_json, written=written)
            return
        answers = [
            workspace.brief(name, budget) for name in (workspace.branches() if every else [branch])
        ]
    for answer in answers:
        for warning in answer.warnings:
            say(f"warning: {warning}", err=True)
    text = "\n".join(answer.body for answer in answers)
    briefs = [shapes.brief_data(answer) for answer in answers]
    data = {"briefs": briefs} if every else briefs[0]
    print_answer("brief", text, as_json=as_json, **data)


def _written_to(workspace: Workspace, names: list[str], budget: int | None, out: Path) -> list[str]:
    """Write the briefs into one file if its text changed."""
    from workingset_mcp.cli.written import mode_of_notes  # imports take 4 ms

    text = "\n".join(workspace.brief(name, budget).body for name in names)
    with suppress(OSError):
        if read_regular(out) == text.encode("utf-8"):
            return []
    with writing(out):
        write_atomically(out, text, new_mode=mode_of_notes(workspace, names))
    return [out.name]


def _written_beside_notes(
    workspace: Workspace, names: list[str], budget: int | None, *, force: bool
) -> list[str]:
    """Write `brief.md` of each branch; return those that changed. A person's own file is left alone."""
    from workingset_mcp.cli.written import BriefNotReplaced, write_brief  # as above

    written = []
    with progress("writing briefs", len(names)) as advance:
        for name in names:
            try:
                with writing(workspace.vault.root / name / "brief.md"):
                    path = write_brief(workspace, name, budget, force=force)
            except BriefNotReplaced as error:
                if len(names) == 1:
                    raise
                say(f"note: {error.message}", err=True)
            else:
                written += [path] if path else []
            advance()
    return written


@click.command()
@vault_options
@click.argument("query")
@click.option("--also", multiple=True, help="Another word a note might use (may be repeated).")
@click.option("--branch", help="Only this branch.")
@click.option("--boost", help="A branch whose passages weigh 1.5 times as much.")
@click.option("--top", type=click.IntRange(min=1), help="Most sections to take passages from.")
@click.option("--since", help="Only notes dated from this day on.")
@click.option("--until", help="Only notes dated up to this day.")
@click.option("--budget", type=int, help="Maximum tokens (default 2000).")
@json_option
def search(
    vault: Path | None, index_dir: str | None, query: str, as_json: bool, **options: Any
) -> None:
    """Find passages for QUERY."""
    with opened_workspace(vault, index_dir) as workspace:
        answer = workspace.search(query, **options)
    _print("search", answer, shapes.search_data(answer), as_json=as_json)


@click.command(name="open")
@vault_options
@click.argument("path")
@click.option("--lines", help='Lines to show, as "12-40".')
@click.option("--heading", help="Section to show, by its heading.")
@click.option("--budget", type=int, help="Maximum tokens (default 6000).")
@json_option
def open_(
    vault: Path | None, index_dir: str | None, path: str, lines: str | None, heading: str | None,
    budget: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Print the note at PATH word for word."""
    with opened_workspace(vault, index_dir, build=False) as workspace:
        answer = workspace.open(path, lines=lines, heading=heading, budget=budget)
    _print("open", answer, shapes.open_data(answer), as_json=as_json)


@click.command()
@vault_options
@click.argument("branch", required=False)
@click.option("--query", help="Only sections that contain all these words.")
@click.option("--since", help="Only text dated from this day on (or: undated).")
@click.option("--until", help="Only text dated up to this day.")
@click.option("--as-of", help="The notes as they were on that day.")
@click.option("--cursor", help="The cursor that the previous page printed.")
@click.option("--budget", type=int, help="Maximum tokens of a page (default 20000).")
@json_option
def full(vault: Path | None, index_dir: str | None, as_json: bool, **options: Any) -> None:
    """Print every note of BRANCH in date order, in pages."""
    with opened_workspace(vault, index_dir) as workspace:
        answer = workspace.full(options.pop("branch"), **options)
    _print("full", answer, shapes.full_data(answer), as_json=as_json)


@click.command()
@vault_options
@click.option(
    "--kind", default="open", help="open, done, decision, owner, note, … (default: open)."
)
@click.option("--branch", help="Only this branch.")
@click.option("--owner", help="Only items of this owner.")
@click.option("--text", help="Only lines with this text.")
@click.option("--since", help="Only notes dated from this day on.")
@click.option("--until", help="Only notes dated up to this day.")
@click.option("--due-before", help="Only items due before this day.")
@click.option("--group-by", help="branch, folder, owner, kind, year, month or path.")
@click.option("--budget", type=int, help="Maximum tokens (default 3000).")
@json_option
def items(vault: Path | None, index_dir: str | None, as_json: bool, **options: Any) -> None:
    """Count and list items, exactly."""
    with opened_workspace(vault, index_dir) as workspace:
        answer = workspace.items(options.pop("kind"), **options)
    _print("items", answer, shapes.items_data(answer), as_json=as_json)


def _print(command: str, answer: Answer[object], data: shapes.Data, *, as_json: bool) -> None:
    print_answer(command, printed(answer), as_json=as_json, found=answer.found, **data)


COMMANDS = (brief, search, open_, full, items)
