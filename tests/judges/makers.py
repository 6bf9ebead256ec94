"""Small debates and a judge for tests."""

from __future__ import annotations

from judges.grice.grounded import GroundedJudge
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn, Verdict
from touche_rad.plugins import Services

ZOO = "Zoos do not only lock animals up. Breeding in zoos has saved some species from dying out."
USER = "Zoos should be closed, because animals suffer in cages and nobody learns a thing there."


def judge(arguments: str = "first-two") -> GroundedJudge:
    return GroundedJudge(GroundedJudge.Options.model_validate({"arguments": arguments}), Services())


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
