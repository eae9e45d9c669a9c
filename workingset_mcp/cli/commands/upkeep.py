"""The commands for upkeep: index, status, measure, check, compact."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workingset_mcp.cli.commands.shared import (
    build_index,
    json_option,
    opened_workspace,
    print_answer,
    progress,
    vault_options,
    writing,
)
from workingset_mcp.cli.terminal import say
from workingset_mcp.settings import load_settings, settings_home
from workingset_mcp.vault.files import write_atomically

if TYPE_CHECKING:
    from workingset_mcp.cli.check import Finding


@click.command()
@vault_options
@click.option("--full", is_flag=True, help="Delete the index and rebuild it.")
@json_option
def index(vault: Path | None, index_dir: str | None, full: bool, as_json: bool) -> None:
    """Bring the index up to date."""
    with opened_workspace(vault, index_dir, build=False) as workspace:
        if full:
            workspace.forget()
        build_index(workspace)
        workspace.count_all_tokens()
        facts = workspace.status()
    print_answer(
        "index",
        f"{facts['notes']:,} notes in {facts['branches']} branches indexed",
        as_json=as_json,
        **facts,
    )


@click.command()
@vault_options
@json_option
def status(vault: Path | None, index_dir: str | None, as_json: bool) -> None:
    """Show what is indexed and left out, the remarks, the freshness, and how dates are read."""
    from workingset_mcp.cli.commands.state import facts_of

    with opened_workspace(vault, index_dir, build=False) as workspace:
        facts = facts_of(workspace)
    lines = [
        f"{name.replace('_', ' ')}: {value}"
        for name, value in facts.items()
        if not isinstance(value, list)
    ]
    for name in ("kinds", "remarks", "left_out"):
        lines += [
            f"{name.replace('_', ' ')}: {len(facts[name])}",
            *(f"  {line}" for line in facts[name]),
        ]
    print_answer("status", "\n".join(lines), as_json=as_json, **facts)


@click.command()
@vault_options
@click.argument("branch", required=False)
@click.option("--include", "pattern", help="Only branches whose name matches, e.g. 'cust/*'.")
@click.option("--budget", type=int, help="Budget of the briefs (default 8000).")
@click.option(
    "--overhead",
    type=int,
    default=0,
    help="Tokens that a session costs anyway: adds the reduction of the whole bill.",
)
@click.option(
    "--html", "page", type=click.Path(path_type=Path), help="Write one self-contained HTML page."
)
@json_option
def measure(
    vault: Path | None,
    index_dir: str | None,
    branch: str | None,
    pattern: str | None,
    budget: int | None,
    overhead: int,
    page: Path | None,
    as_json: bool,
) -> None:
    """Show how many tokens briefs save, for BRANCH or for all branches."""
    from workingset_mcp.cli import measure as measuring

    with opened_workspace(vault, index_dir) as workspace:
        names = [workspace.branch_named(branch)] if branch else workspace.branches()
        if pattern:
            names = [name for name in names if fnmatchcase(name, pattern)]
        rows = []
        with progress("making briefs", len(names)) as advance:
            for name in names:
                rows += measuring.measure(workspace, [name], budget)
                advance()
        if page:
            with writing(page):
                write_atomically(page, measuring.as_page(rows, workspace.vault.name, overhead))
    text = measuring.as_table(rows, overhead) if rows else "no branch matches\n"
    print_answer(
        "measure", text, as_json=as_json, found=bool(rows), **measuring.as_data(rows, overhead)
    )


@click.command()
@vault_options
@click.option("--format", "shape", type=click.Choice(["text", "json", "github"]), default="text")
@click.option("--strict", is_flag=True, help="Fail on warnings, too.")
@json_option
def check(
    vault: Path | None, index_dir: str | None, shape: str, strict: bool, as_json: bool
) -> None:
    """Lint the vault: overrides, briefs, statuses, links, and the questions it must answer."""
    from workingset_mcp.cli.check import RULES, check_vault

    with opened_workspace(vault, index_dir) as workspace:
        names = workspace.branches()
        with progress("checking", len(names)) as advance:
            findings = list(check_vault(workspace, advance))
    why = {rule.code: rule.why for rule in RULES}
    shape = "json" if as_json else shape
    if shape == "json":
        print_answer(
            "check", "", as_json=True, findings=[finding._asdict() for finding in findings]
        )
    for finding in findings if shape != "json" else ():
        if shape == "github":
            say(_annotation(finding))
        else:
            place = f"{finding.path}:{finding.line}" if finding.line else finding.path
            say(f"{place}: {finding.rule} {finding.severity}: {finding.message}")
            say(f"    why: {why[finding.rule]}; fix: {finding.fix}")
    errors = sum(finding.severity == "error" for finding in findings)
    say(f"{errors} errors, {len(findings) - errors} warnings", err=True)
    if errors or (strict and findings):
        click.get_current_context().exit(1)


def _annotation(finding: "Finding") -> str:
    """Print a finding as a GitHub annotation, whose properties must escape `:` and `,`, too."""

    def plain(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    file = plain(finding.path).replace(":", "%3A").replace(",", "%2C")
    line = f",line={finding.line}" if finding.line else ""
    text = plain(f"{finding.message}. {finding.fix}")
    return f"::{finding.severity} file={file}{line},title={finding.rule}::{text}"


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--keep", type=int, default=1, help="How many of the newest status blocks stay (default 1)."
)
@click.option("--apply", "apply_", is_flag=True, help="Move them; without it, only list them.")
def compact(file: Path, keep: int, apply_: bool) -> None:
    """Move older STATUS blocks of a long note FILE into its archive, byte for byte."""
    from workingset_mcp.cli import compact as compacting

    file = file.parent.resolve() / file.name
    settings = load_settings(settings_home(file.parent))
    archive = compacting.archive_of(file)
    with writing(file, what="read"):
        raw, before = compacting.read_both(file)
    if apply_:
        with writing(file):
            for left in compacting.remove_leftovers(file):
                say(f"note: {left} holds text that {file.name} does not: compare them", err=True)
    planned = compacting.plan_compaction(raw, before, archive.name, settings, keep)
    if not planned.moved:
        least = f"{compacting.LEAST_TOKENS:,}"
        say(f"nothing to move: {planned.tokens_before:,} tokens (needs over {least})")
        return
    if apply_:
        with writing(file):
            compacting.apply_compaction(file, raw, before, planned)
    verb = "moved" if apply_ else "would move"
    say(f"{verb} {len(planned.moved)} status blocks to {archive.name}:")
    say("".join(f"  {heading}\n" for heading in planned.moved), nl=False)
    say(f"{planned.tokens_before:,} -> {planned.tokens_after:,} tokens")
    if not apply_:
        say("hint: give --apply to do it", err=True)


COMMANDS = (index, status, measure, check, compact)
