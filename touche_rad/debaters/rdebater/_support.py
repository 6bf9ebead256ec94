"""Which sentences of a response its arguments support."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from touche_rad.debate import Argument
from touche_rad.evidence.guard import Guard, WordCheck, read
from touche_rad.evidence.support import findings_in
from touche_rad.text import clean, content_words, sentences, words

_CRITICISM: Final = frozenset(
    "admit answer ask asked assume assumption call claim contradict contradiction doubt evidence "
    "example explain explained fact follow give given ignore mean missing name opinion overlook "
    "point proof prove proven question reason said say says show shown simply source thesis yet "
    "no not never none nothing cannot without".split()
)
"""Content words with which a speaker criticises what another one says."""


def criticises(sentence: str, opponent: str) -> bool:
    """Whether a sentence is about the opponent's own words, so that it needs no argument.

    It says "you", and at least half of its content words are the opponent's.
    """
    if not {"you", "your"} & set(words(sentence)):
        return False
    own, theirs = set(content_words(sentence)) - _CRITICISM, set(content_words(opponent))
    return 2 * len(own & theirs) >= len(own)


def distortions(content: str, arguments: Sequence[Argument], opponent: str) -> Iterator[str]:
    """Yield a line on each sentence that changes the meaning of the arguments."""
    texts = [clean(one.text) for one in arguments]
    for sentence in sentences(clean(content)):
        if criticises(sentence, opponent):
            continue
        if read(sentence, tuple(arguments)) is WordCheck.DISTORTED:
            why = [one.support.why for one in findings_in(sentence, texts)]
            reason = why[0] if why else "it is too long"
            yield f'No argument says this: "{sentence}" Reason: {reason}.'


class NotQuoted:
    """The sentences that follow, according to a model that quoted what does not."""

    def __init__(self, unsupported: Sequence[str]) -> None:
        self._unsupported = [set(content_words(one)) for one in unsupported]

    async def of(self, claims: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Return whether no sentence has more than half of the words of a quotation."""
        words = [set(content_words(sentence)) for sentence in claims]
        return [
            all(2 * len(quoted & one) <= len(quoted) for quoted in self._unsupported)
            for one in words
        ]


async def supported(
    content: str, arguments: Sequence[Argument], opponent: str, unsupported: Sequence[str] | None
) -> list[str]:
    """Return the sentences of a response that are supported by the arguments that it cites.

    `unsupported` is what a model quoted as unsupported; None if no model checked the response. Then
    only quotations of the arguments are supported. Sentences about the opponent's words need no
    argument, and without arguments only the model's quotations count.
    """
    model = None if unsupported is None else NotQuoted(unsupported)
    everything = sentences(clean(content))
    free = [one for one in everything if not arguments or criticises(one, opponent)]
    follows = await model.of(free, ()) if model else [False] * len(free)
    stands = {one for one, follow in zip(free, follows, strict=True) if follow}
    rest = " ".join(one for one in everything if one not in free)
    stands.update((await Guard(model).checked(rest, arguments)).supported)
    return [one for one in everything if one in stands]
