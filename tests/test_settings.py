"""The settings: defaults, a person's file, workingset.toml, the environment, flags."""

import dataclasses
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from conftest import MakeVault, OpenVault, engine_of

from workingset_mcp.errors import SettingsError
from workingset_mcp.settings import (
    LABELS,
    Settings,
    load_settings,
    own_file,
    settings_home,
    today,
)
from workingset_mcp.workspace.facade import Workspace


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make a vault without notes."""
    return tmp_path


def write_settings(folder: Path, text: str) -> None:
    (folder / "workingset.toml").write_bytes(text.encode())


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a person's settings file that does not exist yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("person")))
    file = own_file()
    file.parent.mkdir(parents=True)
    return file


# -- where values come from ------------------------------------------------------------------------

FULL = """
carriers = ["teams", "cust"]
ignore = ["*.draft.md"]
respect_gitignore = false
private_tags = ["diary"]
status_words = ["Läget"]
action_headings = ["Do"]
decision_headings = ["Done"]
blocker_headings = ["Blockiert"]
date_order = "dmy"
override_max_bytes = 5000
brief_budget = 4000
search_budget = 1000
open_budget = 3000
full_budget = 10000
items_budget = 2000
token_margin = 1.2
heavy_limit = 50000
max_answer_bytes = 9500
index_dir = "/somewhere"

[labels]
fact = ["Fakt", "Zahl"]
owner = "Wer"

