"""The user simulated by a language model that plays a persona."""

from __future__ import annotations

import hashlib
import logging
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import anyio
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from touche_rad.debate import Debate
from touche_rad.errors import InputError, OptionError, UserError, nearest
from touche_rad.models import Message, Model, ModelError, Prompt, drop_oldest
from touche_rad.models.output import Paragraph
from touche_rad.plugins import ArgumentIndex
from touche_rad.plugins import Options as PluginOptions
from touche_rad.text import clean, cut_to_words, sentences
from touche_rad.users.arguments import arguments_for_user, word_overlap
from touche_rad.users.rules import chance

DEFAULT: Final = "curious"
_LARGEST: Final = 64 * 1024

Move = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]


class Written(BaseModel):
    """What a persona file says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    character: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
    ]
    moves: tuple[Move, ...] = Field((), max_length=50)


class Persona(Written):
    """A person to be played."""

    name: str
    digest: str
    """What tells this file's content from another's."""


def bundled() -> dict[str, Traversable]:
    """Return our own persona files by name."""
    folder = files(__package__).joinpath("personas")
    found = {
        one.name.removesuffix(".toml"): one
        for one in folder.iterdir()
        if one.name.endswith(".toml")
    }
    return dict(sorted(found.items()))


def persona(who: str) -> Persona:
    """Read a persona: one of ours by its name, or anybody's by the path of its file.

    Raises:
        UserError: There is none of this name, or the file is none.
    """
    own = bundled()
    if who in own:
        return _read(own[who], who)
    if "/" not in who and not who.endswith(".toml"):
        raise OptionError(f"there is no persona {who!r}{nearest(who, own)}; or give a path")
    path = Path(who).expanduser()
    return _read(path, path.stem)


def _read(place: Traversable | Path, name: str) -> Persona:
    try:
        with place.open("rb") as stream:
            held = stream.read(_LARGEST + 1)
    except OSError as error:
        raise UserError(f"{place}: cannot be read: {error.strerror or error}") from None
    if len(held) > _LARGEST:
        raise InputError(str(place), f"expected a persona of at most {_LARGEST} bytes")
    try:
        said = tomllib.loads(held.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(str(place), f"expected TOML: {error}") from None
    try:
        written = Written.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(step) for step in first["loc"])
        raise InputError(str(place), first["msg"], field=field) from None
    return Persona(**dict(written), name=name, digest=hashlib.sha256(held).hexdigest()[:16])


log = logging.getLogger("touche_rad")

Shorten = Callable[[Sequence[Message]], Sequence[Message] | None]

_LONGEST_TEXT: Final = 150
_ANY_MOVE: Final = "Answer what was just said, as this person would."
_LABEL: Final = re.compile(r"^(?:the )?(?:person|user|me|you|assistant)\s*:\s*", re.IGNORECASE)
_PROGRAM: Final = r"an? (?:ai(?: model| assistant)?|(?:ai |large )*language model)"
_NO_PERSON: Final = re.compile(
    rf"\b(?:as|i['’]m|i am)(?: just| only)? {_PROGRAM}\s*(?:[,.;:!?]|$|i\b|and\b|so\b|that\b)",
    re.IGNORECASE,
)
"""A model that speaks of itself; whoever works with such models is a person still."""


class Utterance(BaseModel):
    """What the model answers."""

    utterance: Paragraph = Field(min_length=1)


class Unfit(ModelError):
    """The model answered in form, and not with what a person would say next."""


class ModelUser:
    """Asks the language model what a person of the chosen character says next."""

    needs: ClassVar = ("model",)

    class Options(PluginOptions):
        """How the person speaks, and what is made of the model's words."""

        max_words: int = Field(60, ge=20, description="the most words of an utterance")
        evidence: int = Field(3, ge=0, le=20, description="arguments of its side that it is shown")
        candidates: int = Field(20, ge=1, description="arguments looked at for them")
        reason: bool = Field(True, description="give a reason with the first words")
        again: int = Field(1, ge=0, le=5, description="requests after words that do not fit")
        alike: float = Field(
            0.7, ge=0, le=1, description="from how near on an utterance repeats an earlier one"
        )

    def __init__(
        self,
        model: Model,
        persona: Persona,
        index: ArgumentIndex | None = None,
        seed: int = 0,
        options: Options | None = None,
    ) -> None:
        """Remember whom to ask, as whom, and where arguments come from."""
        self.model = model
        self.persona = persona
        self.index = index
        self.seed = seed
        self.options = options or ModelUser.Options()

    def describe(self, debate: Debate) -> Mapping[str, Any]:
        """Return the persona and the model's name."""
        return {"persona": self.persona.name, "model": self.model.name}

    async def open(self, claim: Debate) -> str:
        """State the claim in the person's own words."""
        return await self._said(claim, [])

    async def reply(self, debate: Debate) -> str:
        """Say what the person says next."""
        return await self._said(debate, await self._evidence(debate))

    async def _said(self, debate: Debate, evidence: Sequence[str]) -> str:
        """Ask; words that do not fit are sent back with what is wrong with them."""
        prompt = Prompt.load(__package__, "utterance")
        values = self._values(debate, evidence)
        messages = list(prompt.messages(**values))
        shorten: Shorten | None = drop_oldest(prompt, "turns", values)
        for left in reversed(range(1 + self.options.again)):
            answer = await self.model.ask(messages, Utterance, step="user.speak", shorten=shorten)
            said, wrong = self._new(answer.utterance, debate)
            if not wrong:
                return said
            if left:
                (told,) = Prompt.load(__package__, "again").messages(
                    wrong=wrong, words=self.options.max_words
                )
                messages += [Message("assistant", answer.model_dump_json()), told]
                shorten = None
        raise Unfit(f"{self.model.name}: {wrong}")

    def _values(self, debate: Debate, evidence: Sequence[str]) -> dict[str, Any]:
        moves = self.persona.moves or (_ANY_MOVE,)
        order = list(moves)
        chance(self.seed, debate, "moves").shuffle(order)
        return {
            "character": self.persona.character, "words": self.options.max_words,
            "claim": _short(debate.claim), "evidence": evidence, "reason": self.options.reason,
            "move": order[len(debate.turns) % len(order)],
            "turns": [
                {"user": _short(turn.utterance), "opponent": _short(_answer(turn.response))}
                for turn in debate.turns
            ],
        }  # fmt: skip

    async def _evidence(self, debate: Debate) -> list[str]:
        index, wanted = self.index, self.options.evidence
        if index is None or not wanted:
            return []
        claim = clean(debate.claim) or clean(debate.turns[0].utterance)
        try:
            found = await anyio.to_thread.run_sync(
                arguments_for_user,
                index,
                claim,
                debate,
                self.options.candidates,
                abandon_on_cancel=True,
            )
        except Exception as error:
            log.info("the user speaks without arguments of its side: %s", error)
            return []
        return [_short(argument.text) for argument in found[:wanted]]

    def _new(self, said: str, debate: Debate) -> tuple[str, str]:
        """Return what is new in what was said and, where it cannot be said, what is wrong."""
        bare = _unquoted(_LABEL.sub("", _unquoted(clean(said))))
        if _NO_PERSON.search(bare):
            return "", "it is not what a person in a debate says"
        before = [clean(turn.utterance) for turn in debate.turns]
        known = {_plain(part) for words in before for part in sentences(words)}
        kept = " ".join(part for part in sentences(bare) if _plain(part) not in known)
        kept = cut_to_words(kept, self.options.max_words)
        if not _plain(kept):
            return "", "it says again what was said before" if bare else "it says nothing"
        heard = [*before, *(clean(words) for words in debate.system_texts)]
        if any(word_overlap(kept, words) >= self.options.alike for words in heard):
            return "", "it says again what was said before"
        return kept, ""


def _answer(response: Any) -> str:
    return str(response.content) if response is not None else ""


def _short(text: str) -> str:
    """Return a text as one line of a prompt, so that nothing in it can look like another's."""
    return cut_to_words(clean(text), _LONGEST_TEXT)[: 12 * _LONGEST_TEXT]


def _unquoted(text: str) -> str:
    inner = text[1:-1].strip()
    quoted = text[:1] in '"“„' and text[-1:] in '"”“'
    return inner if quoted and inner and not set(inner) & set('"“”„') else text


def _plain(sentence: str) -> str:
    return " ".join(sentence.lower().split()).strip(".!?…\"'“”’)( ")
