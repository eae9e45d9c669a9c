"""The notes of a commit: which of its files would be notes today, and what of them was asked for.

Not here: git itself (`gitlog`), and what stands where there is no commit (`record`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from workingset_mcp.answer import counted
from workingset_mcp.days import last_day
from workingset_mcp.gitlog import Commit, Committed, texts_of
from workingset_mcp.history import Extract, Record
from workingset_mcp.ignoring import (
    IGNORE_FILE,
    Rules,
    folders_above,
    rule_from,
    rule_of_file,
    why_folder_is_out,
    why_note_is_out,
)
from workingset_mcp.markdown import line_ends_kept
from workingset_mcp.matching import Matcher
from workingset_mcp.note import Note, decode, parse_note
from workingset_mcp.sections import Section
from workingset_mcp.statuses import StatusBlock
from workingset_mcp.stretches import (
    Meter,
    Window,
    date_at,
    extract_of,
    in_order,
    stretches_of,
)
from workingset_mcp.vault import MOST_NOTE_BYTES, NOTE_SUFFIXES, Vault


@dataclass(slots=True)
class Sieve:
    """What is no note today was none then: the vault's rules as they are, for paths of a commit."""

    vault: Vault
    _rules: dict[str, Rules | None] = field(default_factory=dict)  # None: the folder is out

    def keeps(self, path: str) -> bool:
        """Whether a committed file would be a note of the vault."""
        folder, _, name = path.rpartition("/")
        if not name.lower().endswith(NOTE_SUFFIXES):
            return False
        rules = self._rules_in(folder)
        return rules is not None and not why_note_is_out(name, path, rules)

    def _rules_in(self, folder: str) -> Rules | None:
        for above in (*folders_above(folder), folder) if folder else ("",):
            if above not in self._rules:
                self._rules[above] = self._rules_at(above)
        return self._rules[folder]

    def _rules_at(self, folder: str) -> Rules | None:
        """The rules inside a folder, those of the folder above it known already."""
        settings = self.vault.settings
        rules: Rules = ()
        if folder:
            above, _, name = folder.rpartition("/")
            known = self._rules[above]
            if known is None or why_folder_is_out(name, folder, known):
                return None
            rules = known
        own = (rule_from(settings.ignore),) if settings.ignore else ()
        if not folder:
            rules = own
        if settings.respect_gitignore:
            rule = rule_of_file(self.vault.root / folder / IGNORE_FILE, folder)
            if rule:  # the settings' patterns stay the last word
                rules = (*rules[:-1], rule, rules[-1]) if own else (*rules, rule)
        return rules


def committed_notes(vault: Vault, commit: Commit, branch: str | None) -> list[Committed]:
    """The notes of a commit, of the vault or of one branch."""
    sieve = Sieve(vault)
    return [
        file
        for file in commit.files
        if branch in (None, vault.branch_of(file.path)) and sieve.keeps(file.path)
    ]


def committed_record(
    vault: Vault, window: Window, commit: Commit, committed: Sequence[Committed], subject: str
) -> Record:
    """What a window asks for of the notes of a commit, in the order of their dates then."""
    extracts: list[Extract] = []
    statuses: list[tuple[StatusBlock, str]] = []
    missing, meter = 0, Meter()
    raws = texts_of(vault.root, commit.name, [file.blob for file in committed])
    with Matcher(window.query) as matcher:
        for file, raw in zip(committed, raws, strict=True):
            if raw is None:
                missing += 1
                continue
            raw = raw[:MOST_NOTE_BYTES]
            note = parse_note(file.path, raw, vault.settings)
            if note.kind != "brief":
                statuses += [(status, file.path) for status in note.statuses]
                extracts += _extracts(note, decode(raw)[0], window, matcher, meter)
    notices = [f"as committed on {commit.day} ({commit.name[:10]})"]
    notices += status_notice(statuses, last_day(window.as_of))
    if missing:
        notices.append(f"{counted(missing, 'note')} not in this partial clone: left out")
    return Record(
        subject, window.call(), in_order(extracts), tuple(notices), meter.exact, narrowed=True
    )


def status_notice(statuses: Sequence[tuple[StatusBlock, str]], day: str) -> list[str]:
    """A line that names the newest status (given with its path) up to a day, where there is one."""
    dated = [(s, path) for s, path in statuses if s.date and last_day(s.date) <= day]
    if not dated:
        return []
    status, path = max(dated, key=lambda p: (p[0].date, p[0].time, p[1], p[0].line))
    return [f"newest status then: {status.heading} · {path}:{status.line}-{status.last_line}"]


def _extracts(
    note: Note, text: str, window: Window, matcher: Matcher, meter: Meter
) -> Iterator[Extract]:
    if window.query:
        for section in _whole_sections(note.sections):
            above = "\n".join(section[0].headings[:-1])
            body = "".join(piece.text for piece in section)
            date = date_at(note, section[0].first_line)
            if window.holds(date) and matcher.holds_all(f"{above}\n{body}"):
                yield extract_of(note.path, date, section[0].first_line, body, meter)
    elif window.dated and len(note.units) > 1:
        lines = line_ends_kept(text)
        for unit in stretches_of(note):
            if window.holds(unit.date):
                part = "".join(lines[unit.first_line - 1 : unit.last_line])
                yield extract_of(note.path, unit.date, unit.first_line, part, meter)
    elif window.holds(note.date):
        yield extract_of(note.path, note.date, 1, text, meter)


def _whole_sections(pieces: Sequence[Section]) -> Iterator[list[Section]]:
    section: list[Section] = []
    for piece in pieces:
        if piece.opens and section:
            yield section
            section = []
        section.append(piece)
    if section:
        yield section