[glossary]
k8s = ["kubernetes"]
sso = "single sign-on"
"""


def test_every_setting_can_be_set_in_a_persons_file(home: Path, own: Path) -> None:
    own.write_text(FULL, encoding="utf-8")
    assert load_settings(home) == Settings(
        carriers=("teams", "cust"),
        ignore=("*.draft.md",),
        respect_gitignore=False,
        private_tags=("diary",),
        status_words=("Läget",),
        labels={**LABELS, "fact": ("Fakt", "Zahl"), "owner": ("Wer",)},
        action_headings=("Do",),
        decision_headings=("Done",),
        blocker_headings=("Blockiert",),
        date_order="dmy",
        glossary={"k8s": ("kubernetes",), "sso": ("single sign-on",)},
        override_max_bytes=5_000,
        brief_budget=4_000,
        search_budget=1_000,
        open_budget=3_000,
        full_budget=10_000,
        items_budget=2_000,
        token_margin=1.2,
        heavy_limit=50_000,
        max_answer_bytes=9_500,
        index_dir="/somewhere",
    )


def test_the_file_above_names_every_setting(home: Path, own: Path) -> None:
    own.write_text(FULL, encoding="utf-8")
    loaded, default = load_settings(home), Settings()
    same = [
        field.name
        for field in dataclasses.fields(Settings)
        if getattr(loaded, field.name) == getattr(default, field.name)
    ]
    assert same == ["remarks"]


def test_a_vaults_file_can_set_all_but_what_reaches_outside_the_vault(
    home: Path, own: Path
) -> None:
    own.write_text(FULL, encoding="utf-8")
    everything = load_settings(home)
    own.unlink()
    write_settings(home, FULL)
    loaded = load_settings(home)
    assert loaded == dataclasses.replace(everything, index_dir=None, remarks=loaded.remarks)
    [remark] = loaded.remarks
    for place in ("workingset.toml sets index_dir", "--index-dir", "WORKINGSET_INDEX_DIR"):
        assert place in remark
    assert "config.toml" in remark


@pytest.mark.parametrize("value", ['"/elsewhere"', '"../.."', '""', "1", "[]"])
def test_a_vaults_file_cannot_move_the_index(
    home: Path, own: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    write_settings(home, f"index_dir = {value}\n")
    assert load_settings(home).index_dir is None
    own.write_text('index_dir = "/mine"\n', encoding="utf-8")
    assert load_settings(home).index_dir == "/mine"
    monkeypatch.setenv("WORKINGSET_INDEX_DIR", "/given")
    assert load_settings(home).index_dir == "/given"
    assert load_settings(home, {"index_dir": "/flag"}).index_dir == "/flag"


@pytest.mark.parametrize(
    "text",
    [None, "", "# nothing\n", "\ufeff# a mark of byte order\n"],
    ids=["none", "", "#", "BOM"],
)
def test_without_settings_there_are_defaults(home: Path, text: str | None) -> None:
    if text is not None:
        write_settings(home, text)
    assert load_settings(home) == Settings()


ENVIRONMENT = [
    ("CARRIERS", "teams, cust,", "carriers", ("teams", "cust")),
    ("IGNORE", "*.draft.md", "ignore", ("*.draft.md",)),
    ("RESPECT_GITIGNORE", "no", "respect_gitignore", False),
    ("RESPECT_GITIGNORE", "0", "respect_gitignore", False),
    ("RESPECT_GITIGNORE", "Yes", "respect_gitignore", True),
    ("DATE_ORDER", "mdy", "date_order", "mdy"),
    ("BRIEF_BUDGET", "4000", "brief_budget", 4_000),
    ("TOKEN_MARGIN", "1.2", "token_margin", 1.2),
    ("TOKEN_MARGIN", "2", "token_margin", 2.0),
    ("MAX_ANSWER_BYTES", "9500", "max_answer_bytes", 9_500),
    ("INDEX_DIR", "/somewhere", "index_dir", "/somewhere"),
]


@pytest.mark.parametrize(("variable", "text", "name", "value"), ENVIRONMENT)
def test_an_environment_variable_is_read_by_its_type(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, name: str, value: object
) -> None:
    monkeypatch.setenv(f"WORKINGSET_{variable}", text)
    given: dict[str, Any] = {name: value}
    assert load_settings(home) == Settings(**given)


def test_flags_win_over_the_environment_then_the_vaults_file_then_the_persons_file(
    home: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("brief_budget", "search_budget", "open_budget")
    own.write_text("items_budget = 555\nbrief_budget = 555\n", encoding="utf-8")
    write_settings(home, "".join(f"{name} = 1111\n" for name in names))
    monkeypatch.setenv("WORKINGSET_SEARCH_BUDGET", "2222")
    monkeypatch.setenv("WORKINGSET_OPEN_BUDGET", "2222")
    flags = {"open_budget": 3333, "full_budget": None}
    loaded = load_settings(home, flags)
    assert [getattr(loaded, name) for name in names] == [1111, 2222, 3333]
    assert (loaded.full_budget, loaded.items_budget) == (Settings().full_budget, 555)


def test_other_variables_with_our_prefix_are_ignored(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKINGSET_VAULT", "/somewhere")
    monkeypatch.setenv("WORKINGSET_TOKEN", "x")
    assert load_settings(home) == Settings()


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().brief_budget = 1  # type: ignore[misc]  # that this is refused is tested


# -- refused settings ------------------------------------------------------------------------------

UNKNOWN = [
    ("carrier", "carriers"),
    ("Carriers", "carriers"),
    ("status_word", "status_words"),
    ("brief-budget", "brief_budget"),
    ("dateorder", "date_order"),
    ("overide_max_bytes", "override_max_bytes"),
]


@pytest.mark.parametrize(("key", "near"), UNKNOWN)
def test_an_unknown_key_is_refused_with_near_matches(home: Path, key: str, near: str) -> None:
    write_settings(home, f'{key} = "x"\n')
    with pytest.raises(SettingsError) as raised:
        load_settings(home)
    assert raised.value.message == f"Unknown setting {key!r}."
    assert near in raised.value.hint
    assert raised.value.exit_code == 2


def test_a_key_without_near_matches_is_refused_too(home: Path) -> None:
    write_settings(home, "zzzzqqqq = 1\n")
    with pytest.raises(SettingsError, match="zzzzqqqq"):
        load_settings(home)


WRONG = [
    'carriers = "cust"',
    "carriers = [1]",
    "carriers = true",
    "ignore = {}",
    "status_words = 1",
    'respect_gitignore = "no"',
    "respect_gitignore = 0",
    'date_order = "ymd"',
    "date_order = 1",
    "date_order = []",
    'brief_budget = "4000"',
    "brief_budget = 4000.5",
    "brief_budget = true",
    "brief_budget = 0",
    "brief_budget = -1",
    "override_max_bytes = 10",
    "heavy_limit = 1",
    "max_answer_bytes = 10",
    'max_answer_bytes = "many"',
    'token_margin = "1"',
    "token_margin = true",
    "token_margin = 0.5",
    "token_margin = nan",
    "token_margin = inf",
    "labels = 1",
    'labels = ["Owner"]',
    "[labels]\nfact = 1",
    "[labels]\nfact = [1]",
    '[labels]\nfacts = ["Fact"]',
    "[glossary]\na = 1",
    'glossary = "a"',
]


@pytest.mark.parametrize("text", WRONG)
def test_a_value_of_the_wrong_type_is_refused_by_name(home: Path, text: str) -> None:
    write_settings(home, f"{text}\n")
    with pytest.raises(SettingsError) as raised:
        load_settings(home)
    name = text.removeprefix("[labels]\n").removeprefix("[glossary]\n").partition(" ")[0]
    assert name in raised.value.message
    assert "Traceback" not in str(raised.value)


WRONG_ENVIRONMENT = [
    ("BRIEF_BUDGET", "many"),
    ("BRIEF_BUDGET", "-5"),
    ("BRIEF_BUDGET", "1e3"),
    ("BRIEF_BUDGET", ""),
    ("TOKEN_MARGIN", "wide"),
    ("TOKEN_MARGIN", "nan"),
    ("DATE_ORDER", "ymd"),
    ("MAX_ANSWER_BYTES", "ten"),
    ("RESPECT_GITIGNORE", "maybe"),
    ("LABELS", "Owner"),
]


@pytest.mark.parametrize(("variable", "text"), WRONG_ENVIRONMENT)
def test_an_invalid_variable_is_refused_by_name(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    monkeypatch.setenv(f"WORKINGSET_{variable}", text)
    with pytest.raises(SettingsError, match=f"(?i){variable}"):
        load_settings(home)


@pytest.mark.parametrize("flags", [{"brief_budget": "x"}, {"nothing": 1}, {"date_order": "ymd"}])
def test_an_invalid_flag_is_refused(home: Path, flags: Mapping[str, Any]) -> None:
    with pytest.raises(SettingsError):
        load_settings(home, flags)


@pytest.mark.parametrize(
    "raw",
    [b"carriers = [", b"= 1", b"a = 1\na = 1", b"carriers = ['\xff']", b"\xff\xfea\0", b"\0"],
    ids=["open", "no key", "twice", "no UTF-8", "UTF-16", "NUL"],
)
def test_a_broken_file_is_refused_in_one_sentence(home: Path, raw: bytes) -> None:
    (home / "workingset.toml").write_bytes(raw)
    with pytest.raises(SettingsError, match=r"workingset\.toml cannot be read") as raised:
        load_settings(home)
    assert raised.value.hint


@pytest.mark.parametrize("text", ["carriers = [", "carrier = []", "index_dir = 1"])
def test_a_broken_personal_file_is_refused_without_naming_its_folder(
    home: Path, own: Path, text: str
) -> None:
    own.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as raised:
        load_settings(home)
    assert str(own.parent) not in str(raised.value)


# -- the day, the home, what settings do -----------------------------------------------------------


def test_the_day_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKINGSET_TODAY", "2026-02-28")
    assert today() == date(2026, 2, 28)
    monkeypatch.setenv("WORKINGSET_TODAY", "soon")
    with pytest.raises(SettingsError, match="'soon'"):
        today()
    monkeypatch.delenv("WORKINGSET_TODAY")
    assert today() > date(2025, 1, 1)


def test_settings_are_searched_in_the_folder_and_above(home: Path) -> None:
    inner = home / "vault" / "cust" / "acme"
    inner.mkdir(parents=True)
    assert settings_home(inner) == inner
    write_settings(home / "vault", "")
    assert settings_home(inner) == home / "vault"
    write_settings(inner, "")
    assert settings_home(inner) == inner


def test_a_workspace_reads_its_vaults_settings_and_reports_ignored_ones(
    make_vault: MakeVault, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    root = make_vault(
        f'=== workingset.toml\ncarriers = ["teams"]\nindex_dir = "{index.as_posix()}"\n'
        "=== teams/a/x.md\ntext\n=== cust/a/x.md\ntext\n"
    )
    workspace = Workspace(root)
    try:
        workspace.build()
        assert workspace.branches() == ["cust", "teams/a"]
        assert workspace.status()["remarks"] == list(workspace.settings.remarks)
        assert len(workspace.settings.remarks) == 1
    finally:
        workspace.close()
    assert not index.exists()


def test_other_settings_never_share_an_index(open_vault: OpenVault) -> None:
    first = open_vault("=== teams/a/x.md\ntext\n=== cust/a/x.md\ntext\n")
    other = open_vault(first.vault.root, carriers=("teams",))
    assert engine_of(first).file != engine_of(other).file
    assert (first.branches(), other.branches()) == (["cust/a", "teams"], ["cust", "teams/a"])


def test_a_persons_folder_that_cannot_be_looked_into_has_no_settings(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A name that is too long stands for a folder without rights, which root does not know."""
    monkeypatch.setattr(
        "workingset_mcp.settings.own_file", lambda: tmp_path / ("x" * 300) / "config.toml"
    )
    assert load_settings(home) == Settings()
    assert settings_home(tmp_path / ("x" * 300)) == tmp_path / ("x" * 300)
