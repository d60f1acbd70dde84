"""The same request asked twice at once: one is carried out, the other waits, and may go away."""

from __future__ import annotations

import asyncio

import pytest

from evenhand.serve.pools.asked_changes import AnswersOnce, AskedChange


class Kept:
    """A store that keeps one answer, if any."""

    answer = None

    def kept_answer(self, pool, actor, key):
        return self.answer


DONE = {"number": 4}
ASKED = AskedChange("me", "key", b"content")


def run(work):
    """What happens while the first of two that ask the same is being carried out."""

    async def all_of_it():
        store, go_on, carried_out = Kept(), asyncio.Event(), []
        once = AnswersOnce(store)

        async def carry_out():
            carried_out.append(len(carried_out))
            await go_on.wait()
            store.answer = ASKED.kept("p", DONE)
            return DONE

        def ask():
            return asyncio.create_task(once.answer("p", ASKED, carry_out))

        first, second = ask(), ask()
        while not carried_out:
            await asyncio.sleep(0)
        await work(first, second, go_on)
        return carried_out

    return asyncio.run(all_of_it())


def test_whoever_waits_gets_the_same_answer():
    async def work(first, second, go_on):
        go_on.set()
        assert await asyncio.gather(first, second) == [DONE, DONE]

    assert run(work) == [0]


def test_whoever_waits_and_is_cancelled_is_gone_and_nothing_of_it_happens_later():
    async def work(first, second, go_on):
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait({second}, timeout=1)
        assert second.cancelled()
        go_on.set()
        assert await first == DONE

    assert run(work) == [0]


def test_if_the_first_is_cancelled_whoever_waits_carries_it_out():
    async def work(first, second, go_on):
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        go_on.set()
        assert await second == DONE

    assert run(work) == [0, 1]
