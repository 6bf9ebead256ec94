"""The contract kit finds broken rules, and all bundled plugins hold their contracts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from touche_rad.debate import Argument, Debate, Hit, Maxim, Response, Verdict
from touche_rad.errors import WorkError
from touche_rad.plugins import (
    ExplainedCandidate,
    Services,
    debater,
    judge,
    registered,
    retriever,
)
from touche_rad.testing import (
    ContractError,
    check_debater,
    check_judge,
    check_panel,
    check_retriever,
)

CHECKS: dict[str, Callable[[str], None]] = {
    "debater": check_debater,
    "judge": check_judge,
    "panel": check_panel,
    "retriever": check_retriever,
}
WITH_A_MODEL = {"dense", "rerank", "stance"}
SLOW = {"composed", "grounded", "chain", "hybrid", "opposing", "topical"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=[pytest.mark.long] if name in SLOW else [])
        for kind in CHECKS
        for name, plugin in registered(kind).items()  # type: ignore[arg-type]
        if name not in WITH_A_MODEL and plugin.source == "touche-rad"  # not those of other tests
    ],
)
def test_a_bundled_plugin_holds_its_contract(kind: str, name: str) -> None:
    CHECKS[kind](name)


UNKNOWN = Argument(id="nowhere", text="An argument of no index.")
CHANGING = count()
RESPONSES: dict[str, Callable[[Debate, Services], Any]] = {
    "the answer is empty": lambda debate, services: Response(content=" "),
    "61 words, at most 60": lambda debate, services: Response(content="word " * 61),
    "'nowhere' is not in the index": lambda debate, services: Response(
        content="So.", arguments=(UNKNOWN,)
    ),
    "is cited twice": lambda debate, services: Response(content="So.", arguments=(UNKNOWN,) * 2),
    "was changed": lambda debate, services: Response(
        content="So.", arguments=(_known(services).model_copy(update={"text": "Other."}),)
    ),
    "expected a Response, got int": lambda debate, services: 7,
    "a second call gave another result": lambda debate, services: Response(
        content=f"Number {next(CHANGING)}."
    ),
    "ZeroDivisionError": lambda debate, services: Response(content=str(1 // 0)),
}


def _known(services: Services) -> Argument:
    return next(iter(services.need_index("test").arguments()))


@pytest.mark.parametrize(
    ("listed", "rule"),
    [
        ([{"id": "1"}], "expected a list of ExplainedCandidate, got list"),
        (None, "expected a list of ExplainedCandidate, got NoneType"),
        (
            [ExplainedCandidate("1", "Low.", 1.0), ExplainedCandidate("2", "High.", 2.0)],
            "the candidates are not sorted by score",
        ),
    ],
)
def test_a_debater_whose_explanation_is_wrong_is_refused(listed: Any, rule: str) -> None:
    @debater("odd")
    class Odd:
        """Explains wrongly."""

        def __init__(self, options: object, services: Services) -> None:
            pass

        def answer(self, debate: Debate) -> Response:
            return Response(content="So.")

        async def explain(self, debate: Debate) -> Any:
            return listed

    with pytest.raises(ContractError) as raised:
        check_debater("odd")
    assert f"explain: {rule}" in str(raised.value)


def test_a_debater_may_leave_a_message_to_the_fallback() -> None:
    @debater("silent")
    class Silent:
        """Answers nothing."""

        def __init__(self, options: object, services: Services) -> None:
            pass

        def answer(self, debate: Debate) -> Response:
            raise WorkError("no argument fits")

    check_debater("silent")


YES = Verdict(score=1.0)
VERDICTS: dict[str, Callable[[Debate], Any]] = {
    "expected a Verdict on manner, got NoneType": lambda debate: dict.fromkeys(
        list(Maxim)[:3], YES
    ),
    "the score on quantity is 2.0": lambda debate: dict.fromkeys(Maxim, Verdict(score=2.0)),
    "no score on quality and no rationale": lambda debate: dict.fromkeys(
        Maxim, Verdict(score=None)
    ),
    "expected a mapping": lambda debate: [YES] * 4,
    "a second call gave another result": lambda debate: dict.fromkeys(
        Maxim, Verdict(score=1 / (2 + next(CHANGING)))
    ),
}


HITS: dict[str, Callable[[list[Hit], int], Any]] = {
    "at most 3 were asked for": lambda hits, k: hits,
    "not sorted by score": lambda hits, k: hits[:k][::-1],
    "returned twice": lambda hits, k: hits[:1] * 2,
    "'nowhere' is not in the index": lambda hits, k: [Hit(argument=UNKNOWN, score=1)],
    "expected a list of Hit": lambda hits, k: tuple(hits[:k]),
}


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        *(("debater", rule) for rule in RESPONSES),
        *(("judge", rule) for rule in VERDICTS),
        *(("retriever", rule) for rule in HITS),
    ],
)
def test_a_plugin_that_breaks_a_rule_is_refused(kind: str, rule: str) -> None:
    class Broken:
        """Breaks one rule."""

        needs = ("index",)

        def __init__(self, options: object, services: Services) -> None:
            self.services = services

        def answer(self, debate: Debate) -> Any:
            return RESPONSES[rule](debate, self.services)

        def judge(self, debate: Debate) -> Any:
            return VERDICTS[rule](debate)

        def search(self, query: str, k: int) -> Any:
            index = self.services.need_index("broken")
            return HITS[rule](index.search("text", query, 10), k)

    {"debater": debater, "judge": judge, "retriever": retriever}[kind]("broken")(Broken)
    with pytest.raises(ContractError, match="broken") as raised:
        CHECKS[kind]("broken")
    assert rule in str(raised.value)
