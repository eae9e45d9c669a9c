"""The words of generated notes, and a function that invents more."""

import random
from collections.abc import Collection


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FUNCTION = _words(
    """the of to and a in for is on that with we by as it be this are was from at or an have not has
    they but will our which were their can if all one been who more when also there what so no
    about up out into than its other these then some could them only do after new over any how
    now"""
)
EVERYDAY = _words(
    """account action agenda agreement alert analysis annex answer appendix approval archive area
    assembly audit backlog backup balance bandwidth baseline batch benchmark boundary branch
    bridge budget buffer build calendar canal capacity cargo catalogue cause certificate chain
    change channel chart check clause cluster comment commitment compiler component concept
    connector contract control copy corner cost count course coverage credit criteria cycle damage
    deadline decision delivery demand deposit depot design detail device diagram discount draft
    driver duty edge effort energy engine entry estimate event evidence exception exercise export
    factor failure feature fence field figure filter finding fleet flow forecast form frame
    function gap gate gauge goal grid group guide harbour hardware hazard heater height import
    incident index input inspection interval inventory invoice issue joint journal kernel label
    latency layer layout ledger level library limit line link list load location lock loop machine
    maintenance manual margin market material matrix measure memory message metric migration
    milestone mirror model module motor network node notice number objective offer office operator
    option order origin outage outcome output owner package panel paper parcel part partner patch
    path pattern payment permit phase pilot pipeline plan plant platform pocket point policy pool
    port power price priority probe procedure process product profile proof proposal protocol pump
    quality quantity quarter queue quota rate ratio reason receipt record recovery reference
    region register release relay renewal repair replica report request requirement reserve
    resource response result review revision risk role roof room route rule sample schedule scope
    score seal season section sensor series server service session shelf shift signal site size
    slot source space spare stage standard station stock storage strategy stream structure summary
    supplier supply support surface survey switch system table tariff task team template tenant
    term test threshold ticket timber token tool topic total track training transfer trial trigger
    unit update upgrade usage valve value vault vendor version view visit volume warehouse
    warranty water weight window wiring workshop yard yield zone"""
)
ATTRIBUTES = (
    "indemnity cap", "escrow deposit", "uplift ceiling", "sandbox quota", "termination notice",
    "warranty window", "failover region", "key rotation interval", "evidence deadline",
    "overage price", "backup retention", "escalation contact", "bandwidth commitment",
    "throttle limit", "residency zone", "pilot success owner", "maintenance slot",
    "renewal discount floor", "training credit balance",
)  # fmt: skip
INFLECTED = (  # as a note has it, as a question has it
    ("were migrated", "migrating"),
    ("were rotated", "rotating"),
    ("were approved", "approving"),
    ("were replicated", "replicating"),
    ("were scheduled", "scheduling"),
    ("were inspected", "inspecting"),
)
GERMAN = _words(
    """der die das und ist nicht mit für auf eine werden Kunde Vertrag Verlängerung Besprechung
    Entscheidung Preiserhöhung Datenschutz Prüfung Lizenz Übergabe Führung Größe Maßnahme Änderung
    Rückfrage Zuständigkeit Aufgabe Angebot Genehmigung Schulung Verfügbarkeit Störung Lösung
    Anforderung Umstellung Rechnung Gebühr Anschluss Rechenzentrum Sicherheit Bericht Quartal Ziel
    nächste Woche bis zum wurde haben wir auch noch nach über zwischen bereits"""
)
JAPANESE = _words(
    """契約更新 会議 決定事項 担当者 期限 価格交渉 顧客 提案書 審査 データ保管 移行手順 障害報告
    対応 検証環境 本番環境 予算承認 来週 までに 確認する 資料 共有 部長 技術部 営業部 課題 次回
    予定 導入支援 研修 評価基準 見積書 利用状況 監査 権限管理 連携機能"""
)
JAPANESE_GLUE = tuple("はがをにでとのもへ")
KANJI = tuple("鶴亀松竹梅桜藤菊蓮萩杉楓椿柳桐")
FIRST_NAMES = _words(
    """Mara Devon Stefan Lin Jonas Ines Tomas Greta Omar Yuki Hana Pavel Nadia Felix Rosa Kofi Amara
    Sven Leila Marco Elena Hugo Freya Ravi Anika Diego Noor Petra Milan"""
)
LAST_NAMES = _words(
    """Lindqvist Dawson Sharma Keller Okafor Patel Ferrari Novak Tanaka Moreau Jensen Rossi Haddad
    Becker Santos Kowalski Nakamura Olsen Dubois Iversen Castillo Weber Murphy Andersen Fontaine
    Bergman Vasquez Petrov Adeyemi Larsen"""
)
TRADES = _words("""Freight Foods Energy Health Insurance Media Motors Paper Steel Optics""")
MEETINGS = _words(
    """renewal kickoff quarterly security-review pricing deep-dive weekly pilot-review escalation
    steering"""
)
WIKI_TOPICS = _words("""security pricing platform onboarding runbooks legal data partners""")

_ONSETS = _words(
    "b c d f g h k l m n p r s t v w z br cl dr fl gr kr pl pr qu sh sk sl sp st th tr"
)
_VOWELS = _words("a e i o u a e i o ai ea ou")
_CODAS = ("", "", "", "n", "r", "s", "l", "t", "m", "nd", "x", "rk")


def invented_words(chance: random.Random, count: int, known: Collection[str]) -> list[str]:
    """Different words of four to twelve letters that no language knows."""
    seen = set(known)
    words: list[str] = []
    while len(words) < count:
        syllables = chance.choice((1, 2, 2, 2, 3))
        word = "".join(chance.choice(_ONSETS) + chance.choice(_VOWELS) for _ in range(syllables))
        word += chance.choice(_CODAS)
        if 3 < len(word) < 13 and word not in seen:
            seen.add(word)
            words.append(word)
    return words
