"""The reference judge that only counts words."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from touche_rad import plugins
from touche_rad.debate import Debate, Maxim, Verdict
from touche_rad.plugins import Services
from touche_rad.text import count_words


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
