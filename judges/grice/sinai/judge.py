"""The judges `zsl`, `fsl1`, `fsl2`, `analysis1`, `analysis3`, `analysis5` and `best`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import anyio
from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from touche_rad.criteria import Criteria, Criterion
from touche_rad.debate import Argument, Debate, Turn, Verdict, Verdicts
from touche_rad.errors import UserError
from touche_rad.files.records import read_models
from touche_rad.models import Model, ModelError, Prompt, drop_oldest
from touche_rad.models.errors import InvalidAnswer, Refusal, Truncated
from touche_rad.models.output import Line, Page
from touche_rad.models.prompts import render_dialogue
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services, setting
from touche_rad.text import clean

SHOWN: Final = 2
"""Number of cited arguments that annotators saw."""
EXAMPLES_FORMAT: Final = 1
LONGEST: Final = 2_000
"""Maximum characters of a text in a prompt."""

YesNo = Literal["yes", "no"]
YES_AND_NO: Final[tuple[YesNo, YesNo]] = ("yes", "no")
Strategy = Literal["zsl", "fsl1", "fsl2", "analysis1", "analysis3", "analysis5"]
ANALYSES: Final[Mapping[Strategy, int]] = {"analysis1": 1, "analysis3": 3, "analysis5": 5}
BEST: Final[Mapping[str, Strategy]] = {
    "relation": "zsl",
    "quality": "analysis5",
    "manner": "analysis1",
    "quantity": "analysis1",
}
"""The strategy that was best for each maxim on the paper's development data."""


class Example(BaseModel):
    """A labelled response; a maxim without a clear verdict has no label."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = EXAMPLES_FORMAT
    debate: str = ""
    turn: int | None = None
    """Where the example comes from: the debate's id, and the number of the turn from 1."""
    before: tuple[str, ...] = ()
    """The earlier messages of the conversation, one line each."""
    user: str = Field(min_length=1)
    system: str = Field(min_length=1)
    arguments: tuple[str, ...] = ()
    labels: Mapping[str, YesNo]


def examples(path: Path | None = None) -> tuple[Example, ...]:
    """Return the examples of a file, or ours; an InputError names a wrong line."""
    place = path or Path(str(files(__package__).joinpath("examples.jsonl")))
    return tuple(read_models(place, Example, EXAMPLES_FORMAT))


def select(pool: Sequence[Example], key: str, label: YesNo, count: int) -> list[Example]:
    """Return the first examples with a label; raise UserError if there are too few."""
    fitting = [example for example in pool if example.labels.get(key) == label][:count]
    if len(fitting) < count:
        raise UserError(
            f"{count} examples with {key} = {label} are needed, and there are {len(fitting)}"
        )
    return fitting


