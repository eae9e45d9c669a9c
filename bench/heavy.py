"""A branch of two million tokens over stdio: plan, cancelled page, memory while paging (Linux).

    python bench/heavy.py [--notes 600] [--pages 0]

Starts a server on the same vault in each protocol era. Prints the time to the first answer (the plan),
the cost of a page, the work that continues after a cancellation, whether the next call answers at once,
and memory after the plan and while paging to the end (`--pages`: fewer). Not here: small branches
(`pages`).
"""

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import anyio
from driver import ERAS, call, connected
from mcp.client import Client
from pages import blocks_of, next_call
from raw_client import command, processor_seconds

TOOL = "query_full_context"
LINES = 250  # about 3,400 tokens
NOUNS = ("gondola", "kiln", "crane", "harbour", "crate", "contract", "valve", "bridge", "drawing")
EVERY_SECTION = {"branch": "acme", "query": "nobody", "budget": 20_000}
CANCELLED_AFTER = 0.3  # share of the time a page takes
QUIET_SECONDS = 1.0


def write_notes(root: Path, notes: int) -> dict[str, str]:
    """A branch of daily reports; path -> text."""
    texts = {}
    (root / "cust/acme").mkdir(parents=True)
    for number in range(notes):
        lines = [f"# Report {number}\n\n"]
        for at in range(number * LINES, (number + 1) * LINES):
            one, two = NOUNS[at * 5 % len(NOUNS)], NOUNS[(at * 7 + at // 9) % len(NOUNS)]
            lines.append(f"The {one} was checked against the {two}, and nobody told {at % 97}.\n")
        path = f"cust/acme/{date(2010, 1, 1) + timedelta(days=number)}-report.md"
        texts[path] = "".join(lines)
        (root / path).write_text(texts[path], encoding="utf-8")
    return texts


def child() -> int:
    """The server started last."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return int(children[-1])


def memory(process_id: int) -> str:
    """Peak resident memory (with mapped files), and private memory now, in MB."""
    status = Path(f"/proc/{process_id}/status").read_text(encoding="ascii")
    most, own = (int(status.partition(f"{name}:")[2].split()[0]) for name in ("VmHWM", "RssAnon"))
    return f"{most / 1024:.0f} ({own / 1024:.0f})"


async def quiet(process_id: int) -> float:
    """CPU seconds a process spends until it is idle."""
    begun = before = processor_seconds(process_id)
    while True:
        await anyio.sleep(QUIET_SECONDS)
        now = processor_seconds(process_id)
        if now - before < 0.03:
            return before - begun
        before = now


async def cancelled(client: Client, process_id: int) -> str:
    """Cancel a running page and measure how much work continues."""
    await call(client, TOOL, EVERY_SECTION)
    before, began = processor_seconds(process_id), time.perf_counter()
    await call(client, TOOL, EVERY_SECTION)
    whole, took = processor_seconds(process_id) - before, time.perf_counter() - began
    spent: list[float] = []
    for _ in range(2):
        with anyio.move_on_after(took * CANCELLED_AFTER) as scope:
            await call(client, TOOL, EVERY_SECTION)
        if not spent:
            spent.append(await quiet(process_id))
    began = time.perf_counter()
    following = await call(client, "list_items", {"kind": "note", "branch": "acme"})
    answered = time.perf_counter() - began
    return (
        f"a page of every section: {took:.2f} s, {whole:.2f} s of processor; cancelled"
        f" ({scope.cancelled_caught}) after {took * CANCELLED_AFTER:.2f} s: {spent[0]:.2f} s more of"
        f" processor; next call at once: {answered:.2f} s, {following.text.partition(' · index')[0]}"
    )


async def measure(vault: Path, index: Path, era: str, texts: dict[str, str], most: int) -> None:
    """Print the numbers of one era."""
    async with connected(command(vault, index, "serve"), era) as client:
        plan = await call(client, TOOL, {"branch": "acme"})
        print(
            f"{era} ({client.protocol_version}): plan in {plan.milliseconds:.0f} ms, no index yet"
        )
        await quiet(child())  # built and counted
    async with connected(command(vault, index, "serve"), era) as client:
        server = child()
        plan = await call(client, TOOL, {"branch": "acme"})
        print(f"  first call of a new server: plan in {plan.milliseconds:.0f} ms")
        print(f"  {plan.text.partition(chr(10))[0]}")
        await quiet(server)
        began = memory(server)
        print(f"  {await cancelled(client, server)}")
        behind_plan = memory(server)
        asked, pages, shown = {"branch": "acme", "since": "2010", "budget": 20_000}, 0, []
        slowest, marks = 0.0, []
        while asked and (not most or pages < most):
            page = await call(client, TOOL, asked)
            pages, slowest = pages + 1, max(slowest, page.milliseconds)
            shown += [text for _, text in blocks_of(page.text)]
            asked = {**following, "budget": 20_000} if (following := next_call(page.text)) else {}
            if pages in (1, 10, 50) or not asked:
                marks.append(f"{memory(server)} behind {pages}")
        whole = "".join(texts.values()).startswith("".join(shown))
        print(
            f"  {pages} pages, slowest {slowest:.0f} ms; joined text equals the notes so far: {whole}"
        )
        print(
            f"  VmHWM (RssAnon) in MB: {began} behind the plan, {behind_plan} behind a query,"
            f" {', '.join(marks)} pages"
        )


def main(words: Sequence[str] | None = None) -> None:
    """Measure both eras."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--notes", type=int, default=600)
    parser.add_argument("--pages", type=int, default=0, help="0: to the end")
    chosen = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        texts = write_notes(vault, chosen.notes)
        for era in ERAS:
            anyio.run(measure, vault, Path(folder) / f"index-{era}", era, texts, chosen.pages)


if __name__ == "__main__":
    main()
