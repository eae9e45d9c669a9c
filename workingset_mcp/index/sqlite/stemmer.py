"""Stem words as the index does, with the tokenizer of the FTS5 table."""

import sqlite3
import threading

_MOST_STEMS = 100_000


class SqliteStemmer:
    """Stems of single words (`index.engine.Stemmer`)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.execute(
            "CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self._connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)")
        self._known: dict[str, str] = {}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def stem(self, word: str) -> str:
        """Return the stem of one word; empty if the tokenizer finds no word in it."""
        known = self._known.get(word)
        if known is None:
            with self._lock:
                run = self._connection.execute
                run("INSERT INTO t(rowid, x) VALUES (1, ?)", (word.replace("\0", " "),))
                found = run("SELECT term FROM v ORDER BY offset LIMIT 1").fetchone()
                run("DELETE FROM t")
                if len(self._known) > _MOST_STEMS:
                    self._known.clear()
                known = self._known[word] = found[0] if found else ""
        return known

    def common_beginning(self, stem: str) -> str:
        """Return the common prefix of a stem's words: Porter turns `company` and `companies` into `compani`."""
        return stem[:-1] if stem.endswith("i") and len(stem) > 2 else stem
