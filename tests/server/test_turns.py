"""How many calls run at once: few, so that each is quick; slow ones let the others pass."""

import threading
from collections.abc import Callable

import anyio
import pytest

from workingset_mcp.server.tools import _declare
from workingset_mcp.server.tools._declare import MOST_AT_ONCE, _in_turn

CALLS = 12


def run_together(answers: list[Callable[[], str]]) -> None:
    async def run() -> None:
        async with anyio.create_task_group() as group:
            for answer in answers:
                group.start_soon(_in_turn, answer)

    anyio.run(run)


def test_few_calls_run_at_once_and_all_of_them_run() -> None:
    lock, running, most, ended = threading.Lock(), 0, 0, 0

    def answer() -> str:
        nonlocal running, most, ended
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
            ended += 1
        return ""

    run_together([answer] * CALLS)
    assert (most, ended) == (MOST_AT_ONCE, CALLS)


def test_slow_calls_let_the_others_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_declare, "SLOW_SECONDS", 0.05)
    others = threading.Event()
    quick = threading.Semaphore(0)

    def slow() -> str:
        assert others.wait(30)
        return ""

    def other() -> str:
        quick.release()
        return ""

    def last() -> str:
        for _ in range(CALLS):
            assert quick.acquire(timeout=30)
        others.set()
        return ""

    run_together([slow] * (2 * MOST_AT_ONCE) + [other] * CALLS + [last])


def test_a_call_that_fails_or_is_cancelled_gives_its_turn_back() -> None:
    def failing() -> str:
        raise ValueError("no answer")

    async def run() -> None:
        for _ in range(2 * MOST_AT_ONCE):
            with pytest.raises(ValueError, match="no answer"):
                await _in_turn(failing)
            with anyio.CancelScope() as scope:
                scope.cancel()
                await _in_turn(str)
        with anyio.fail_after(30):
            assert await _in_turn(lambda: "answer") == "answer"

    anyio.run(run)
