"""Where the index of a vault lives: one folder for each vault, schema and shaping settings."""

import hashlib
import os
import shutil
import time
import unicodedata
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import platformdirs

UNUSED_DAYS = 60
FILE_NAME = "index.sqlite3"
SCHEMA = files("workingset_mcp.index").joinpath("schema.sql").read_text(encoding="utf-8")
_CODE = "2"  # raise when what goes into the tables changes without the schema changing
SCHEMA_VERSION = hashlib.sha256(
    f"{SCHEMA}{_CODE}{unicodedata.unidata_version}".encode()
).hexdigest()[:12]


def index_folder(vault_root: Path, shape_digest: str, index_dir: str | None = None) -> Path:
    """The folder of this vault's index: one for each vault, schema version and shaping settings."""
    real = os.fsencode(vault_root.resolve())
    name = f"{hashlib.sha256(real).hexdigest()[:16]}-{SCHEMA_VERSION}-{shape_digest}"
    base = (
        Path(index_dir) if index_dir else Path(platformdirs.user_cache_dir("workingset-mcp", False))
    )
    return base / name


def remove_unused(base: Path, keep: str) -> None:
    """Remove folders of indexes that nobody opened for a long time."""
    oldest = time.time() - UNUSED_DAYS * 86_400
    with suppress(OSError):
        for folder in base.iterdir():
            unused = folder.name != keep and folder.is_dir() and folder.stat().st_mtime < oldest
            if unused and (folder / FILE_NAME).exists():
                shutil.rmtree(folder, ignore_errors=True)
