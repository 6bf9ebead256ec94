"""The answers that a server gave, for clients that send them back without their arguments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Final

from touche_rad.debate import Debate, Response

_MOST: Final = 10_000
"""Answers that are remembered; of more, the oldest are forgotten."""


class EarlierAnswers:
    """Answers, by the conversation that each one ends.

    The official client sends an answer back as a text only. A debater that gets its arguments, too,
    gives the answer that `respond` gives on the client's file.
    """

    def __init__(self) -> None:
        """Remember nothing."""
        self._answers: dict[bytes, Response] = {}

    def remember(self, debate: Debate, answer: Response) -> None:
        """Remember the answer to the last turn."""
        *_, conversation = _conversations(debate.with_response(answer))
        self._answers[conversation] = answer
        if len(self._answers) > _MOST:
            del self._answers[next(iter(self._answers))]

    def restore(self, debate: Debate) -> Debate:
        """Return the debate with the remembered answers in place of those without arguments."""
        turns = [
            turn.replace(response=self._answers[conversation])
            if conversation in self._answers and turn.response and not turn.response.arguments
            else turn
            for turn, conversation in zip(debate.turns, _conversations(debate), strict=True)
        ]
        return debate.replace(turns=tuple(turns))


def _conversations(debate: Debate) -> Iterator[bytes]:
    """Yield a digest of the conversation up to each turn."""
    digest = hashlib.sha256()
    for turn in debate.turns:
        texts = [turn.utterance, turn.response and turn.response.content]
        digest.update(json.dumps(texts).encode())
        yield digest.digest()
