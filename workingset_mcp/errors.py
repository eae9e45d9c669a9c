"""The expected failures. Each says what to do next.

    WorkingsetError            message: what happened; hint: what to do next
    ├── SettingsError          a setting, flag or environment variable is wrong   (CLI exit 2)
    ├── ArgumentError          a tool argument is out of range or malformed       (CLI exit 2)
    ├── TookTooLong            a call of a client ran into its time limit
    ├── VaultError
    │   ├── VaultNotFound      the vault folder is missing or refused
    │   ├── NoteNotFound       no note at that path; carries near matches
    │   └── PathRefused        outside the vault, hidden, ignored, not a note, unreadable
    ├── BranchNotFound         no such branch; carries near matches
    ├── OverrideTooLarge       an override is over its cap; nothing is injected    (CLI exit 1)
    ├── IndexDamaged           the index file is damaged; it is rebuilt, no caller sees this
    └── IndexUnavailable       no FTS5, or no place to keep an index              (CLI exit 3)
        └── IndexHeld          another process holds the write lock

Any other exception is a bug: it is logged, and masked before it reaches a client.
"""


class WorkingsetError(Exception):
    """An expected failure: one plain sentence, and what to do next."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class SettingsError(WorkingsetError):
    """A setting, flag or environment variable is wrong."""

    exit_code = 2


class ArgumentError(WorkingsetError):
    """A tool argument is out of range or malformed."""

    exit_code = 2


class TookTooLong(WorkingsetError):
    """A call of a client was ended at its time limit; a command has none."""


class VaultError(WorkingsetError):
    """A problem with the folder of notes."""


class VaultNotFound(VaultError):
    """The vault folder is missing, not a folder, or refused."""

    exit_code = 2


class NoteNotFound(VaultError):
    """There is no note at that path."""

    exit_code = 1


class PathRefused(VaultError):
    """The path may not be read. The message never says where a link leads."""

    exit_code = 2


class BranchNotFound(WorkingsetError):
    """No branch has that name."""

    exit_code = 1


class OverrideTooLarge(WorkingsetError):
    """An override is over its cap; it is never cut silently."""

    exit_code = 1


class IndexDamaged(WorkingsetError):
    """The index file is damaged. The workspace rebuilds it and retries.

    `epoch`: the epoch of the damaged file (`Freshness.start_anew`).
    """

    def __init__(self, message: str, hint: str = "", *, epoch: int | None = None) -> None:
        super().__init__(message, hint)
        self.epoch = epoch


class IndexUnavailable(WorkingsetError):
    """An index cannot be kept here."""


class IndexHeld(IndexUnavailable):
    """Another process holds the write lock: reading works, and writing is tried again."""
