"""Asking a model for the schemes of texts, and how well they are used.

The paper asks twice for each text: which schemes, then how well. `lean` asks both at once, for
several texts together. Either way each text gets an annotation or the reason why it has none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, Literal

from touche_rad.models import Model, ModelError, Prompt
from touche_rad.models.faults import Cut, Empty, Invalid, Overflow, Refusal
from touche_rad.schemes.answers import Named, Together, marks_of, reasons_of, scoring, together
from touche_rad.schemes.definitions import Exemplars, dimensions, exemplars, schemes
from touche_rad.schemes.vocabulary import REASON_WORDS, Annotation, Mark, Scheme
from touche_rad.text import clean

Profile = Literal["lean", "paper"]
LONGEST: Final = 4_000
"""Letters of a text that are shown."""
MOST: Final = 3
"""Schemes of an argument that the lean profile asks for."""
_LETTERS: Final = 4
"""Letters of a token, about."""
_ANSWER: Final = {"lean": 90, "paper": 150}
"""Tokens of an answer for one text, about."""

OF_THE_TEXT: Final = (Invalid, Refusal, Cut, Empty, Overflow)
"""What may be wrong with one text's answer alone; anything else would go wrong with the next."""


@dataclass(frozen=True)
class Cost:
    """What annotating will take, about; the calls are exact but for repairs."""

    texts: int
    calls: int
    prompt_tokens: int
    shared_tokens: int
    """How many of the prompt's tokens are the same in every call."""
    answer_tokens: int

    @property
    def told(self) -> str:
        """The cost in a line."""
        return (
            f"{self.texts} arguments: {self.calls} calls, about {self.prompt_tokens:,} tokens of "
            f"prompts ({self.shared_tokens:,} of them a shared beginning) and "
            f"{self.answer_tokens:,} of answers"
        )


class Annotator:
    """Annotates texts by one model."""

    def __init__(
        self,
        model: Model,
        *,
        profile: Profile = "lean",
        per_call: int = 4,
        shown: Exemplars = "levels",
    ) -> None:
        """Remember how to ask.

        Args:
            model: Who is asked.
            profile: `paper` asks twice for each text, `lean` once for several.
            per_call: How many texts a lean call is about.
            shown: Which exemplars of scoring are shown.
        """
        self.model = model
        self.profile: Profile = profile
        self.per_call = per_call if profile == "lean" else 1
        self._shown: Exemplars = shown
        self._schemes = Prompt.load(__package__, "annotation")
        self._scores = Prompt.load(__package__, "scoring")
        self._both = Prompt.load(__package__, "together")

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that decides an annotation."""
        names = ("annotation.jinja", "scoring.jinja", "together.jinja", "schemes.toml",
                 "dimensions.toml", "exemplars.toml")  # fmt: skip
        told = "".join(files(__package__).joinpath(name).read_text("utf-8") for name in names)
        return {
            "model": self.model.identity, "profile": self.profile, "per_call": self.per_call,
            "exemplars": self._shown, "prompts": hashlib.sha256(told.encode()).hexdigest()[:16],
        }  # fmt: skip

    def cost(self, texts: int, letters: int) -> Cost:
        """Return what annotating so many texts of so many letters in all takes."""
        lean = self.profile == "lean"
        calls = -(-texts // self.per_call) if lean else 2 * texts
        whole = self._together([""]) if lean else (*self._asked(""), *self._scored("", {}))
        shared = sum(len(part.content) for part in whole if part.role == "system")
        shared *= calls if lean else texts
        given = letters if lean else 2 * letters
        return Cost(
            texts=texts, calls=calls, prompt_tokens=(shared + given) // _LETTERS,
            shared_tokens=shared // _LETTERS, answer_tokens=_ANSWER[self.profile] * texts,
        )  # fmt: skip

    async def annotate(
        self, texts: Sequence[str], *, again: bool = False
    ) -> list[Annotation | ModelError]:
        """Annotate the texts of one call.

        Args:
            texts: At most as many as a call is about.
            again: Whether texts that a lean call has left out, or failed, are asked for singly.
        """
        if self.profile == "paper":
            return [await self._one(text) for text in texts]
        found = await self._several(texts)
        if again and len(texts) > 1:
            for place, one in enumerate(found):
                if isinstance(one, OF_THE_TEXT):
                    found[place] = (await self._several([texts[place]]))[0]
        return found

    async def _one(self, text: str) -> Annotation | ModelError:
        """Ask as the paper does; what has no scheme has nothing to be scored."""
        try:
            named = await self.model.ask(self._asked(text), Named, step="schemes.annotation")
            reasons = reasons_of(named)
            if not reasons:
                return Annotation()
            scores = await self.model.ask(
                self._scored(text, reasons), scoring(tuple(reasons)), step="schemes.scoring"
            )
        except ModelError as error:
            return error
        return Annotation(marks=marks_of(scores, reasons))

    async def _several(self, texts: Sequence[str]) -> list[Annotation | ModelError]:
        try:
            answer: Together = await self.model.ask(
                self._together(texts), together(len(texts), MOST), step="schemes.together"
            )
        except ModelError as error:
            return [error] * len(texts)
        told: dict[int, dict[Scheme, Mark]] = {}
        for one in answer.arguments:
            if 1 <= one.number <= len(texts) and one.number not in told:
                told[one.number] = one.marks(MOST)
        return [
            Annotation(marks=told[number])
            if number in told
            else Invalid(f"{self.model.name}: the answer leaves out argument {number}")
            for number in range(1, len(texts) + 1)
        ]

    def _asked(self, text: str) -> Sequence[Any]:
        return self._schemes.messages(schemes=schemes(), words=REASON_WORDS, text=_shown(text))

    def _scored(self, text: str, reasons: dict[Scheme, str]) -> Sequence[Any]:
        told = {scheme.value: {"reason": reason} for scheme, reason in reasons.items()}
        return self._scores.messages(
            dimensions=dimensions(), exemplars=exemplars(self._shown), text=_shown(text),
            annotation=json.dumps(told, ensure_ascii=False),
        )  # fmt: skip

    def _together(self, texts: Sequence[str]) -> Sequence[Any]:
        return self._both.messages(
            schemes=schemes(), dimensions=dimensions(), exemplars=exemplars(self._shown),
            most=MOST, texts=[_shown(text) for text in texts],
        )  # fmt: skip


def _shown(text: str) -> str:
    return clean(text)[:LONGEST]
