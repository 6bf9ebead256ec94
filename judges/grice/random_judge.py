"""The reference judge that throws a coin, always the same one for the same turn."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

from pydantic import Field

from touche_rad import plugins
from touche_rad.debate import Debate, Maxim, Verdict
from touche_rad.plugins import Services


class RandomJudge:
    """Throws a coin for every maxim; the same seed and debate always give the same verdicts."""

    class Options(plugins.Options):
        """How the coin is weighted."""

        p: Annotated[float, Field(ge=0, le=1)] = 0.5
        """The probability of yes."""

    def __init__(self, options: Options, services: Services) -> None:
        self._p = options.p
        self._seed = services.seed

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Draw a verdict on each maxim from the seed, the debate's words and the maxim."""
        words = _words_of(debate)
        return {maxim: self._throw(words, maxim) for maxim in Maxim}

    def _throw(self, words: str, maxim: Maxim) -> Verdict:
        drawn = uniform(f"{self._seed}\n{maxim}\n{words}")
        yes = drawn < self._p
        side = "below" if yes else "not below"
        return Verdict(score=float(yes), rationale=f"drew {drawn:.3f}, {side} {self._p:g}")


def uniform(key: str) -> float:
    """A number in 0..1 that depends on nothing but the key, on any machine and in any process."""
    digest = hashlib.sha256(key.encode("utf-8")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def _words_of(debate: Debate) -> str:
    """What was said and cited, turn by turn, as plain ASCII whatever it holds."""
    said = [
        (
            turn.utterance,
            turn.response and turn.response.content,
            [(argument.id, argument.text) for argument in turn.response.arguments]
            if turn.response
            else [],
        )
        for turn in debate.turns
    ]
    return json.dumps(said)
