"""Read every choice a person can make into one frozen value.

Flags win over `WORKINGSET_…` variables, which win over `workingset.toml` in the vault root, which
wins over the person's own `config.toml`, which wins over the defaults below. A vault may come from
somebody else, so its file cannot set what reaches outside the vault (`_OUTSIDE`).
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

import platformdirs

from workingset_mcp.errors import SettingsError

SETTINGS_FILE = "workingset.toml"

# The words of each kind of label, in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish,
# Japanese, Chinese, Korean. A number, an emoji or a plural `s` may stand beside them (`notes.patterns`).
LABELS: Mapping[str, tuple[str, ...]] = {
    "decision": (
        "Decided", "Decision", "Decisions", "Resolution", "Resolutions", "Resolved", "Conclusion",
        "Conclusions", "Verdict", "Outcome", "Outcomes", "Consensus", "Agreed", "Beschluss", "Beschlüsse",
        "Entscheidung", "Entscheidungen", "Entschieden", "Décision", "Décisions", "Décidé", "Decisión",
        "Decisiones", "Acuerdo", "Acuerdos", "Decisione", "Decisioni", "Deciso", "Decisão", "Decisões",
        "Deliberação", "Besluit", "Besluiten", "Beslissing", "Beslissingen", "Decyzja", "Decyzje",
        "Ustalenie", "Ustalenia", "決定", "決定事項", "結論", "合意事項", "决定", "决议", "结论", "결정",
        "결정사항", "결정 사항", "결론",
    ),
    "owner": (
        "Owner", "Owners", "Assignee", "Assignees", "Assigned to", "DRI", "Champion", "Responsible",
        "Verantwortlich", "Verantwortliche", "Zuständig", "Responsable", "Responsables", "Responsabile",
        "Responsabili", "Responsável", "Responsáveis", "Verantwoordelijk", "Verantwoordelijke",
        "Eigenaar", "Odpowiedzialny", "Odpowiedzialna", "Właściciel", "担当", "担当者", "责任人", "负责人",
        "담당", "담당자",
    ),
    "due": (
        "Due", "Due date", "Due dates", "Deadline", "Deadlines", "Fällig", "Fällig am", "Frist",
        "Fristen", "Échéance", "Échéances", "Date limite", "Fecha límite", "Vencimiento", "Plazo",
        "Scadenza", "Scadenze", "Prazo", "Prazos", "Data limite", "Vervaldatum", "Uiterste datum",
        "Termin wykonania", "期限", "締切", "締め切り", "納期", "截止日期", "截止时间", "마감", "마감일", "기한",
    ),
    "blocker": (
        "Blocker", "Blockers", "Blocked", "Blocked by", "Blocked on", "Impediment", "Impediments", "Risk",
        "Risks", "Risiko", "Risiken", "Hindernis", "Hindernisse", "Blockiert", "Risque", "Risques",
        "Blocage", "Blocages", "Bloqué", "Riesgo", "Riesgos", "Bloqueo", "Bloqueos", "Bloqueado",
        "Rischio", "Rischi", "Blocco", "Blocchi", "Bloccato", "Risco", "Riscos", "Bloqueio",
        "Bloqueios", "Risico", "Risico's", "Geblokkeerd", "Belemmering", "Belemmeringen", "Ryzyko",
        "Ryzyka", "Blokada", "Blokady", "Zablokowane", "ブロッカー", "リスク", "障害", "阻塞", "阻碍", "风险",
        "블로커", "리스크", "위험", "장애",
    ),
    "action": (
        "Action", "Actions", "Action item", "Action items", "Action point", "Action points", "AI", "AP",
        "TODO", "TODOs", "To do", "To-do", "Next step", "Next steps", "Follow-up", "Follow-ups",
        "Follow up", "Follow ups", "Aufgabe", "Aufgaben", "Maßnahme", "Maßnahmen", "Nächster Schritt",
        "Nächste Schritte", "Zu tun", "À faire", "Prochaine étape", "Prochaines étapes", "Acción",
        "Acciones", "Tarea", "Tareas", "Próximo paso", "Próximos pasos", "Por hacer", "Azione", "Azioni",
        "Da fare", "Prossimo passo", "Prossimi passi", "Ação", "Ações", "Tarefa", "Tarefas",
        "Próximo passo", "Próximos passos", "A fazer", "Actie", "Acties", "Actiepunt", "Actiepunten",
        "Volgende stap", "Volgende stappen", "Te doen", "Zadanie", "Zadania", "Następny krok",
        "Następne kroki", "Kolejne kroki", "Do zrobienia", "アクション", "アクションアイテム", "次のステップ",
        "ネクストアクション", "宿題", "やること", "行动项", "待办", "待办事项", "下一步", "后续行动", "액션",
        "액션 아이템", "할 일", "다음 단계", "조치사항", "조치 사항",
    ),
    "fact": ("Fact", "Facts", "Key fact", "Key facts", "Total", "Fakt", "Fakten"),
}  # fmt: skip
# Words that say too little as a heading: too short, or a heading over anything that came out.
_LABELS_ALONE = {"AI", "AP", "Resolved", "Outcome", "Outcomes", "Verdict"}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a person chose. Every default fits an ordinary folder of notes."""

    carriers: tuple[str, ...] = ("cust", "customers", "accounts", "projects", "clients")
    ignore: tuple[str, ...] = ()
    respect_gitignore: bool = True
    private_tags: tuple[str, ...] = ("private",)
    status_words: tuple[str, ...] = ("Status", "Stand", "Statut", "Estado", "現状", "当前状态")
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: LABELS)
    action_headings: tuple[str, ...] = (
        *(word for word in LABELS["action"] if word not in _LABELS_ALONE),
        "Tasks", "Open items", "Offene Punkte", "Tâches", "Takenlijst", "タスク", "任务", "작업",
    )  # fmt: skip
    decision_headings: tuple[str, ...] = (
        *(word for word in LABELS["decision"] if word not in _LABELS_ALONE),
        "Conclusion/Resolution",
    )  # fmt: skip
    blocker_headings: tuple[str, ...] = LABELS["blocker"]
    date_order: Literal["dmy", "mdy"] | None = None
    glossary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    override_max_bytes: int = 9_000
    brief_budget: int = 8_000
    search_budget: int = 2_000
    open_budget: int = 6_000
    full_budget: int = 20_000
    items_budget: int = 3_000
    token_margin: float = 1.0
    heavy_limit: int = 100_000
    max_answer_bytes: int | None = None
    index_dir: str | None = None
    remarks: tuple[str, ...] = ()  # on ignored settings of the vault's file

    def shape_digest(self) -> str:
        """Return a digest of the settings that decide what an index contains; it names the index's folder."""
        shaping = (
            self.carriers, self.ignore, self.respect_gitignore, self.private_tags,
            self.status_words,
            sorted(self.labels.items()), self.action_headings, self.decision_headings,
            self.blocker_headings, self.date_order,
        )  # fmt: skip
        return hashlib.sha256(repr(shaping).encode()).hexdigest()[:12]


