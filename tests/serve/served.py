"""A server of the demo's debater and judge, and what a valid body is."""

from __future__ import annotations

import functools
import math
from typing import Any

from fastapi import FastAPI

from touche_rad.demo import DEMO
from touche_rad.plugins import LoadedDebater, LoadedJudge, Services, find, open_index
from touche_rad.runs.answering import Answerer, make_answerer
from touche_rad.serve import create_app


@functools.cache
def app_of_the_demo() -> FastAPI:
    """The app that `touche-rad serve` runs without any option."""
    services = Services(index=open_index(DEMO))
    answerer = make_answerer(find("debater", "grounded").configure(), services)
    judge = find("judge", "grounded").make(services)
    return create_app(answerer, judge)


def app_of(plugin: Any, **options: Any) -> FastAPI:
    """An app whose debater and judge are one object."""
    answerer = Answerer([LoadedDebater(plugin, "plain")])
    return create_app(answerer, LoadedJudge(plugin), **options)


def assert_valid_answer(body: dict[str, Any]) -> None:
    """What the official client, the evaluators and the task's rules want of an answer."""
    assert isinstance(body["content"], str)
    assert 0 < len(body["content"].split()) <= 60
    assert isinstance(body["arguments"], list)
    for argument in body["arguments"]:
        assert isinstance(argument["id"], str)
        assert isinstance(argument["text"], str)


def assert_valid_score(body: dict[str, Any]) -> None:
    """A number and nothing else, or null for a whole debate."""
    score = body["score"]
    if score is not None:
        assert isinstance(score, float | int)
        assert not isinstance(score, bool)
        assert math.isfinite(score)
        assert 0 <= score <= 1
