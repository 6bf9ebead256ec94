"""Which sentences of an answer its cited arguments bear out; what they do not is not said.

Words come first, by the model-free judge's measure of Quality. What they cannot decide may stand
where the arguments entail it, by whoever is asked for that. What is the contrary of an argument,
or gives a figure or calls a witness of its own, does not stand whoever says that it follows.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

import anyio

from judges.grice.grounded import quality, scene
from judges.grice.grounded.support import Manner
from judges.grice.grounded.weights import weights
from touche_rad.debate import Argument, Debate, Response
from touche_rad.text import clean, count_words, sentences

log = logging.getLogger("touche_rad")

LONGEST: Final = 600
"""Letters of a sentence that can be entailed; a longer one might be read in part alone."""


class Found(Enum):
    """What the words alone tell of a sentence."""

    SAID = "the arguments say it, or it claims nothing"
    OPEN = "it is no quotation"
    SPOILT = "it changes an argument's sense, or speaks to a judge"


class Entails(Protocol):
    """Decides whether arguments entail sentences."""

    async def of(self, said: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Return for each sentence whether it follows; what fails, raises."""
        ...


@dataclass(frozen=True)
class Checked:
    """An answer's sentences, in order."""

    stands: tuple[str, ...] = ()
    goes: tuple[str, ...] = ()
    entailed: bool = False
    """Whether one stands that is no quotation."""


class Guard:
    """Lets sentences stand that are borne out, and no other."""

    def __init__(self, entails: Entails | None = None, longest: int = 60) -> None:
        """Without `entails`, quotation alone counts; a longer sentence would be cut, unchecked."""
        self._entails = entails
        self._longest = longest

    async def checked(self, content: str, arguments: Sequence[Argument]) -> Checked:
        """Return which of an answer's sentences stand, and which go."""
        said = sentences(clean(content))
        texts = [clean(one.text) for one in arguments if one.text.strip()]
        if not said or not texts:
            return Checked(goes=tuple(said))
        found = await anyio.to_thread.run_sync(self._read, said, tuple(arguments))
        doubted = [at for at, one in enumerate(found) if one is Found.OPEN]
        followed = await self._followed([said[at] for at in doubted], texts)
        entailed = {at for at, follows in zip(doubted, followed, strict=True) if follows}
        stands = {at for at, one in enumerate(found) if one is Found.SAID} | entailed
        return Checked(
            tuple(one for at, one in enumerate(said) if at in stands),
            tuple(one for at, one in enumerate(said) if at not in stands),
            entailed=bool(entailed),
        )

    async def _followed(self, said: Sequence[str], texts: Sequence[str]) -> list[bool]:
        """What cannot be decided, whatever the reason, does not follow."""
        short = [one for one in said if len(one) <= LONGEST]
        if self._entails is None or not short:
            return [False] * len(said)
        try:
            answered = await self._entails.of(short, texts)
            follows = dict(zip(short, answered, strict=True))
        except Exception as error:
            log.info("nothing is entailed: %s", error)
            return [False] * len(said)
        return [follows.get(one, False) is True for one in said]

    def _read(self, said: Sequence[str], arguments: tuple[Argument, ...]) -> list[Found]:
        return [
            read(one, arguments) if count_words(one) <= self._longest else Found.SPOILT
            for one in said
        ]


def read(sentence: str, arguments: tuple[Argument, ...]) -> Found:
    """Read one sentence by its words, as if it were the whole answer."""
    answered = Response(content=sentence, arguments=arguments)
    seen = scene.scene(Debate().spoken("?"), answered, all_arguments=True)
    weigh = weights().quality
    if seen.addressed:
        return Found.SPOILT
    together = quality.findings(seen.sentences, seen.sources, weigh)
    if all(quality.score(one.support, weigh) >= 0.5 for one in together):
        return Found.SAID
    apart = [
        one.support
        for source in seen.sources
        for one in quality.findings(seen.sentences, [source], weigh)
    ]
    spoilt = [one.manner is Manner.SPOILT for one in apart]
    return Found.SPOILT if all(spoilt) or any(one.contrary for one in apart) else Found.OPEN
