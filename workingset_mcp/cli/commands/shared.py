"""What the commands share: options, opening a workspace, progress, and printing answers."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workingset_mcp.cli.terminal import say
from workingset_mcp.errors import SettingsError, VaultError
from workingset_mcp.settings import load_settings, settings_home

if TYPE_CHECKING:
    from workingset_mcp.workspace.facade import Workspace

JSON_SCHEMA_VERSION = 2


class _Folder(click.Path):
    """A path that must not be empty: an unset variable in a client's settings must not mean this folder.

    Raises SettingsError.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value).strip():
            raise SettingsError("The folder of notes is empty.", "Give its path: --vault PATH.")
        return super().convert(value, param, ctx)


def vault_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every command on a vault takes."""
    command = click.option(
        "--index-dir",
        envvar="WORKINGSET_INDEX_DIR",
        help="Folder for the index (default: the user's cache).",
    )(command)
    return click.option(
        "--vault", envvar="WORKINGSET_VAULT", type=_Folder(path_type=Path),
        help="Folder of notes (default: the nearest folder with a workingset.toml, else this one).",
    )(command)  # fmt: skip


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option for machine-readable output."""
    return click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")(command)


@contextmanager
def opened_workspace(
    vault: Path | None, index_dir: str | None, *, build: bool = True, **flags: Any
) -> Iterator["Workspace"]:
    """Open a workspace on the vault that the options name, and index it if `build`."""
    from workingset_mcp.workspace.facade import Workspace  # hooks do not need it

    root = vault or settings_home(Path.cwd())
    settings = load_settings(root, {"index_dir": index_dir, **flags})
    workspace = Workspace(root, settings)
    try:
        if build and not workspace.is_built:
            build_index(workspace)
        elif build:
            workspace.settle()  # the process that built it may have been killed before it settled
        for notice in filter(None, (*settings.remarks, workspace.index.notice)):
            say(f"note: {notice}", err=True)
        yield workspace
    finally:
        workspace.close()


@contextmanager
def writing(file: Path, *, what: str = "written") -> Iterator[None]:
    """Turn an OSError into one line: the file cannot be written (or `what`). Raises VaultError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise VaultError(
            f"{file.name} cannot be {what}: {reason}.",
            "Check the folder, its permissions and its disk.",
        ) from None


def build_index(workspace: "Workspace") -> None:
    """Build the index, with a progress bar on a terminal and silently in a pipe."""
    if not sys.stderr.isatty():
        workspace.build()
        return
    from rich.console import Console  # only where a person watches
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("indexing notes", total=None)
        workspace.build(lambda done, total: bar.update(task, completed=done, total=total))


def print_answer(
    command: str, text: str, *, as_json: bool, found: bool = True, **data: Any
) -> None:
    """Print an answer or its JSON envelope; exit with 1 if nothing was found."""
    if as_json:
        envelope = {
            "schema_version": JSON_SCHEMA_VERSION,
            "command": command,
            "data": {"text": text, **data},
        }
        say(json.dumps(envelope, ensure_ascii=False))
    else:
        say(text, nl=not text.endswith("\n"))
    if not found:
        click.get_current_context().exit(1)


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar on a terminal, and nothing in a pipe; yield the function that advances it."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console  # only where a person watches
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)
