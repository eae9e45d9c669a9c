"""Commands for people and scripts: thin, the same text that agents see.

Data goes to stdout, everything else to stderr. Exit codes: 0 answered, 1 nothing found, 2 usage,
3 failed. Only `serve` and `demo` import `mcp`.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from workingset_mcp import __version__
from workingset_mcp.errors import OverrideTooLarge, WorkingsetError
from workingset_mcp.files import write_atomically
from workingset_mcp.settings import load_settings, settings_home
from workingset_mcp.vault import Vault
from workingset_mcp.workspace import Workspace, brief_text

JSON_SCHEMA_VERSION = 1


class _Group(click.Group):
    """Turns our errors into one `Error:` line and one `hint:` line."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WorkingsetError as error:
            if ctx.params.get("debug"):
                raise
            click.echo(f"Error: {error.message}", err=True)
            if error.hint:
                click.echo(f"hint: {error.hint}", err=True)
            ctx.exit(error.exit_code)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="workingset-mcp")
@click.option("--debug", is_flag=True, help="Show tracebacks of expected errors too.")
def main(debug: bool) -> None:
    """A working set of your notes for agents, served over MCP."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _vault_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option(
        "--index-dir",
        envvar="WORKINGSET_INDEX_DIR",
        help="Folder for the index (default: the user's cache).",
    )(command)
    return click.option(
        "--vault", envvar="WORKINGSET_VAULT", type=click.Path(path_type=Path),
        help="Folder of notes (default: the nearest folder with a workingset.toml, else this one).",
    )(command)  # fmt: skip


def _json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")(command)


@contextmanager
def _opened(
    vault: Path | None, index_dir: str | None, *, build: bool = True, **flags: Any
) -> Iterator[Workspace]:
    root = vault or settings_home(Path.cwd())
    settings = load_settings(root, {"index_dir": index_dir, **flags})
    workspace = Workspace(root, settings)
    try:
        if build and not workspace.freshness.built.is_set():
            _build(workspace)
        if workspace.index.notice:
            click.echo(f"note: {workspace.index.notice}", err=True)
        yield workspace
    finally:
        workspace.close()


def _build(workspace: Workspace) -> None:
    """Index with a progress bar on a terminal, silently in a pipe."""
    if not sys.stderr.isatty():
        workspace.build()
        return
    from rich.console import Console  # only where a person watches
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("indexing notes", total=None)
        workspace.build(lambda done, total: bar.update(task, completed=done, total=total))


def _print(command: str, text: str, *, as_json: bool, found: bool = True, **data: Any) -> None:
    if as_json:
        envelope = {
            "schema_version": JSON_SCHEMA_VERSION,
            "command": command,
            "data": {"text": text, **data},
        }
        click.echo(json.dumps(envelope, ensure_ascii=False))
    else:
        click.echo(text, nl=not text.endswith("\n"))
    if not found:
        click.get_current_context().exit(1)


@main.command()
@_vault_options
@click.option(
    "--max-answer-bytes",
    type=int,
    help="Most bytes of an answer, for clients that cut (Copilot CLI: 9500).",
)
@click.option("--http", "address", help="Serve Streamable HTTP at HOST:PORT, e.g. 127.0.0.1:8321.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with the bearer token (or WORKINGSET_TOKEN).",
)
@click.option("--allow-host", "hosts", multiple=True, help="Another Host name clients may use.")
def serve(
    vault: Path | None,
    index_dir: str | None,
    max_answer_bytes: int | None,
    address: str | None,
    token_file: Path | None,
    hosts: tuple[str, ...],
) -> None:
    """Serve the vault to an MCP client over stdin and stdout, or to many over HTTP."""
    here = settings_home(Path.cwd()).resolve()
    if vault is None and here in (Path.home().resolve(), Path(here.anchor)):
        raise click.UsageError("Give the folder of notes: --vault PATH (not a whole home folder).")
    with _opened(vault, index_dir, build=False, max_answer_bytes=max_answer_bytes) as workspace:
        if address:
            from workingset_mcp.http import read_token, serve_http  # imports mcp

            token = read_token(token_file, os.environ.get("WORKINGSET_TOKEN"))
            serve_http(workspace, address, token, hosts)
            return
        from workingset_mcp.server import serve_stdio  # imports mcp: 0.6 s no other command pays

        serve_stdio(workspace)


@main.command()
@_vault_options
@click.option("--full", is_flag=True, help="Drop the index and build it anew.")
@_json_option
def index(vault: Path | None, index_dir: str | None, full: bool, as_json: bool) -> None:
    """Bring the index up to date."""
    with _opened(vault, index_dir, build=False) as workspace:
        if full:
            workspace.index.clear()
            workspace.freshness.built.clear()
        _build(workspace)
        workspace.count_all_tokens()
        facts = workspace.status()
    _print(
        "index",
        f"{facts['notes']:,} notes in {facts['branches']} branches indexed",
        as_json=as_json,
        **facts,
    )


@main.command()
@_vault_options
@_json_option
def status(vault: Path | None, index_dir: str | None, as_json: bool) -> None:
    """Say what is indexed, left out and remarked, and how fresh it is."""
    with _opened(vault, index_dir, build=False) as workspace:
        facts = workspace.status()
    lines = [
        f"{name.replace('_', ' ')}: {value}"
        for name, value in facts.items()
        if not isinstance(value, list)
    ]
    for name in ("remarks", "left_out"):
        lines += [
            f"{name.replace('_', ' ')}: {len(facts[name])}",
            *(f"  {line}" for line in facts[name]),
        ]
    _print("status", "\n".join(lines), as_json=as_json, **facts)


@main.command()
@_vault_options
@click.argument("branch", required=False)
@click.option("--all", "every", is_flag=True, help="The briefs of all branches.")
@click.option("--budget", type=int, help="Most tokens (default 8000).")
@click.option("--max-bytes", type=int, help="Most bytes, for hooks and clients that count bytes.")
@click.option("--write", is_flag=True, help="Write BRANCH/brief.md, only where its text changed.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the brief to this file.")
@_json_option
def brief(
    vault: Path | None,
    index_dir: str | None,
    branch: str | None,
    every: bool,
    budget: int | None,
    max_bytes: int | None,
    write: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the brief of BRANCH, or the overview of the vault."""
    if (write or out) and not (branch or every):
        raise click.UsageError("Say which brief to write: BRANCH, or --all.")
    with _opened(vault, index_dir, max_answer_bytes=max_bytes) as workspace:
        if write or out:
            names = workspace.branches() if every else [branch or ""]
            _write_briefs(workspace, names, budget, out, as_json=as_json)
            return
        answers = [
            workspace.brief(name, budget) for name in (workspace.branches() if every else [branch])
        ]
    bodies = []
    for answer in answers:
        for line in answer.split("\n")[1:]:
            if not line.startswith("warning: "):
                break
            click.echo(line, err=True)
        bodies.append(brief_text(answer))
    headers = [answer.partition("\n")[0] for answer in answers]
    _print("brief", "\n".join(bodies), as_json=as_json, headers=headers)


