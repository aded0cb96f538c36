"""Work on chunks in threads."""

from __future__ import annotations

import time

import pytest

from softcosine import _threads as threads


def test_after_an_error_chunks_that_wait_are_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTCOSINE_THREADS", "2")
    begun = []

    def work(start: int, stop: int) -> None:
        begun.append(start)
        if start == 0:
            raise KeyboardInterrupt
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        threads.for_each_chunk(work, 500, chunk=1)
    assert len(begun) < 100


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_row_is_in_one_chunk(monkeypatch: pytest.MonkeyPatch, n_threads: int) -> None:
    monkeypatch.setenv("SOFTCOSINE_THREADS", str(n_threads))
    rows: list[int] = []
    threads.for_each_chunk(lambda start, stop: rows.extend(range(start, stop)), 23, chunk=5)
    assert sorted(rows) == list(range(23))
