"""Reference judges: always-yes, random and length."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from touche_rad import plugins
from touche_rad.debate import Debate, Verdict, Verdicts
from touche_rad.plugins import Options, Services
from touche_rad.text import count_words


class AlwaysYes:
    """Says yes on every criterion, or the best of a scale: the official baseline."""

    criteria: ClassVar = ("grice", "scored")

    def __init__(self, options: Options, services: Services) -> None:
        self._criteria = services.criteria

    def judge(self, debate: Debate) -> Verdicts:
        """Give every criterion a score of 1."""
        return dict.fromkeys(self._criteria.keys, Verdict(score=1.0, rationale="always yes"))


class RandomJudge:
    """Draws a random verdict per criterion; the same seed and debate give the same verdicts."""

    class Options(plugins.Options):
        """Options."""

        p: Annotated[float, Field(ge=0, le=1)] = 0.5
        """probability of yes"""

    def __init__(self, options: Options, services: Services) -> None:
        self._criteria = services.criteria
        self._p = options.p
        self._seed = services.seed

    def judge(self, debate: Debate) -> Verdicts:
        """Draw a verdict per criterion from the seed, the text of the debate and the criterion."""
        rows = []
        for turn in debate.turns:
            response = turn.response
            cited = (
                [(argument.id, argument.text) for argument in response.arguments]
                if response
                else []
            )
            rows.append((turn.utterance, response and response.content, cited))
        text = json.dumps(rows)
        verdicts = {}
        for key in self._criteria.keys:
            number = uniform(f"{self._seed}\n{key}\n{text}")
            yes = number < self._p
            side = "below" if yes else "not below"
            rationale = f"drew {number:.3f}, {side} {self._p:g}"
            verdicts[key] = Verdict(score=float(yes), rationale=rationale)
        return verdicts


def uniform(key: str) -> float:
    """Return a number from 0 to 1 that depends only on the key."""
    digest = hashlib.sha256(key.encode()).digest()
    # 53 bits are what a float can hold.
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


class LengthJudge:
    """Scores every criterion by the word count of the response only."""

    class Options(plugins.Options):
        """Options."""

        shortest: Annotated[int, Field(ge=1)] = 15
        """minimum words for yes"""
        longest: Annotated[int, Field(ge=1)] = 60
        """maximum words for yes"""

        @model_validator(mode="after")
        def _in_order(self) -> Self:
            if self.shortest > self.longest:
                raise ValueError(f"shortest={self.shortest} is more than longest={self.longest}")
            return self

    criteria: ClassVar = ("grice", "scored")

    def __init__(self, options: Options, services: Services) -> None:
        self._criteria = services.criteria
        self._shortest = options.shortest
        self._longest = options.longest

    def judge(self, debate: Debate) -> Verdicts:
        """Give every criterion the score of the length."""
        response = debate.last.response if debate.turns else None
        words = count_words(response.content) if response else 0
        if self._criteria.unit == "user":
            words = count_words(debate.last.utterance)
        verdict = Verdict(
            score=length_score(words, self._shortest, self._longest),
            rationale=f"{words} words; {self._shortest} to {self._longest} are a yes",
        )
        return dict.fromkeys(self._criteria.keys, verdict)


def length_score(words: int, shortest: int, longest: int) -> float:
    """Return 0 for no words, 0.5 at `shortest`, 1 in the middle, 0.5 at `longest`, then down to 0.

    Between these points the score is linear.
    """
    middle = (shortest + longest) / 2
    if words < shortest:
        return 0.5 * words / shortest
    if words <= longest:
        half = (longest - shortest) / 2
        return 1.0 if half == 0 else 1.0 - 0.5 * abs(words - middle) / half
    return max(0.0, 0.5 * (1 - (words - longest) / max(1.0, longest - middle)))
