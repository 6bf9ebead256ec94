"""A client as careless as the official one plays many debates, and evaluates them, at once.

It starts all debates in the same moment, tries nothing twice, reads no status, and loses a debate,
or a whole evaluation, to one bad body. Behind the server a language model fails in every twentieth
call.
"""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from tests.records import write_records
from tests.serve.careless import (
    TURNS,
    Serve,
    failing_model,
    more_open_files,
    play_and_evaluate,
)
from tests.terminal import touche_rad

DEBATES = 100


@pytest.mark.long
def test_debates_all_at_once_lose_nothing(serve: Serve) -> None:
    more_open_files()
    with failing_model() as model:
        _, url = serve("-j", "zsl", "-m", f"{model.url}#tiny", "--deadline", "280")
        rows, judged = asyncio.run(play_and_evaluate(url, DEBATES))
    assert {} not in rows
    assert len(judged) == DEBATES
    simulations = write_records("simulations.jsonl", *rows)
    evaluations = write_records("evaluations.jsonl", *judged)
    ended = touche_rad("check", simulations, evaluations)
    assert ended.out.count("\n") == 3, "not even a warning"
    calls = len(model.asked)
    assert calls >= DEBATES * TURNS * 2, "each turn was answered and judged with the model"


@pytest.mark.long
def test_the_page_says_that_the_model_cannot_be_reached(serve: Serve) -> None:
    _, url = serve("-m", "http://127.0.0.1:9/v1#tiny")
    page = httpx2.get(url, headers={"accept": "text/html"}, follow_redirects=True).text
    assert "when the server started: " in page
