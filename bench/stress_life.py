"""How a server ends and what it prints: gone within two seconds, and only JSON-RPC on stdout.

    python bench/stress_life.py [--times 50] [--notes 400] [--first-notes 3000] [--seed 1]

Ends: stdin closed while idle, during calls, before the first message, and during the first build with a
call waiting; the client killed with SIGKILL; /dev/null as stdin; and, as a baseline for the machine,
stdin of the SDK's empty server closed. Bytes: stdin that is not text, lone surrogates, broken and endless
lines; tools that print; a Windows code page. Linux only (`/proc`). Not here: the index after a kill
(`stress_crash`).
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asking import head
from planted import Planted
from raw_client import Server, command, stray_lines, wait_until_gone

MOST_SECONDS = 2.0
GIVE_UP_SECONDS = 20.0
_CLIENT = """\
import subprocess, sys, time
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdin.write(sys.argv[1].encode())
server.stdin.flush()
server.stdout.readline()
print(server.pid, flush=True)
time.sleep(600)
"""
_PRINTING = """\
import os, sys
from workingset_mcp.workspace.facade import Workspace
def printing(tool):
    def call(*arguments, **named):
        print("stray", flush=True)
        sys.stdout.write("stray without end")
        sys.stdout.flush()
        sys.stdout.buffer.write(b"stray bytes")
        sys.__stdout__.write("stray")
        os.write(1, b"stray on the descriptor\\n")
        os.system("echo stray of a child")
        return tool(*arguments, **named)
    return call
for name in ("search", "brief", "open", "items", "full"):
    setattr(Workspace, name, printing(getattr(Workspace, name)))
from workingset_mcp.cli.main import main
main()
"""
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "stress", "version": "1"},
    },
}
ALL_TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_brief", {"branch": "cust/odd"}),
    ("get_brief", {}),
    ("search_notes", {"query": "fire"}),
    ("list_items", {"kind": "remark"}),
    ("list_items", {"kind": "open"}),
    ("open_source_file", {"path": "cust/odd/emoji.md"}),
    ("open_source_file", {"path": "../etc/passwd"}),
    ("query_full_context", {"branch": "cust/odd"}),
    ("query_full_context", {"branch": "no such"}),
)
CODE_PAGE_COMMANDS = (
    ("brief", "cust/odd"),
    ("search", "fire"),
    ("search", "漢字"),
    ("open", "cust/odd/emoji.md"),
    ("items", "--branch", "cust/odd"),
    ("full", "cust/odd"),
    ("status",),
)
ODD_NOTES = {
    "emoji.md": "# 🔥 漢 ✓\n\n- [ ] fire 🔥 漢字 ✓ “quoted” €\n",
    "nul.md": "a\0b fire\n",
    "broken.md": "---\ntitle: [\n---\nfire\n",
}


class Ends:
    """How long servers lived after the event that should end them."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.codes: dict[str, Counter[str]] = {}
        self.wrong = 0

    def note(self, what: str, seconds: float, code: object) -> None:
        """Record an end."""
        self.seconds.setdefault(what, []).append(seconds)
        self.codes.setdefault(what, Counter())[str(code)] += 1
        self.wrong += seconds > MOST_SECONDS

    def show(self, what: str) -> None:
        """Print p50 and the maximum of a kind."""
        ordered = sorted(self.seconds[what])
        late = sum(one > MOST_SECONDS for one in ordered)
        codes = ", ".join(f"{code} × {count}" for code, count in self.codes[what].items())
        print(
            f"{what:<48} {len(ordered):>4} {ordered[len(ordered) // 2]:>7.2f}"
            f" {ordered[-1]:>10.2f} {late:>9}  {codes}",
            flush=True,
        )


# -- ends ------------------------------------------------------------------------------------------


