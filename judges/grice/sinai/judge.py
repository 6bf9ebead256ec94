"""The judges `zsl`, `fsl1`, `fsl2`, `analysis1`, `analysis3`, `analysis5` and `best`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import anyio
from pydantic import BaseModel, Field, create_model

from judges.grice.sinai.examples import SHOWN, Case, case_of, examples, questions, texts
from judges.grice.sinai.strategies import BEST, Guidance, Guide, Strategy
from touche_rad.debate import Debate, Maxim, Verdict
from touche_rad.models import Model, ModelError, Prompt
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services
from touche_rad.text import clean

YesNo = Literal["yes", "no"]


class Answer(BaseModel):
    """The verdicts on one response."""

    quantity: YesNo
    quality: YesNo
    relation: YesNo
    manner: YesNo


class _SinaiJudge:
    """Asks a language model the official questions."""

    needs: ClassVar = ("model",)
    strategy: ClassVar[Strategy | None] = None

    class Options(PluginOptions):
        """Number of calls, and the examples."""

        profile: str = Field("lean", description="paper: one call per maxim")
        per: Literal["turn", "debate", "maxim"] = Field(
            "turn", description="one call per turn, per debate, or per maxim of a turn"
        )
        examples: Path | None = Field(None, description="file of labelled examples (default: ours)")
        shown: int = Field(SHOWN, ge=0, description="cited arguments in the prompt; 0: all")

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.model: Model = services.need_model("a judge of SINAI's")
        strategies = {maxim: self.strategy or BEST[maxim] for maxim in Maxim}
        self._guide = Guide(self.model, strategies, examples(options.examples))

    async def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        if debate.last.response is None:
            unanswered = Verdict(score=None, rationale="the last turn has no response")
            return dict.fromkeys(Maxim, unanswered)
        case = case_of(debate, self.options.shown)
        if self.options.per == "maxim":
            return await self._by_maxim(case)
        return await self._of_turn(case)

    async def judge_all(self, debate: Debate) -> list[dict[Maxim, Verdict]] | None:
        """Judge all responses in one call with `per=debate`."""
        if self.options.per != "debate":
            return None
        try:
            guidance = await self._guidance()
            return await self._of_debate(debate, guidance)
        except ModelError as error:
            failed = Verdict(score=None, rationale=str(error))
            return [dict.fromkeys(Maxim, failed) for _ in debate.turns]

    async def _guidance(self) -> dict[Maxim, Guidance]:
        """Return the guidance on each maxim, which is made once."""
        asked = [lambda maxim=maxim: self._guide.guidance(maxim) for maxim in Maxim]
        found = await self.model.ask_all(asked)
        made: dict[Maxim, Guidance] = {}
        for maxim, one in zip(Maxim, found, strict=True):
            if isinstance(one, ModelError):
                raise one
            made[maxim] = one
        return made

    async def _of_turn(self, case: Case) -> dict[Maxim, Verdict]:
        """Judge the four maxims in one call."""
        try:
            prompt = Prompt.load(__package__, "turn")
            values = {**_shown(await self._guidance()), "case": vars(case)}
            answer, chances = await self.model.ask_scored(
                prompt.messages(**values), Answer, step="sinai.turn",
                shorten=_shorter(prompt, values, case),
            )  # fmt: skip
        except ModelError as error:
            return dict.fromkeys(Maxim, Verdict(score=None, rationale=str(error)))
        likely = dict(chances)
        return {maxim: _verdict(getattr(answer, maxim), likely.get(maxim)) for maxim in Maxim}

    async def _of_debate(
        self, debate: Debate, guidance: Mapping[Maxim, Guidance]
    ) -> list[dict[Maxim, Verdict]]:
        """Judge all responses in one call."""
        turns = [
            {
                "user": clean(turn.utterance),
                "response": clean(turn.response.content) if turn.response else "(none)",
                "arguments": texts(turn.response.arguments, self.options.shown)
                if turn.response
                else [],
            }
            for turn in debate.turns
        ]
        count = len(turns)
        schema = create_model(
            "Answers", answers=(list[Answer], Field(min_length=count, max_length=count))
        )
        messages = Prompt.load(__package__, "debate").messages(turns=turns, **_shown(guidance))
        answer, chances = await self.model.ask_scored(messages, schema, step="sinai.debate")
        by_field: dict[str, list[dict[str, float]]] = {}
        for name, likely in chances:
            by_field.setdefault(name, []).append(likely)
        whole = {name: found for name, found in by_field.items() if len(found) == count}
        return [
            {
                maxim: _verdict(getattr(one, maxim), whole[maxim][at] if maxim in whole else None)
                for maxim in Maxim
            }
            for at, one in enumerate(answer.answers)  # type: ignore[attr-defined]
        ]

    async def _by_maxim(self, case: Case) -> dict[Maxim, Verdict]:
        """Judge each maxim in its own call, as in the paper."""
        found: dict[Maxim, Verdict] = {}

        async def one(maxim: Maxim) -> None:
            try:
                found[maxim] = await self._ask_maxim(maxim, case)
            except ModelError as error:
                found[maxim] = Verdict(score=None, rationale=str(error))

        async with anyio.create_task_group() as group:
            for maxim in Maxim:
                group.start_soon(one, maxim)
        return {maxim: found[maxim] for maxim in Maxim}

    async def _ask_maxim(self, maxim: Maxim, case: Case) -> Verdict:
        guidance = await self._guide.guidance(maxim)
        values: dict[str, Any] = {
            "maxim": maxim, "question": questions()[maxim], "case": vars(case),
        }  # fmt: skip
        if guidance.reasons is not None:
            name, values = "verdict", {**values, "reasons": guidance.reasons}
        elif guidance.examples:
            name, values = "fsl", {**values, "examples": guidance.examples}
        else:
            name = "zsl"
        messages = Prompt.load(__package__, name).messages(**values)
        likely = await self.model.ask_choice(messages, ("yes", "no"), step=f"sinai.{name}")
        return Verdict(score=likely["yes"], rationale=f"{name}: yes with {likely['yes']:.2f}")


def _shown(guidance: Mapping[Maxim, Guidance]) -> dict[str, Any]:
    return {
        "questions": questions(),
        "reasons": {maxim: one.reasons for maxim, one in guidance.items() if one.reasons},
        "examples": {maxim: one.examples for maxim, one in guidance.items() if one.examples},
    }


def _shorter(prompt: Prompt, values: dict[str, Any], case: Case) -> Any:
    """Return a function that removes the older half of the conversation from the prompt."""
    left: Sequence[str] = case.before

    def shorter(_: Any) -> Any:
        nonlocal left
        if len(left) <= 1:
            return None
        left = left[(len(left) + 1) // 2 :]
        return prompt.messages(**{**values, "case": {**vars(case), "before": left}})

    return shorter


def _verdict(said: YesNo, likely: Mapping[str, float] | None) -> Verdict:
    """Return a verdict; its score is the probability of yes, or 1 or 0 without logprobs."""
    if likely is None or (likely["yes"] >= 0.5) != (said == "yes"):
        return Verdict(score=float(said == "yes"), rationale=said)
    return Verdict(score=likely["yes"], rationale=f"{said} ({likely['yes']:.2f})")


class Zsl(_SinaiJudge):
    """Asks a model the official questions without examples (SINAI's zero-shot judge)."""

    strategy = "zsl"


class Fsl1(_SinaiJudge):
    """Shows one example of yes, then one of no (SINAI's FSL1)."""

    strategy = "fsl1"


class Fsl2(_SinaiJudge):
    """Shows one example of no, then one of yes (SINAI's FSL2)."""

    strategy = "fsl2"


class Analysis1(_SinaiJudge):
    """Derives reasons from one example of each verdict, then asks with them (SINAI)."""

    strategy = "analysis1"


class Analysis3(_SinaiJudge):
    """Derives reasons from three examples of each verdict, then asks with them (SINAI)."""

    strategy = "analysis3"


class Analysis5(_SinaiJudge):
    """Derives reasons from five examples of each verdict, then asks with them (SINAI)."""

    strategy = "analysis5"


class Best(_SinaiJudge):
    """Uses the paper's best strategy for each maxim (SINAI's BEST)."""