def today() -> date:
    """Return `WORKINGSET_TODAY` (for tests), else today in local time."""
    fixed = os.environ.get("WORKINGSET_TODAY")
    if not fixed:
        return datetime.now(UTC).astimezone().date()
    try:
        return date.fromisoformat(fixed[:10])
    except ValueError:
        raise SettingsError(
            f"WORKINGSET_TODAY is {fixed!r}, not a date.", "Write it as 2026-06-16."
        ) from None


def load_settings(vault: Path, flags: Mapping[str, Any] | None = None) -> Settings:
    """Read the person's file, the vault's `workingset.toml`, the environment and the flags.

    Raises SettingsError for an unknown key (with near matches), a wrong type or a broken file.
    """
    vault_settings = _read(vault / SETTINGS_FILE)
    outside = [name for name in _OUTSIDE if vault_settings.pop(name, None) is not None]
    chosen = {**_read(own_file()), **vault_settings}
    for name in _FIELDS:
        value = os.environ.get(f"WORKINGSET_{name.upper()}")
        if value is not None:
            chosen[name] = _from_environment(name, value)
    chosen.update({key: value for key, value in (flags or {}).items() if value is not None})
    checked = {key: _checked(key, value) for key, value in chosen.items()}
    return replace(Settings(), **checked, remarks=tuple(map(_ignored_remark, outside)))


