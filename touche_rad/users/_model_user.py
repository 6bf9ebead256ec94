"""The user simulated by a language model that plays a persona."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, ClassVar, Final

import anyio
from pydantic import BaseModel, Field, PositiveInt

from touche_rad.debate import Debate
from touche_rad.frozen import frozen
from touche_rad.models import Model, ModelError, Prompt, drop_oldest
from touche_rad.models.output import Paragraph
from touche_rad.plugins import ArgumentIndex, MayNameFile
from touche_rad.plugins import Options as PluginOptions
from touche_rad.records import Share
from touche_rad.text import clean, cut_to_words, plain_words, sentences, spaced_words
from touche_rad.users._rules import seeded_random, users_claim
from touche_rad.users.arguments import arguments_for_user, word_overlap
from touche_rad.users.persona import DEFAULT, Persona

_MAX_WORDS_OF_A_LINE: Final = 150
_ANY_MOVE: Final = "Answer the opponent's last message, as this person would."
_LABEL: Final = re.compile(r"^(?:the )?(?:person|user|me|you|assistant)\s*:\s*", re.IGNORECASE)
REPETITION: Final = "This repeats what was said before."
EMPTY: Final = "The utterance has no words."


class Utterance(BaseModel):
    """The model's answer."""

    utterance: Paragraph = Field(min_length=1)


class UnsuitableUtterance(ModelError):
    """The model's last answer is valid JSON, but no utterance of a person, or a repetition."""


@frozen
class ModelUser:
    """Asks a language model what a person with the persona's character says next."""

    needs: ClassVar = ("model",)

    class Options(PluginOptions):
        """Options."""

        persona: Annotated[str, MayNameFile()] = DEFAULT
        """name of a persona, or its file"""
        max_words: Annotated[int, Field(ge=20)] = 60
        """maximum words of an utterance"""
        evidence: Annotated[int, Field(ge=0, le=20)] = 3
        """arguments of the user's side in the prompt"""
        candidates: PositiveInt = 20
        """hits per search for these arguments"""
        reason: bool = True
        """give a reason in the first utterance"""
        again: Annotated[int, Field(ge=0, le=5)] = 1
        """new requests after an unsuitable utterance"""
        alike: Share = 0.7
        """minimum word overlap that counts as a repetition, 0 to 1"""

    model: Model
    persona: Persona
    index: ArgumentIndex | None = None
    """Without it, the prompt contains no arguments."""
    seed: int = 0
    options: Options = field(default_factory=Options)

    def describe(self, debate: Debate) -> Mapping[str, Any]:
        """Return the persona and the model's name."""
        return {"persona": self.persona.name, "model": self.model.name}

    async def open(self, claim: Debate) -> str:
        """State the claim in the person's own words."""
        return await self._ask(claim, [])

    async def reply(self, debate: Debate) -> str:
        """Say what the person says next."""
        evidence: list[str] = []
        if self.index is not None and self.options.evidence:
            arguments = await anyio.to_thread.run_sync(
                arguments_for_user,
                self.index,
                users_claim(debate),
                debate,
                self.options.candidates,
                abandon_on_cancel=True,
            )
            evidence = [_as_line(argument.text) for argument in arguments[: self.options.evidence]]
        return await self._ask(debate, evidence)

    async def _ask(self, debate: Debate, evidence: Sequence[str]) -> str:
        """Ask for an utterance; ask again with the problem if it is unsuitable."""
        prompt = Prompt.load(__package__, "utterance")
        moves = list(self.persona.moves or (_ANY_MOVE,))
        seeded_random(self.seed, debate, "moves").shuffle(moves)
        values = {
            "character": self.persona.character,
            "words": self.options.max_words,
            "claim": _as_line(debate.claim),
            "evidence": evidence,
            "reason": self.options.reason,
            "move": moves[len(debate.turns) % len(moves)],
            "turns": [
                {
                    "user": _as_line(turn.utterance),
                    "opponent": _as_line(turn.answer),
                }
                for turn in debate.turns
            ],
        }
        messages = list(prompt.messages(**values))
        shorten: Any = drop_oldest(prompt, "turns", values)
        for tries_left in reversed(range(1 + self.options.again)):
            answer = await self.model.ask(messages, Utterance, step="user.speak", shorten=shorten)
            utterance, problem = self._check(answer.utterance, debate)
            if not problem:
                return utterance
            if tries_left:
                messages = Prompt.load(__package__, "again").after(
                    messages, answer, problem=problem, words=self.options.max_words
                )
                shorten = None  # It would make the first prompt anew, without this problem.
        raise UnsuitableUtterance(f"{self.model.name}: {problem}")

    def _check(self, answer: str, debate: Debate) -> tuple[str, str]:
        """Return the new sentences of an answer, and its problem or an empty text."""
        bare = _without_quotes(_LABEL.sub("", _without_quotes(clean(answer))))
        earlier_sentences: set[str] = set()
        for turn in debate.turns:
            earlier_sentences.update(map(plain_words, sentences(clean(turn.utterance))))
        new = " ".join(
            sentence
            for sentence in sentences(bare)
            if plain_words(sentence) not in earlier_sentences
        )
        new = cut_to_words(new, self.options.max_words)
        if not plain_words(new):
            return "", REPETITION if bare else EMPTY
        phrase = spaced_words(new)
        for _, text in debate.spoken:
            if phrase in spaced_words(text) or word_overlap(new, text) >= self.options.alike:
                return "", REPETITION
        return new, ""


def _as_line(text: str) -> str:
    """Return a text as one line of a prompt, so that it cannot imitate another line."""
    return cut_to_words(clean(text), _MAX_WORDS_OF_A_LINE)[: 12 * _MAX_WORDS_OF_A_LINE]


def _without_quotes(text: str) -> str:
    inner = text[1:-1].strip()
    quoted = text[:1] in '"“„' and text[-1:] in '"”“'
    return inner if quoted and inner and not set(inner) & set('"“”„') else text
