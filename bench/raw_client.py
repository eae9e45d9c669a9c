"""A server process and its raw bytes: JSON-RPC over pipes without an SDK, so nothing is hidden.

`Server` starts one, calls its tools, keeps every byte of its stdout, and can stop it in several ways.
Not here: the questions (`stress_servers`, `stress_crash`, `stress_life`), timing (`driver`).
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ANSWER_SECONDS = 60.0
_PROTOCOL = "2025-06-18"


class Answer(NamedTuple):
    """An answer and how long it took."""

    text: str
    is_error: bool
    seconds: float


class Server:
    """A running server. Raises TimeoutError if it does not answer, EOFError if it is gone."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None,
        stdin: int = subprocess.PIPE,
    ) -> None:  # fmt: skip
        self.process = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip
        self.lines: list[bytes] = []  # all of stdout
        self.errors: list[bytes] = []  # all of stderr
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._number = 0
        self._readers = [
            threading.Thread(target=read, daemon=True) for read in (self._read, self._read_errors)
        ]
        for reader in self._readers:
            reader.start()

    def initialize(self) -> dict[str, Any]:
        """Do the handshake."""
        asked = {
            "protocolVersion": _PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "stress", "version": "1"},
        }
        answer = self.request("initialize", asked)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(
        self, tool: str, arguments: Mapping[str, Any], seconds: float = ANSWER_SECONDS
    ) -> Answer:
        """Call a tool and wait for its answer."""
        started = time.perf_counter()
        answer = self.request("tools/call", {"name": tool, "arguments": dict(arguments)}, seconds)
        took = time.perf_counter() - started
        text, is_error = self.text_of(answer)
        return Answer(text, is_error, took)

    @staticmethod
    def text_of(answer: Mapping[str, Any]) -> tuple[str, bool]:
        """The text of an answer to a tool call, and whether it is an error."""
        if "error" in answer:
            return str(answer["error"].get("message")), True
        result = answer["result"]
        text = "".join(block.get("text", "") for block in result["content"])
        return text, bool(result.get("isError"))

    def request(
        self, method: str, parameters: Mapping[str, Any], seconds: float = ANSWER_SECONDS
    ) -> dict[str, Any]:
        """Send a request and wait for its response."""
        number = self.begin(method, parameters)
        return self.answers([number], seconds)[number]

    def answers(
        self, numbers: Iterable[int], seconds: float = ANSWER_SECONDS
    ) -> dict[int, dict[str, Any]]:
        """Wait for the responses with these ids."""
        waiting, found = set(numbers), {}
        deadline = time.monotonic() + seconds
        while waiting:
            try:
                answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"no answer in {seconds} s") from None
            if answer is None:
                self._answers.put(None)
                raise EOFError("the server closed its stdout")
            if answer.get("id") in waiting:
                waiting.remove(answer["id"])
                found[answer["id"]] = answer
        return found

    def begin(self, method: str, parameters: Mapping[str, Any]) -> int:
        """Send a request without waiting; return its id."""
        self._number += 1
        self.send(
            {"jsonrpc": "2.0", "id": self._number, "method": method, "params": dict(parameters)}
        )
        return self._number

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message."""
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def send_bytes(self, raw: bytes) -> None:
        """Send raw bytes. Raises EOFError if nobody reads them."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(raw)
            self.process.stdin.flush()
        except BrokenPipeError:
            raise EOFError("the server closed its stdin") from None

    def close_stdin(self) -> float:
        """Close its stdin; return the seconds until it is gone. Raises TimeoutExpired after 20 s."""
        assert self.process.stdin is not None
        started = time.perf_counter()
        self.process.stdin.close()
        self.process.wait(20)
        return time.perf_counter() - started

    def kill(self) -> None:
        """Kill it with SIGKILL and collect its output."""
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(5)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            try:
                message = json.loads(line)
            except ValueError:
                continue  # `stray_lines` reports them
            if isinstance(message, dict):
                self._answers.put(message)
        self._answers.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)


def command(vault: Path, index_dir: Path, *words: str) -> list[str]:
    """The arguments of one of our commands for a vault and an index folder."""
    places = ["--vault", str(vault), "--index-dir", str(index_dir)]
    return [sys.executable, "-m", "workingset_mcp", *words, *places]


def stray_lines(lines: Sequence[bytes]) -> list[bytes]:
    """The lines of stdout that are not JSON-RPC messages."""
    stray = []
    for line in lines:
        try:
            message = json.loads(line.decode("utf-8"))
            right = line.endswith(b"\n") and message.get("jsonrpc") == "2.0"
        except (ValueError, AttributeError):
            right = False
        if not right:
            stray.append(line)
    return stray


def processor_seconds(process_id: int) -> float:
    """CPU time a running process has used (Linux)."""
    fields = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_gone(process_id: int, seconds: float = 20.0) -> float:
    """Wait until a process that is not our child is gone; return the seconds. Raises TimeoutError."""
    started = time.perf_counter()
    while time.perf_counter() < started + seconds:
        if not _is_running(process_id):
            return time.perf_counter() - started
        time.sleep(0.005)
    raise TimeoutError(f"process {process_id} is still there after {seconds} s")


def _is_running(process_id: int) -> bool:
    try:
        stat = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
