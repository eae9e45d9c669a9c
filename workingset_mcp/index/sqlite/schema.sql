-- The index is a cache: when this file changes, the old index is dropped and rebuilt.
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE note (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    branch TEXT NOT NULL,
    title TEXT NOT NULL,
    date TEXT NOT NULL,           -- ISO, as precise as known; '' if undated
    date_source TEXT NOT NULL,
    kind TEXT NOT NULL,           -- note, override, brief, private
    template INTEGER NOT NULL,
    genre TEXT NOT NULL,          -- minutes, decision record, …: see notes/kinds.py
    genre_sign TEXT NOT NULL,
    not_current TEXT NOT NULL,    -- what it says of why it no longer holds
    line_count INTEGER NOT NULL,
    first_section INTEGER NOT NULL,
    last_section INTEGER NOT NULL,  -- less than the first if there are none
    tokens INTEGER,               -- NULL until counted
    aliases TEXT NOT NULL,        -- one per line
    tags TEXT NOT NULL,
    units TEXT NOT NULL,          -- JSON: [date, first line, last line]
    remarks TEXT NOT NULL,        -- JSON: [line, text]
    line_digests BLOB NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    read_ns INTEGER NOT NULL,     -- the clock when the file was read
    digest BLOB NOT NULL          -- of the bytes
);
CREATE INDEX note_branch ON note (branch);

-- The texts of a note's sections, joined in order, are the text of the note. Their ids are
-- consecutive, so no index is needed to find them.
CREATE TABLE section (
    id INTEGER PRIMARY KEY,
    note_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    level INTEGER NOT NULL,
    opens INTEGER NOT NULL,       -- whether it begins a section; later pieces of a long one do not
    headings TEXT NOT NULL,       -- heading path, one per line (`kept_headings`)
    date TEXT NOT NULL,           -- from the headings; '' if none is dated
    skip INTEGER NOT NULL,        -- characters of front matter at the beginning of the text
    text TEXT NOT NULL
);

CREATE TABLE item (
    note_id INTEGER NOT NULL,
    line INTEGER NOT NULL,
    kind INTEGER NOT NULL,        -- index in ITEM_KINDS
    form INTEGER NOT NULL,        -- index in ITEM_FORMS
    state TEXT NOT NULL,
    text TEXT NOT NULL,
    owners TEXT NOT NULL,         -- one per line
    due TEXT NOT NULL,
    date TEXT NOT NULL,
    PRIMARY KEY (note_id, line)
) WITHOUT ROWID;
CREATE INDEX item_task ON item (state) WHERE kind = 0;
CREATE INDEX item_unread ON item (line) WHERE kind = 11;

CREATE TABLE status (
    note_id INTEGER NOT NULL,
    line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    heading TEXT NOT NULL,
    date TEXT NOT NULL,
    time TEXT NOT NULL,
    ambiguous INTEGER NOT NULL
);
CREATE INDEX status_note ON status (note_id);

-- Contentless: the table stores only words. To delete a row, FTS5 needs the old values, which
-- `search_columns` derives from the tables above. The longest column comes first: for every other
-- column FTS5 stores two more bytes with the positions of a word. `cjk` holds pairs of characters of
-- scripts without blanks, and the other forms of words (`notes.folding`).
CREATE VIRTUAL TABLE fts USING fts5 (
    body, title, heads, path, cjk, dt,
    content = '', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (fts, row);
