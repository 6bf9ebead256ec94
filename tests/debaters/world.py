"""A small collection of our own, where both sides of two questions speak."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import anyio

from tests.models.scripted import Scripted
from tests.records import read_arguments
from tests.runs.fakes import SmallIndex
from touche_rad.debate import Argument, Debate, Hit, Response, Turn
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import Services, find
from touche_rad.text import count_words

PENNY = "Should the penny be abolished?"
NIGHT = "Should night trains replace short flights?"


def argument(number: int, topic: str, attacks: str, supports: str, text: str) -> Argument:
    names = {"topic": topic, "attacks": attacks, "supports": supports, "original": "attacks"}
    return Argument(id=f"7.{number}", text=text, **names)


WORTHLESS = "The penny is worthless and should be abolished."
WORTH = "The penny is not worthless and should not be abolished."
QUIET = "Night trains are a comfortable replacement for short flights."
LOUD = "Night trains are not a comfortable replacement for short flights."

FOR_PENNY, AGAINST_PENNY = (PENNY, WORTHLESS, WORTH), (PENNY, WORTH, WORTHLESS)
ARGUMENTS = read_arguments("debaters/arguments.json")

ROUNDED, JARS, CHARITY = (argument_of_ours.text for argument_of_ours in ARGUMENTS[:3])


class BothSides(SmallIndex):
    """An index in memory that notes its searches; its hits have their field as the path."""

    def __init__(self, arguments: Sequence[Argument] = ARGUMENTS) -> None:
        super().__init__(arguments)
        self.searched: list[tuple[str, str, int]] = []

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        self.searched.append((field, query, k))
        hits = super().search(field, query, k)
        return [hit.model_copy(update={"path": (field,)}) for hit in hits]


def answers(
    server: Scripted, debater: str, unanswered: Iterable[Debate], index: Any = None, **options: str
) -> list[Response]:
    """Let a debater answer debates; settings of its profiles can be given as options."""

    async def work(services: Services) -> list[Response]:
        factory: Any = find("debater", debater).factory
        instance = factory(factory.Options.model_validate(options), services)
        return [await instance.answer(debate_of_user) for debate_of_user in unanswered]

    answered: list[Response] = with_services(server, index, work)
    return answered


def answering_as(debater: str, asked: Debate) -> Callable[..., Response]:
    """Return a function with which a debater answers this debate, or the one that is given."""

    def answer(
        server: Scripted, unanswered: Debate = asked, index: Any = None, **options: str
    ) -> Response:
        return answers(server, debater, [unanswered], index, **options)[0]

    return answer


def with_services(server: Scripted, index: Any, work: Callable[[Services], Awaitable[Any]]) -> Any:
    """Work with an index and the scripted model, and return what comes of it."""

    async def run() -> Any:
        model = Model(Address(server.url, "tiny"), deadline=60)
        try:
            return await work(Services(index=index or BothSides(), model=model))
        finally:
            await model.close()

    return anyio.run(run)


def debate(*texts: str) -> Debate:
    """User, system, user, … in turn; the user speaks last."""
    users, systems = texts[::2], [*texts[1::2], None]
    return Debate(
        id="test",
        turns=tuple(
            Turn(utterance=user, response=None if system is None else Response(content=system))
            for user, system in zip(users, systems, strict=True)
        ),
    )


def cited_texts(response: Response) -> list[str]:
    return [argument.text for argument in response.arguments]


def assert_valid(response: Response) -> None:
    """Check that a response is short, and cites arguments of the collection as they are."""
    assert 0 < count_words(response.content) <= 60
    assert response.arguments
    texts = {argument.id: argument.text for argument in ARGUMENTS}
    for cited in response.arguments:
        assert cited.text == texts[cited.id]