def _write_briefs(
    workspace: Workspace, names: list[str], budget: int | None, out: Path | None, *, as_json: bool
) -> None:
    """Write briefs with a progress bar on a terminal; say which changed."""
    written = []
    with _progress("writing briefs", len(names)) as advance:
        for name in names:
            file, changed = workspace.write_brief(name, budget, out)
            if changed:
                written.append(
                    out.name if out else file.relative_to(workspace.vault.root).as_posix()
                )
            advance()
    text = "".join(f"{path}\n" for path in written) or "nothing changed\n"
    _print("brief", text, as_json=as_json, written=written)


@main.command()
@_vault_options
@click.argument("branch", required=False)
@click.option("--include", "pattern", help="Only branches whose name matches, e.g. 'cust/*'.")
@click.option("--budget", type=int, help="Budget of the briefs (default 8000).")
@click.option(
    "--overhead", type=int, default=0, help="Tokens a session costs anyway: shows what a bill sees."
)
@click.option(
    "--html", "page", type=click.Path(path_type=Path), help="Write one self-contained page."
)
@_json_option
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
    """Show what briefs save, for BRANCH or for all."""
    from workingset_mcp import measure as measuring

    with _opened(vault, index_dir) as workspace:
        names = [workspace.branch_named(branch)] if branch else workspace.branches()
        if pattern:
            names = [name for name in names if fnmatchcase(name, pattern)]
        rows = []
        with _progress("making briefs", len(names)) as advance:
            for name in names:
                rows += measuring.measure(workspace, [name], budget)
                advance()
        if page:
            write_atomically(page, measuring.as_page(rows, workspace.vault.name, overhead))
    text = measuring.as_table(rows, overhead) if rows else "no branch matches\n"
    _print("measure", text, as_json=as_json, found=bool(rows), **measuring.as_data(rows, overhead))


@contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console  # only where a person watches
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