class Reasons(BaseModel):
    """Reasons for yes and for no, which the model derived from examples."""

    yes: Page
    no: Page


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
        evidence: Literal["none", "quality", "all"] = setting(
            "none", description="the model quotes evidence before its verdict: on which maxims"
        )

        @model_validator(mode="after")
        def _can_quote(self) -> _SinaiJudge.Options:
            if self.per == "maxim" and self.evidence != "none":
                raise ValueError("evidence needs per=turn or per=debate")
            return self

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self._criteria = services.criteria
        self.model: Model = services.need_model("a judge of SINAI's")
        pool = [
            one.model_copy(update={"arguments": one.arguments[: options.shown or None]})
            for one in examples(options.examples)
        ]
        self._examples: dict[str, list[Example]] = {}
        self._analysed: dict[str, dict[str, list[Example]]] = {}
        for key in self._criteria.keys:
            strategy = self.strategy or BEST[key]
            if strategy == "zsl":
                continue
            yes, no = (select(pool, key, label, ANALYSES.get(strategy, 1)) for label in YES_AND_NO)
            if strategy in ANALYSES:
                self._analysed[key] = {"positive": yes, "negative": no}
            else:
                self._examples[key] = [*yes, *no] if strategy == "fsl1" else [*no, *yes]
        quoted = {"none": (), "quality": ("quality",), "all": self._criteria.keys}
        self._evidence: tuple[str, ...] = quoted[options.evidence]
        self._reasons: dict[str, Reasons | ModelError] = {}
        self._deriving = {key: anyio.Lock() for key in self._analysed}

    async def judge(self, debate: Debate) -> Verdicts:
        """Judge the last response."""
        if debate.last.response is None:
            return self._no_verdicts("the last turn has no response")
        case = {"before": before(debate), **_shown(debate.last, self.options.shown)}
        if self.options.per == "maxim":
            return await self._by_criterion(case)
        try:
            return await self._of_turn(case)
        except InvalidAnswer:
            return await self._by_criterion(case)
        except ModelError as error:
            return self._no_verdicts(str(error))

    async def judge_all(self, debate: Debate) -> list[Verdicts] | None:
        """Judge all responses in one call with `per=debate`."""
        if self.options.per != "debate":
            return None
        try:
            return await self._of_debate(debate)
        except ModelError as error:
            return [self._no_verdicts(str(error)) for _ in debate.turns]

    def _no_verdicts(self, reason: str) -> Verdicts:
        return dict.fromkeys(self._criteria.keys, _no_verdict(reason))

    async def _of_turn(self, case: Mapping[str, Any]) -> Verdicts:
        """Judge by all criteria in one call."""
        guidance, missing = await self._guidance()
        prompt, values = Prompt.load(__package__, "turn"), {**guidance, **case}
        answer, chances = await self.model.ask_scored(
            prompt.messages(**values),
            _answer(self._criteria, self._evidence),
            step="sinai.turn",
            shorten=drop_oldest(prompt, "before", values),
        )
        return _verdicts(self._criteria, answer, dict(chances)) | missing

    async def _of_debate(self, debate: Debate) -> list[Verdicts]:
        """Judge all responses in one call."""
        guidance, missing = await self._guidance()
        turns = [
            {"user": clean(turn.utterance), **_shown(turn, self.options.shown)}
            for turn in debate.turns
        ]
        count = len(turns)
        schema = _answers(self._criteria, self._evidence, count)
        messages = Prompt.load(__package__, "debate").messages(turns=turns, **guidance)
        answer: Any
        answer, chances = await self.model.ask_scored(messages, schema, step="sinai.debate")
        likely: dict[str, list[dict[str, float]]] = {}
        for name, chance in chances:
            likely.setdefault(name, []).append(chance)
        whole = {name: chances for name, chances in likely.items() if len(chances) == count}
        verdicts: list[Verdicts] = []
        for at, of_turn in enumerate(answer.answers):
            likely_here = {name: chances[at] for name, chances in whole.items()}
            verdicts.append(_verdicts(self._criteria, of_turn, likely_here) | missing)
        return verdicts

    async def _by_criterion(self, case: Mapping[str, Any]) -> Verdicts:
        """Judge by each criterion in its own call, as in the paper."""
        verdicts = await self.model.ask_all(
            [partial(self._on, criterion, case) for criterion in self._criteria]
        )
        return {
            key: _no_verdict(str(verdict)) if isinstance(verdict, ModelError) else verdict
            for key, verdict in zip(self._criteria.keys, verdicts, strict=True)
        }

    async def _on(self, criterion: Criterion, case: Mapping[str, Any]) -> Verdict:
        key = criterion.key
        values = {"maxim": key, "question": criterion.question, **case}
        name = "zsl"
        if key in self._analysed:
            name, values["reasons"] = "verdict", await self._reasons_on(criterion)
        elif key in self._examples:
            name, values["examples"] = "fsl", self._examples[key]
        prompt = Prompt.load(__package__, name)
        likely = await self.model.ask_choice(
            prompt.messages(**values),
            ("yes", "no"),
            step=f"sinai.{name}",
            shorten=drop_oldest(prompt, "before", values),
        )
        return Verdict(score=likely["yes"], rationale=f"{name}: yes with {likely['yes']:.2f}")

    async def _guidance(self) -> tuple[dict[str, Any], dict[str, Verdict]]:
        """Return what a prompt for all criteria says about them, and failed verdicts.

        A criterion whose reasons cannot be derived has no verdict; the others are judged.
        """
        analysed = [criterion for criterion in self._criteria if criterion.key in self._analysed]
        derived: Sequence[Reasons | ModelError] = ()
        if analysed:
            derived = await self.model.ask_all(
                [partial(self._reasons_on, criterion) for criterion in analysed]
            )
        reasons, missing = {}, {}
        for criterion, result in zip(analysed, derived, strict=True):
            if isinstance(result, Reasons):
                reasons[criterion.key] = result
            else:
                failed = _no_verdict(f"the reasons could not be derived: {result}")
                missing[criterion.key] = failed
        shown, labels = _each_once(self._examples)
        guidance = {
            "criteria": {
                criterion.key: {
                    "question": criterion.question,
                    "criterion": criterion.text,
                    "evidence": criterion.evidence,
                }
                for criterion in self._criteria
            },
            "reasons": reasons,
            "examples": shown,
            "labels": labels,
            "evidence": self._evidence,
        }
        return guidance, missing

    async def _reasons_on(self, criterion: Criterion) -> Reasons:
        """Derive the reasons on a criterion from examples.

        Reasons are kept, and so is an answer that stays invalid after all repairs: the prompt is
        the same for each response, so a model that cannot answer it is asked only once.
        """
        key = criterion.key
        async with self._deriving[key]:
            if key not in self._reasons:
                messages = Prompt.load(__package__, "reasons").messages(
                    maxim=key, question=criterion.question, **self._analysed[key]
                )
                ask = partial(self.model.ask, messages, Reasons, step="sinai.reasons")
                try:
                    self._reasons[key] = await ask()
                except (InvalidAnswer, Truncated, Refusal) as error:
                    self._reasons[key] = error
            reasons = self._reasons[key]
            if isinstance(reasons, ModelError):
                raise reasons
            return reasons


