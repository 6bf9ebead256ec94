"""Small debates for tests, and what judges and panels make of debates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from judges.grice.grounded import GroundedJudge
from tests.models.scripted import Scripted
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn, Verdict
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import ArgumentIndex, Services

ZOO = "Zoos do not only lock animals up. Breeding in zoos has saved some species from dying out."
USER = "Zoos should be closed, because animals suffer in cages and nobody learns a thing there."


def judge() -> GroundedJudge:
    return GroundedJudge(GroundedJudge.Options(), Services())


def debate(answer: str, *texts: str, user: str = USER, before: tuple[Turn, ...] = ()) -> Debate:
    cited = tuple(Argument(id=str(at), text=text) for at, text in enumerate(texts))
    response = Response(content=answer, arguments=cited)
    return Debate(turns=(*before, Turn(utterance=user, response=response)))


def turn(user: str, system: str) -> Turn:
    return Turn(utterance=user, response=Response(content=system))


def verdict(maxim: Maxim, answer: str, *texts: str, user: str = USER) -> Verdict:
    return judge().judge(debate(answer, *texts, user=user))[maxim]


def quality(answer: str, *texts: str) -> Verdict:
    return verdict(Maxim.QUALITY, answer, *(texts or (ZOO,)))


def run_judge(
    make: Callable[[Services], Any],
    server: Scripted,
    *views: Any,
    index: ArgumentIndex | None = None,
    deadline: float = 5,
) -> list[Any]:
    """Judge some debates, one after the other, by a judge or a panel with a scripted model."""

    async def work() -> list[Any]:
        model = Model(Address(server.url, "tiny"), deadline=deadline)
        try:
            judge = make(Services(index=index, model=model))
            return [await judge.judge(view) for view in views]
        finally:
            await model.close()

    return anyio.run(work)