def own_file() -> Path:
    """Return the path of the person's own settings file, which may not exist."""
    return platformdirs.user_config_path("workingset-mcp", False) / "config.toml"


def _read(file: Path) -> dict[str, Any]:
    if not os.path.isfile(file):  # noqa: PTH113  # `Path.is_file` raises for a folder without rights
        return {}
    import tomllib  # takes 30 ms, and few people have such a file

    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error  # without the folder
        raise SettingsError(
            f"{file.name} cannot be read: {reason}.", "Correct it or move it away."
        ) from None


def _ignored_remark(name: str) -> str:
    """Say that a setting in the vault's file is ignored, and where to set it instead."""
    return (
        f"{SETTINGS_FILE} sets {name}, which reaches outside the vault: it is ignored. Give"
        f" --{name.replace('_', '-')}, set WORKINGSET_{name.upper()}, or put it in your own config.toml"
    )


def settings_home(start: Path) -> Path:
    """Return the nearest folder at or above `start` that has a settings file, else `start`."""
    for folder in (start, *start.parents):
        if os.path.isfile(folder / SETTINGS_FILE):  # noqa: PTH113  # as in `_read`
            return folder
    return start


_FIELDS = {f.name: f for f in fields(Settings) if f.name != "remarks"}
_OUTSIDE = ("index_dir",)  # the others only affect what is read in the vault and how much is shown
_MAPPINGS = {"labels", "glossary"}
_OPTIONAL = {"date_order", "max_answer_bytes", "index_dir"}
_LEAST = {"override_max_bytes": 500, "heavy_limit": 1_000, "max_answer_bytes": 1_000}


def _from_environment(name: str, value: str) -> Any:
    default = getattr(Settings(), name)
    if isinstance(default, bool):
        words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False}
        return {**words, "no": False, "off": False}.get(value.strip().lower(), value)
    if isinstance(default, int) or name == "max_answer_bytes":
        return int(value) if value.strip().isdecimal() else value
    if isinstance(default, float):
        try:
            return float(value)
        except ValueError:
            return value
    if isinstance(default, tuple):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _checked(key: str, value: Any) -> Any:
    if key not in _FIELDS:
        from rapidfuzz import process  # takes 12 ms, and only a mistake needs it

        near = [
            name for name, score, _ in process.extract(key, list(_FIELDS), limit=2) if score > 60
        ]
        raise SettingsError(
            f"Unknown setting {key!r}.",
            f"Did you mean {' or '.join(near)}?" if near else "See docs.",
        )
    if key in _MAPPINGS:
        return _checked_mapping(key, value)
    default = getattr(Settings(), key)
    if isinstance(default, tuple):
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
            raise SettingsError(
                f"Setting {key} must be a list of strings.", 'Write it as ["a", "b"].'
            )
        return tuple(value)
    if key == "date_order" and value not in (None, "dmy", "mdy"):
        raise SettingsError(f"Setting date_order is {value!r}.", 'Write "dmy" or "mdy".')
    if isinstance(default, bool) or (key in _OPTIONAL and key != "max_answer_bytes"):
        expected: tuple[type, ...] = (bool,) if isinstance(default, bool) else (str, type(None))
        valid = isinstance(value, expected)
    else:
        number = int | float if isinstance(default, float) else int
        valid = isinstance(value, number) and not isinstance(value, bool)
        valid = valid and _LEAST.get(key, 1) <= value <= 1_000_000_000
    if not valid:
        raise SettingsError(f"Setting {key} cannot be {value!r}.", f"Its default is {default!r}.")
    return value


def _checked_mapping(key: str, value: Any) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise SettingsError(f"Setting {key} must be a table.", f"Write it as [{key}].")
    table = dict(LABELS) if key == "labels" else {}
    for name, words in value.items():
        listed = [words] if isinstance(words, str) else words
        if not isinstance(listed, (list, tuple)) or not all(isinstance(w, str) for w in listed):
            raise SettingsError(f"Setting {key}.{name} must be a list of strings.", "")
        if key == "labels" and name not in LABELS:
            raise SettingsError(f"Unknown kind of label {name!r}.", f"Kinds: {', '.join(LABELS)}.")
        table[name] = tuple(listed)
    return table