class Bench:
    """One vault with a built index, and the command that serves it."""

    def __init__(self, work: Path, chosen: argparse.Namespace) -> None:
        planted = Planted(work / "vault", seed=chosen.seed, beside=chosen.notes)
        folder = planted.root / "cust" / "odd"
        folder.mkdir(parents=True)
        for name, text in ODD_NOTES.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "bytes.md").write_bytes(b"\xff\xfe\x00fire\xc3\n")
        self.large = Planted(work / "large", seed=chosen.seed, beside=chosen.first_notes).root
        self.work = work
        self.vault = planted.root
        self.chance = planted.chance
        self.index_dir = work / "index"
        subprocess.run(command(self.vault, self.index_dir, "index"), check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip

    def server(self, index_dir: Path | None = None) -> Server:
        """Start a server."""
        return Server(command(self.vault, index_dir or self.index_dir, "serve"))


def empty_server(bench: Bench) -> tuple[float, object]:
    """The SDK's empty server, for comparison."""
    server = Server([sys.executable, str(Path(__file__).with_name("empty_server.py"))])
    server.initialize()
    server.call("answer", {"query": "?"})
    return ended(server)


def at_rest(bench: Bench) -> tuple[float, object]:
    """Close stdin after an answered call."""
    server = bench.server()
    server.initialize()
    server.call("search_notes", {"query": "fire"})
    return ended(server)


def in_calls(bench: Bench) -> tuple[float, object]:
    """Close stdin with twenty calls in flight."""
    server = bench.server()
    server.initialize()
    for tool, arguments in (*ALL_TOOLS, *ALL_TOOLS):
        server.begin("tools/call", {"name": tool, "arguments": arguments})
    time.sleep(bench.chance.uniform(0, 0.1))
    return ended(server)


def before_a_word(bench: Bench) -> tuple[float, object]:
    """Close stdin right after the start; the remaining import time does not count."""
    imports = import_seconds()
    began = time.perf_counter()
    server = bench.server()
    time.sleep(bench.chance.uniform(0, imports))
    closed_after = time.perf_counter() - began
    seconds, code = ended(server)
    return max(0.0, seconds - max(0.0, imports - closed_after)), code


def in_first_build(bench: Bench) -> tuple[float, object]:
    """Close stdin during the first build of a large vault, with a call waiting for it."""
    index_dir = bench.work / "first"
    shutil.rmtree(index_dir, ignore_errors=True)
    server = Server(command(bench.large, index_dir, "serve"))
    server.initialize()
    server.begin("tools/call", {"name": "get_brief", "arguments": {}})
    time.sleep(bench.chance.uniform(0, 0.3))
    return ended(server)


def client_killed(bench: Bench) -> tuple[float, object]:
    """Kill the client of a server with SIGKILL."""
    hello = json.dumps(_HELLO) + "\n"
    client = subprocess.Popen(
        [sys.executable, "-c", _CLIENT, hello, *command(bench.vault, bench.index_dir, "serve")],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert client.stdout is not None
    server = int(client.stdout.readline())
    time.sleep(bench.chance.uniform(0, 0.2))
    client.kill()
    client.wait()
    with contextlib.closing(client.stdout):
        return wait_until_gone(server, GIVE_UP_SECONDS), "not ours"


def null_device(bench: Bench) -> tuple[float, object]:
    """Start with /dev/null as stdin; import time does not count."""
    imports = import_seconds()
    began = time.perf_counter()
    server = Server(command(bench.vault, bench.index_dir, "serve"), stdin=subprocess.DEVNULL)
    code = server.process.wait(GIVE_UP_SECONDS)
    took = time.perf_counter() - began
    server.kill()
    return max(0.0, took - imports), code


def import_seconds() -> float:
    """The time this machine now takes to start an interpreter and import the server."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import workingset_mcp.server.server"], check=True)
    return time.perf_counter() - began


def ended(server: Server) -> tuple[float, object]:
    """Close stdin; return the seconds until it is gone and its exit code."""
    try:
        seconds = server.close_stdin()
        code: object = server.process.returncode
    except subprocess.TimeoutExpired:
        seconds, code = GIVE_UP_SECONDS, "still there"
    except BrokenPipeError:
        seconds, code = 0.0, server.process.wait()
    server.kill()
    if stray := stray_lines(server.lines):
        code = f"{code}, stray {stray[:1]}"
    if b"Traceback" in b"".join(server.errors):
        code = f"{code}, traceback {server.errors[-1].decode().strip()[:80]}"
    return seconds, code


ENDS: dict[str, Callable[[Bench], tuple[float, object]]] = {
    "stdin closed, the SDK's empty server": empty_server,
    "stdin closed, at rest": at_rest,
    "stdin closed, calls on their way": in_calls,
    "stdin closed while it starts (less the imports)": before_a_word,
    "stdin closed during the first build": in_first_build,
    "client killed with SIGKILL": client_killed,
    "/dev/null as stdin (less the imports)": null_device,
}


# -- bytes -----------------------------------------------------------------------------------------


def tool_call(number: int, arguments: str) -> bytes:
    """A search with arguments as raw JSON text."""
    call = f'{{"name":"search_notes","arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{call}}}\n'.encode()


BAD_BYTES: dict[str, bytes] = {
    "no UTF-8": b"\xff\xfe\n",
    "no UTF-8 inside a string": tool_call(901, '{"query":"a"}').replace(b'"a"', b'"\xff\xc3("'),
    "a NUL": b"\0\n",
    "an empty line": b"\n",
    "a broken line": b'{"jsonrpc":"2.0","id":902,"method":\n',
    "no object": b"[1,2,3]\n17\nnull\n",
    "a thousand brackets": b"[" * 1_000 + b"\n",
    "a hundred thousand brackets": b"[" * 100_000 + b"\n",
    "a lone surrogate": tool_call(903, r'{"query":"\ud800"}'),
    "a lone surrogate and a word": tool_call(904, r'{"query":"fire \udfff"}'),
    "a lone surrogate as branch": tool_call(905, r'{"query":"fire","branch":"\ud800"}'),
    "a lone surrogate in also": tool_call(906, r'{"query":"fire","also":["\ud800"]}'),
    "a lone surrogate as name of an argument": tool_call(907, r'{"query":"fire","\ud800":1}'),
    "a NUL in a query": tool_call(908, r'{"query":"a\u0000b"}'),
    "a megabyte": tool_call(909, json.dumps({"query": "fire " * 200_000})),
    "a huge number": tool_call(910, '{"query":"fire","budget":1' + "0" * 5_000 + "}"),
    "not a number": tool_call(911, '{"query":"fire","budget":NaN}'),
    "wrong types": tool_call(912, '{"query":["fire"],"also":"x","budget":"many"}'),
    "unknown tool": tool_call(913, '{"query":"a"}').replace(b"search_notes", b"no_such"),
    "unknown method": b'{"jsonrpc":"2.0","id":914,"method":"no/such"}\n',
    "an answer nobody asked for": b'{"jsonrpc":"2.0","id":77,"result":{}}\n',
    "two messages a line": tool_call(915, '{"query":"fire"}')[:-1] * 2 + b"\n",
    "a Windows line end": tool_call(916, '{"query":"fire"}')[:-1] + b"\r\n",
}


def bad_bytes(bench: Bench) -> list[str]:
    """Send each bad line, then a good call: it is answered and nothing else is printed."""
    wrong = []
    server = bench.server()
    server.initialize()
    for name, raw in BAD_BYTES.items():
        try:
            server.send_bytes(raw)
            answer = server.call("search_notes", {"query": "fire"}, seconds=20)
            if answer.is_error or "fire" not in answer.text.partition("\n")[2]:
                wrong.append(f"after {name}: {head(answer.text)}")
        except (EOFError, TimeoutError) as error:
            wrong.append(f"after {name}: {error}; {b''.join(server.errors[-2:])!r}")
            server.kill()
            server = bench.server()
            server.initialize()
    wrong += [f"stray on stdout: {line[:80]!r}" for line in stray_lines(server.lines)]
    for number in range(901, 917):
        told = next((line for line in server.lines if b'"id":%d' % number in line), None)
        if told is not None and b"Error executing tool" in told:
            wrong.append(f"call {number} is masked: {told[:200]!r}")
    server.kill()
    return wrong


def printing(bench: Bench) -> list[str]:
    """Tools that print in every way: nothing of it reaches stdout, and every call is answered."""
    words = command(bench.vault, bench.index_dir, "serve")[3:]
    return all_tools(Server([sys.executable, "-c", _PRINTING, *words]))


def code_page(bench: Bench) -> list[str]:
    """Run the server and the commands with a Windows code page and no UTF-8 mode."""
    odd = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    wrong = all_tools(Server(command(bench.vault, bench.index_dir, "serve"), environment=odd))
    for words in CODE_PAGE_COMMANDS:
        done = subprocess.run(
            command(bench.vault, bench.index_dir, *words), env={**os.environ, **odd},
            capture_output=True, check=False,
        )  # fmt: skip
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode or ("🔥" not in text and words != ("status",)):
            wrong.append(f"{words}: exit {done.returncode}, {text[:80]!r} {done.stderr[-200:]!r}")
    return wrong


def all_tools(server: Server) -> list[str]:
    """Call every tool; return the faults of the answers and the bytes."""
    wrong, said = [], ""
    try:
        server.initialize()
        for tool, arguments in ALL_TOOLS:
            answer = server.call(tool, arguments)
            said += answer.text
            if answer.is_error != (".." in str(arguments) or "no such" in str(arguments)):
                wrong.append(f"{tool} {arguments}: {head(answer.text)}")
            if "Error executing tool" in answer.text:
                wrong.append(f"{tool} {arguments} is masked")
    except (EOFError, TimeoutError) as error:
        wrong.append(f"{error}; {b''.join(server.errors[-2:])!r}")
    server.kill()
    if "🔥 漢字 ✓" not in said:
        wrong.append("🔥 漢字 ✓ did not come through")
    return wrong + [f"stray on stdout: {line[:80]!r}" for line in stray_lines(server.lines)]


BYTES: dict[str, Callable[[Bench], list[str]]] = {
    f"{len(BAD_BYTES)} bad lines on stdin": bad_bytes,
    "print, write, bytes, descriptor and child in tools": printing,
    "PYTHONIOENCODING=cp1252, no UTF-8 mode": code_page,
}


def main() -> None:
    """Stress a server's life; exit with 1 on any fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--notes", type=int, default=400)
    parser.add_argument("--first-notes", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    ends, wrong_bytes = Ends(), 0
    with tempfile.TemporaryDirectory(prefix="stress-") as folder:
        bench = Bench(Path(folder), chosen)
        for name, look in BYTES.items():
            wrong = look(bench)
            wrong_bytes += len(wrong)
            print(f"{name:<52} {len(wrong)} wrong", *wrong, sep="\n   ", flush=True)
        print(
            f"{'ended by':<48} {'n':>4} {'p50 s':>7} {'longest s':>10} {'over 2 s':>9}  exit codes"
        )
        for name, end in ENDS.items():
            for _ in range(chosen.times):
                ends.note(name, *end(bench))
            ends.show(name)
    print(f"\n{wrong_bytes + ends.wrong:,} faults")
    raise SystemExit(1 if wrong_bytes + ends.wrong else 0)


if __name__ == "__main__":
    main()
