"""Reference judges: always-yes, random and length."""

from __future__ import annotations

import json
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from touche_rad import plugins
from touche_rad.debate import Debate, Verdict, Verdicts
from touche_rad.frozen import frozen
from touche_rad.plugins import Options, Services
from touche_rad.text import count_words, digest_of_text


@frozen
class AlwaysYes:
    """Says yes on every criterion, or the best of a scale: the official baseline."""

    criteria: ClassVar = ("grice", "scored")
    options: Options
    services: Services

    def judge(self, debate: Debate) -> Verdicts:
        """Give every criterion a score of 1."""
        return dict.fromkeys(
            self.services.criteria.keys, Verdict(score=1.0, rationale="always yes")
        )


@frozen
class RandomJudge:
    """Draws a random verdict per criterion; the same seed and debate give the same verdicts."""

    class Options(plugins.Options):
        """Options."""

        p: Annotated[float, Field(ge=0, le=1)] = 0.5
        """probability of yes"""

    options: Options
    services: Services

    def judge(self, debate: Debate) -> Verdicts:
        """Draw a verdict per criterion from the seed, the text of the debate and the criterion."""
        rows = []
        for turn in debate.turns:
            response = turn.response
            cited = response.arguments if response else ()
            texts = [(argument.id, argument.text) for argument in cited]
            rows.append((turn.utterance, response and response.content, texts))
        text = json.dumps(rows)
        verdicts = {}
        p = self.options.p
        for key in self.services.criteria.keys:
            number = uniform(f"{self.services.seed}\n{key}\n{text}")
            side = "below" if number < p else "not below"
            verdicts[key] = Verdict(
                score=float(number < p), rationale=f"drew {number:.3f}, {side} {p:g}"
            )
        return verdicts


def uniform(key: str) -> float:
    """Return a number from 0 to 1 that depends only on the key."""
    # 53 bits are what a float can hold.
    return (int(digest_of_text(key, 16), 16) >> 11) / 2**53


@frozen
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
    options: Options
    services: Services

    def judge(self, debate: Debate) -> Verdicts:
        """Give every criterion the score of the length."""
        options = self.options
        criteria = self.services.criteria
        words = 0
        if debate.turns:
            words = count_words(
                debate.last.utterance if criteria.unit == "user" else debate.last.answer
            )
        verdict = Verdict(
            score=length_score(words, options.shortest, options.longest),
            rationale=f"{words} words; {options.shortest} to {options.longest} are a yes",
        )
        return dict.fromkeys(criteria.keys, verdict)


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