def _answer(criteria: Criteria, evidence: tuple[str, ...]) -> type[BaseModel]:
    """Return the schema of the verdicts on one response, with evidence before some of them."""
    fields: dict[str, Any] = {}
    for key in criteria.keys:
        if key in evidence:
            fields[f"{key}_evidence"] = (Line, "")
        fields[key] = (YesNo, ...)
    return create_model("Answer", **fields)


def _answers(criteria: Criteria, evidence: tuple[str, ...], count: int) -> type[Any]:
    answer: Any = _answer(criteria, evidence)
    of_turns = (list[answer], Field(min_length=count, max_length=count))
    return create_model("Answers", answers=of_turns)


def _each_once(
    shown: Mapping[str, Sequence[Example]],
) -> tuple[list[Example], dict[str, list[tuple[int, YesNo]]]]:
    """Return each example once, and by criterion the numbers of its examples and their labels.

    The examples that come first on their criteria are the first.
    """
    firsts = [pair[0] for pair in shown.values()] + [pair[1] for pair in shown.values()]
    texts: list[Example] = []
    for example in firsts:
        if example not in texts:
            texts.append(example)
    labels = {
        key: [(texts.index(example) + 1, example.labels[key]) for example in pair]
        for key, pair in shown.items()
    }
    return texts, labels


def before(debate: Debate) -> list[str]:
    """Return the conversation before the last response, one line per message."""
    return render_dialogue(
        debate, user="User", system="System", last_response=False, max_letters=LONGEST
    )


def _shown(turn: Turn, most: int) -> dict[str, Any]:
    """Return a response and its first arguments as a prompt shows them; `most=0`: all."""
    if turn.response is None:
        return {"response": "(none)", "arguments": []}
    arguments = texts(turn.response.arguments, most)
    return {"response": clean(turn.response.content)[:LONGEST], "arguments": arguments}


def texts(arguments: Sequence[Argument], most: int) -> list[str]:
    """Return the texts of the first arguments; `most=0`: of all."""
    return [clean(one.text)[:LONGEST] for one in arguments[: most or None]]


def _verdicts(
    criteria: Criteria, answer: BaseModel, likely: Mapping[str, Mapping[str, float]]
) -> dict[str, Verdict]:
    """Return verdicts; a score is the probability of yes, or 1 or 0 without logprobs."""
    verdicts = {}
    answers = answer.model_dump()
    for key in criteria.keys:
        label, chance = answers[key], likely.get(key)
        score, rationale = float(label == "yes"), label
        if chance is not None and (chance["yes"] >= 0.5) == (label == "yes"):
            score, rationale = chance["yes"], f"{label} ({chance['yes']:.2f})"
        evidence = answers.get(f"{key}_evidence", "")
        if evidence.strip(" .\"'").lower() not in ("", "none"):
            rationale += f": {evidence}"
        verdicts[key] = Verdict(score=score, rationale=rationale)
    return verdicts


def _no_verdict(reason: str) -> Verdict:
    return Verdict(score=None, rationale=reason)


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