@main.command()
@_vault_options
@click.argument("query")
@click.option("--also", multiple=True, help="Another word a note might use (may be repeated).")
@click.option("--branch", help="Only this branch.")
@click.option("--since", help="Only notes dated from this day on.")
@click.option("--until", help="Only notes dated up to this day.")
@click.option("--budget", type=int, help="Most tokens (default 2000).")
@_json_option
def search(
    vault: Path | None, index_dir: str | None, query: str, also: tuple[str, ...], branch: str | None,
    since: str | None, until: str | None, budget: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Find passages for QUERY."""
    with _opened(vault, index_dir) as workspace:
        text = workspace.search(
            query, also=also, budget=budget, branch=branch, since=since, until=until
        )
    _print(
        "search", text, as_json=as_json, found=" · nothing found · " not in text.partition("\n")[0]
    )


@main.command(name="open")
@_vault_options
@click.argument("path")
@click.option("--lines", help='Lines to show, as "12-40".')
@click.option("--heading", help="Section to show, by its heading.")
@click.option("--budget", type=int, help="Most tokens (default 6000).")
@_json_option
def open_(
    vault: Path | None, index_dir: str | None, path: str, lines: str | None, heading: str | None,
    budget: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Print the note at PATH word for word."""
    with _opened(vault, index_dir, build=False) as workspace:
        text = workspace.open(path, lines=lines, heading=heading, budget=budget)
    _print("open", text, as_json=as_json)


@main.command()
@_vault_options
@click.argument("branch", required=False)
@click.option("--query", help="Only sections that hold all these words.")
@click.option("--since", help="Only what is dated from this day on (or: undated).")
@click.option("--until", help="Only what is dated up to this day.")
@click.option("--as-of", help="The state at that day.")
@click.option("--cursor", help="Where the next page begins, from the page before.")
@click.option("--budget", type=int, help="Most tokens a page (default 20000).")
@_json_option
def full(vault: Path | None, index_dir: str | None, as_json: bool, **asked: Any) -> None:
    """Print every note of BRANCH in date order, in pages."""
    with _opened(vault, index_dir) as workspace:
        text = workspace.full(asked.pop("branch"), **asked)
    _print("full", text, as_json=as_json, found="\nNothing there." not in text)


@main.command()
@_vault_options
@click.option(
    "--kind", default="open", help="open, done, decision, owner, note, … (default: open)."
)
@click.option("--branch", help="Only this branch.")
@click.option("--owner", help="Only of this owner.")
@click.option("--text", help="Only lines with this text.")
@click.option("--since", help="Only notes dated from this day on.")
@click.option("--until", help="Only notes dated up to this day.")
@click.option("--due-before", help="Only what is due before this day.")
@click.option("--group-by", help="branch, folder, owner, kind, year, month or path.")
@click.option("--budget", type=int, help="Most tokens (default 3000).")
@_json_option
def items(vault: Path | None, index_dir: str | None, as_json: bool, **asked: Any) -> None:
    """Count and list items, exactly."""
    with _opened(vault, index_dir) as workspace:
        text = workspace.items(asked.pop("kind"), **asked)
    _print("items", text, as_json=as_json, found="\nNone. Counted over" not in text)


@main.command()
@_vault_options
@click.option("--format", "shape", type=click.Choice(["text", "json", "github"]), default="text")
@click.option("--strict", is_flag=True, help="Warnings fail too.")
def check(vault: Path | None, index_dir: str | None, shape: str, strict: bool) -> None:
    """Lint the vault: overrides, briefs, statuses, links, and the questions it must answer."""
    from workingset_mcp.check import RULES, check_vault

    with _opened(vault, index_dir) as workspace:
        names = workspace.branches()
        with _progress("checking", len(names)) as advance:
            findings = list(check_vault(workspace, advance))
    why = {rule.code: rule.why for rule in RULES}
    if shape == "json":
        _print("check", "", as_json=True, findings=[finding._asdict() for finding in findings])
    for finding in findings if shape != "json" else ():
        place = f"{finding.path}:{finding.line}" if finding.line else finding.path
        if shape == "github":
            line = f",line={finding.line}" if finding.line else ""
            text = f"{finding.message}. {finding.fix}".replace("%", "%25").replace("\n", "%0A")
            click.echo(
                f"::{finding.severity} file={finding.path}{line},title={finding.code}::{text}"
            )
        else:
            click.echo(f"{place}: {finding.code} {finding.severity}: {finding.message}")
            click.echo(f"    why: {why[finding.code]}; fix: {finding.fix}")
    errors = sum(finding.severity == "error" for finding in findings)
    click.echo(f"{errors} errors, {len(findings) - errors} warnings", err=True)
    if errors or (strict and findings):
        click.get_current_context().exit(1)


@main.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--keep", type=int, default=1, help="How many of the newest status blocks stay (default 1)."
)
@click.option("--apply", "apply_", is_flag=True, help="Do it; without, only say what would move.")
def compact(file: Path, keep: int, apply_: bool) -> None:
    """Move older STATUS blocks of a long note FILE into its archive, byte for byte."""
    from workingset_mcp import compact as compacting

    settings = load_settings(settings_home(file.resolve().parent))
    archive = compacting.archive_of(file)
    before = archive.read_bytes() if archive.exists() else b""
    planned = compacting.plan_compaction(file.read_bytes(), before, archive.name, settings, keep)
    if not planned.moved:
        click.echo(
            f"nothing to move: {planned.tokens_before:,} tokens, over {compacting.LEAST_TOKENS:,} counts"
        )
        return
    if apply_:
        compacting.apply_compaction(file, planned)
    verb = "moved" if apply_ else "would move"
    click.echo(f"{verb} {len(planned.moved)} status blocks to {archive.name}:")
    click.echo("".join(f"  {heading}\n" for heading in planned.moved), nl=False)
    click.echo(f"{planned.tokens_before:,} -> {planned.tokens_after:,} tokens")
    if not apply_:
        click.echo("hint: --apply does it", err=True)


