"""Reference judges: always-yes, random and length."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Self

from pydantic import Field, model_validator

from touche_rad import plugins
from touche_rad.debate import Debate, Maxim, Verdict
from touche_rad.plugins import Options, Services
from touche_rad.text import count_words


class AlwaysYes:
    """Says yes on every maxim: the official baseline, which no submitted judge beat."""

    def __init__(self, options: Options, services: Services) -> None:
        """Take nothing from either."""

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Give every maxim a score of 1."""
        return {maxim: Verdict(score=1.0, rationale="always yes") for maxim in Maxim}


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


class LengthJudge:
    """Scores every maxim by the response's word count alone: neither too short nor too long."""

    class Options(plugins.Options):
        """Which lengths are a yes."""

        shortest: Annotated[int, Field(ge=1)] = 15
        """The fewest words that are a yes."""
        longest: Annotated[int, Field(ge=1)] = 60
        """The most words that are a yes."""

        @model_validator(mode="after")
        def _in_order(self) -> Self:
            if self.shortest > self.longest:
                raise ValueError(f"shortest={self.shortest} is more than longest={self.longest}")
            return self

    def __init__(self, options: Options, services: Services) -> None:
        self._shortest = options.shortest
        self._longest = options.longest

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Give all maxims the one score that the length has."""
        response = debate.last.response if debate.turns else None
        words = count_words(response.content) if response else 0
        verdict = Verdict(
            score=length_score(words, self._shortest, self._longest),
            rationale=f"{words} words; {self._shortest} to {self._longest} are a yes",
        )
        return dict.fromkeys(Maxim, verdict)


def length_score(words: int, shortest: int, longest: int) -> float:
    """Rise evenly to 0.5 at `shortest` and to 1 in the middle; fall likewise after it.

    No words are worth 0, and so are as many beyond `longest` as the middle lies before it.
    """
    middle = (shortest + longest) / 2
    if words < shortest:
        return 0.5 * words / shortest
    if words <= longest:
        half = (longest - shortest) / 2
        return 1.0 if half == 0 else 1.0 - 0.5 * abs(words - middle) / half
    return max(0.0, 0.5 * (1 - (words - longest) / max(1.0, longest - middle)))
