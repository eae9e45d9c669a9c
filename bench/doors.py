"""One question with its correct answer, asked through the commands and through a server.

An outcome is `right`, `one plain sentence` (exit 3, no traceback), or what was printed instead.
Commands run in a forked child, possibly as another user. Not here: damage to the index (`damage`).
"""

import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from asking import head
from planted import Planted, words_in
from raw_client import Server, command

from workingset_mcp.answers.answer import printed
from workingset_mcp.cli.main import main as command_line
from workingset_mcp.settings import Settings
from workingset_mcp.workspace.facade import Workspace

NOBODY = 65_534
BRANCH = "archive"
COMMANDS = ("brief", "search", "items")
FINE = ("right", "one plain sentence", "says that it fails")
CHILD_SECONDS = 60
ENDLESS = 71
_MOST_EXAMPLES = 3


class Report:
    """Outcomes by kind of damage, with the first wrong ones as examples."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Counter[str]] = {}
        self.wrong = 0

    def note(self, done: str, outcome: str, example: str = "") -> None:
        """Count an outcome."""
        seen = self.outcomes.setdefault(done, Counter())
        seen[outcome] += 1
        if outcome not in FINE:
            self.wrong += 1
            if seen[outcome] <= _MOST_EXAMPLES:
                print(f"   {done}: {outcome}: {example[:500]}", flush=True)

    def show(self, title: str) -> None:
        """Print the outcomes as a table."""
        print(f"\n## {title}")
        for done, outcomes in self.outcomes.items():
            told = ", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common())
            print(f"{done:<52} {told}", flush=True)
        self.outcomes.clear()


class Asked:
    """A word with its note, the number of notes, and a brief; asked through a command or a server."""

    def __init__(self, planted: Planted, index_dir: Path) -> None:
        self.planted = planted
        self.index_dir = index_dir
        self.choose(planted.chance.choice(list(planted.still)))

    def choose(self, path: str) -> None:
        """Choose the note to ask for; the correct brief comes from an index built now."""
        self.path = path
        self.word = next(words_in(self.planted.texts[path]))
        self.brief = fresh_brief(self.planted)

    def words_of(self, door: str) -> list[str]:
        """The arguments of the command to ask through."""
        asked = {"brief": [BRANCH], "search": [self.word], "items": ["--kind", "note"], "index": []}
        return [door, *asked[door]]

    def is_right(self, door: str, text: str) -> bool:
        """Whether an answer is correct."""
        notes = f"{len(self.planted.visible()):,}"
        if door == "brief":
            return text.strip() == self.brief.partition("\n")[2].strip()
        if door == "index":
            return text.startswith(f"{notes} notes in ")
        return (
            f" note: {notes} in " in head(text) if door == "items" else f"### {self.path}:" in text
        )

    def by_command(
        self, door: str, *, user: int | None = None, temporary: bool = True
    ) -> tuple[str, str]:
        """Run a command in a child; return the outcome and the output."""
        words = [*self.words_of(door), "--vault", str(self.planted.root)]
        words += ["--index-dir", str(self.index_dir)]
        nowhere = None if temporary else str(self.index_dir / "nowhere")
        code, stdout, stderr = in_child(words, user, nowhere)
        if code == 0 and self.is_right(door, stdout):
            return "right", ""
        if code == 3 and stderr.startswith("Error: ") and "Traceback" not in stderr:
            return "one plain sentence", stderr
        what = "traceback" if "Traceback" in stderr else "wrong answer"
        what = f"no end in {CHILD_SECONDS} s" if code == ENDLESS else what
        return what, f"{door}, exit {code}: {head(stdout)} {last_lines(stderr)}"

    def by_server(self) -> tuple[str, str]:
        """Start a server and search; return the outcome and the answer."""
        server = Server(command(self.planted.root, self.index_dir, "serve"))
        try:
            server.initialize()
            answer = server.call("search_notes", {"query": self.word})
            while " · indexing " in head(answer.text):
                answer = server.call("search_notes", {"query": self.word})
        except (EOFError, TimeoutError) as error:
            said = b"".join(server.errors).decode("utf-8", "replace")
            plain = "Traceback" not in said and "Error: " in said
            return ("one plain sentence" if plain else "no answer"), f"{error}: {last_lines(said)}"
        finally:
            server.kill()
        return self.judged("search", answer.text, is_error=answer.is_error)

    def judged(self, door: str, text: str, *, is_error: bool) -> tuple[str, str]:
        """The outcome of an answer over MCP."""
        if is_error:
            return "masked error", text
        if self.is_right(door, text.partition("\n")[2] if door == "brief" else text):
            return "right", ""
        return ("says that it fails" if "index failing" in head(text) else "wrong answer"), head(
            text
        )


def fresh_brief(planted: Planted) -> str:
    """The brief from an index built from scratch now."""
    workspace = Workspace(planted.root, Settings(), in_memory=True)
    workspace.build()
    workspace.count_all_tokens()
    text = printed(workspace.brief(BRANCH))
    workspace.close()
    return text


def in_child(words: list[str], user: int | None, temporary: str | None) -> tuple[int, str, str]:
    """Run a command in a forked child, as another user; return exit code, stdout and stderr.

    It forks because that user may not be allowed to run this interpreter. Exit 70: it raised.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            if user is not None:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            tempfile.tempdir = temporary or tempfile.gettempdir()
            os._exit(_exit_code(words))
        code = _waited_for(child)
        said = []
        for stream in (out, errors):
            stream.seek(0)
            said.append(stream.read().decode("utf-8", "replace"))
        return code, said[0], said[1]


def _waited_for(child: int) -> int:
    deadline = time.monotonic() + CHILD_SECONDS
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return ENDLESS
        time.sleep(0.01)
    return os.waitstatus_to_exitcode(ended[1])


def _exit_code(words: list[str]) -> int:
    try:
        command_line(words)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  # a forked child must end here, or it would run its parent's code
        sys.excepthook(*sys.exc_info())
        return 70
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def last_lines(text: str, count: int = 3) -> str:
    """The last lines of the output, as one line."""
    return " | ".join(line.strip() for line in text.strip().splitlines()[-count:])