@main.command()
@_vault_options
@click.argument("client")
@click.option("--hooks", is_flag=True, help="Also the hook entries.")
def install(vault: Path | None, index_dir: str | None, client: str, hooks: bool) -> None:
    """Print what to type or paste so that CLIENT uses this server. Writes nothing."""
    from workingset_mcp import install as installing

    if client not in installing.CLIENTS:
        raise click.UsageError(f"unknown client {client!r}; known: {', '.join(installing.CLIENTS)}")
    root = Vault(vault or settings_home(Path.cwd())).root
    for title, text in installing.printed_for(client, root, hooks=hooks).blocks:
        click.echo(f"# {title}", err=True)
        click.echo(text)
        click.echo("", err=True)


@main.group()
def hook() -> None:
    """Inject context into a client's session (used by the client's hooks)."""


def _hook_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--branch", help="The branch (default: that of the client's folder).")(
        command
    )
    clients = ["claude", "codex", "gemini", "vscode", "copilot", "cursor"]
    return click.option("--client", type=click.Choice(clients), default="claude")(command)


@hook.command(name="session-start")
@_vault_options
@_hook_options
@click.option("--max-bytes", type=int, default=9_500, help="Most bytes of the output.")
@click.option("--full", is_flag=True, help="The whole branch, whatever its size.")
def session_start(
    vault: Path | None,
    index_dir: str | None,
    client: str,
    branch: str | None,
    max_bytes: int,
    full: bool,
) -> None:
    """Print context for a session that starts, resumes or was compacted."""
    from workingset_mcp import hook as hooks

    def printed(workspace: Workspace, name: str | None) -> str:
        if full and name:
            return hooks.CLIENTS[client](hooks.full_text(workspace, name))
        return hooks.session_start(workspace, name, max_bytes, client)

    _run_hook(vault, index_dir, branch, printed)


@hook.command(name="pre-compact")
@_vault_options
@_hook_options
def pre_compact(vault: Path | None, index_dir: str | None, client: str, branch: str | None) -> None:
    """Print what a compaction should keep, for the one client that reads it."""
    from workingset_mcp import hook as hooks

    if client == "claude":
        _run_hook(vault, index_dir, branch, lambda ws, name: "\n".join(hooks.keep_lines(ws, name)))


def _run_hook(
    vault: Path | None,
    index_dir: str | None,
    branch: str | None,
    printed: Callable[[Workspace, str | None], str],
) -> None:
    """Never stop a session: whatever fails is one line on stderr, but an override over its cap."""
    from workingset_mcp import hook as hooks

    try:
        payload = hooks.read_payload(
            b"" if sys.stdin.isatty() else sys.stdin.buffer.read(1_000_000)
        )
        root = vault or settings_home(Path(payload.cwd) if payload.cwd else Path.cwd())
        settings = load_settings(root, {"index_dir": index_dir})
        name = hooks.branch_for(Vault(root, settings), branch, payload)
        workspace = hooks.opened_for_hook(root, settings, name)
        try:
            text = printed(workspace, name)
        finally:
            workspace.close()
    except OverrideTooLarge as error:
        click.echo(f"Error: {error}", err=True)
        click.get_current_context().exit(1)
    except Exception as error:  # noqa: BLE001  # a hook must not stop the session it serves
        click.echo(f"workingset hook: {error}", err=True)
        return
    if text:
        click.echo(text)


@main.command()
def demo() -> None:
    """Serve a copy of the example vault to a real MCP client and show what an agent sees."""
    from workingset_mcp.demo import run_demo  # imports mcp

    run_demo()
