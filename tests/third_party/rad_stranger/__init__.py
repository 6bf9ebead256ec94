"""A stranger's package: one debater, one judge, one retriever, known by their entry points alone."""

from __future__ import annotations

from pydantic import Field

from touche_rad.debate import Debate, Hit, Maxim, Response, Verdict
from touche_rad.plugins import Options, Services


class Echo:
    """Say the user's words back, with a shrug."""

    class Options(Options):
        shrug: str = Field("Hm.", description="What is said before.")
        times: int = Field(1, ge=1, description="How often.")

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options

    def answer(self, debate: Debate) -> Response:
        return Response(
            content=f"{self.options.shrug * self.options.times} {debate.last.utterance}"
        )


class Stern:
    """Say no to everything."""

    def __init__(self, options: Options, services: Services) -> None:
        pass

    async def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        return {maxim: Verdict(score=0.0, rationale="I am stern.") for maxim in Maxim}


class Backwards:
    """The text field's hits, worst first."""

    needs = ("index",)

    def __init__(self, options: Options, services: Services) -> None:
        self.index = services.need_index("backwards")

    def search(self, query: str, k: int) -> list[Hit]:
        return self.index.search("text", query, k)[::-1]


class Lacking:
    """Needs what nobody has."""

    needs = ("module:no_such_module_anywhere", "model")

    def __init__(self, options: Options, services: Services) -> None:
        raise AssertionError("must not be made")

    def answer(self, debate: Debate) -> Response:
        raise AssertionError("must not be asked")
