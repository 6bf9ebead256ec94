"""The judges `zsl`, `fsl1`, `fsl2`, `analysis1`, `analysis3`, `analysis5` and `best`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

import anyio
from pydantic import BaseModel, Field, create_model, model_validator

from touche_rad.criteria import Criterion
from touche_rad.debate import Argument, Debate, Turn, Verdict, Verdicts
from touche_rad.errors import UserError
from touche_rad.files.criteria import EVIDENCE
from touche_rad.files.records import read_models
from touche_rad.lists import alternate
from touche_rad.models import Model, ModelError, Prompt, drop_oldest
from touche_rad.models.errors import InvalidAnswer, Refusal, Truncated
from touche_rad.models.output import Line, Page
from touche_rad.models.prompts import render_dialogue
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services, Setting
from touche_rad.records import FrozenRecord
from touche_rad.text import clean, plain_words, sentences

ALL: Final = 1_000_000
"""A number of arguments that no response has."""
EXAMPLES_FORMAT: Final = 1
LONGEST_TEXT: Final = 2_000
"""Maximum characters of a text in a prompt."""

Strategy = Literal["zsl", "fsl1", "fsl2", "analysis1", "analysis3", "analysis5"]
ANALYSES: Final[Mapping[Strategy, int]] = {"analysis1": 1, "analysis3": 3, "analysis5": 5}
BEST_STRATEGY: Final[Mapping[str, Strategy]] = {
    "relation": "zsl",
    "quality": "analysis5",
    "manner": "analysis1",
    "quantity": "analysis1",
}
"""The strategy that was best for each maxim on the paper's development data."""


class Example(FrozenRecord):
    """A labelled response; a maxim without a clear verdict has no label."""

    format: int = EXAMPLES_FORMAT
    debate: str = ""
    turn: int | None = None
    """Where the example comes from: the debate's id, and the number of the turn from 1."""
    before: tuple[str, ...] = ()
    """The earlier messages of the conversation, one line each."""
    user: str = Field(min_length=1)
    system: str = ""
    arguments: tuple[str, ...] = ()
    labels: Mapping[str, str]
    """The answers by criterion."""


def examples(path: Path | None = None) -> tuple[Example, ...]:
    """Return the examples of a file, or ours; an InputError names a wrong line."""
    place = path or Path(str(files(__package__).joinpath("examples.jsonl")))
    return tuple(read_models(place, Example, EXAMPLES_FORMAT))


def select(pool: Sequence[Example], key: str, label: str, count: int) -> list[Example]:
    """Return the first examples with a label; raise UserError if there are too few."""
    fitting = [example for example in pool if example.labels.get(key) == label][:count]
    if len(fitting) < count:
        raise UserError(
            f"{count} examples with {key} = {label} are needed, and there are {len(fitting)}: draw "
            "them from labels with touche-rad train examples, and add -O examples=FILE"
        )
    return fitting


class _SinaiJudge:
    """Asks a language model the official questions."""

    needs: ClassVar = ("model",)
    criteria: ClassVar = ("any",)
    strategy: ClassVar[Strategy | None] = None

    class Options(PluginOptions):
        """Number of calls, and the examples."""

        profile: str = "lean"
        """paper: one call per maxim"""
        per: Literal["turn", "maxim"] = "turn"
        """one call per turn, or per maxim of a turn"""
        examples: Path | None = None
        """file of labelled examples (default: ours)"""
        shown: Annotated[int | None, Field(ge=0)] = None
        """cited arguments in the prompt; 0: all (default: as the criteria say)"""
        evidence: Setting[Literal["none", "quality", "all"]] = "none"
        """the model quotes evidence before its verdict: on which maxims"""

        @model_validator(mode="after")
        def _can_quote(self) -> _SinaiJudge.Options:
            if self.per == "maxim" and self.evidence != "none":
                raise ValueError("evidence needs per=turn")
            return self

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.model: Model = services.need_model("a judge of SINAI's")
        self._criteria = services.criteria
        self._names: dict[str, tuple[str, ...]] = {}
        for criterion in self._criteria:
            names = (criterion.each_answers or criterion.answers).names
            # Prompts say yes first.
            self._names[criterion.key] = names[::-1] if "yes" in names else names
        self._each = [criterion for criterion in self._criteria if criterion.each]
        if self._each and options.per != "turn":
            raise UserError(f"{self._each[0].key}: a question on each part needs -O per=turn")
        self._shown = self._criteria.sees.arguments
        if options.shown is not None:
            self._shown = options.shown or ALL

        # Examples are shown with the verdict (FSL), or reasons are derived from them (analysis).
        pool = [
            example.replace(arguments=example.arguments[: self._shown])
            for example in examples(options.examples)
        ]
        self._examples: dict[str, list[Example]] = {}
        self._analysed: dict[str, list[Example]] = {}
        by_part = [criterion.key for criterion in self._each]
        for key, names in self._names.items():
            strategy = self.strategy or BEST_STRATEGY[key]
            if strategy == "zsl" or key in by_part:
                continue
            count = ANALYSES.get(strategy, 1)
            order = names[::-1] if strategy == "fsl2" else names
            selected = [shot for name in order for shot in select(pool, key, name, count)]
            by_key = self._analysed if strategy in ANALYSES else self._examples
            by_key[key] = selected
        self._reasons: dict[str, Mapping[str, str] | ModelError] = {}
        self._deriving = {key: anyio.Lock() for key in self._analysed}

        # A prompt for all criteria shows each example once, those that come first on their criteria
        # first, and refers to them by number.
        numbered: list[Example] = []
        for example in alternate(self._examples.values()):
            if example not in numbered:
                numbered.append(example)
        labels = {}
        for key, pair in self._examples.items():
            labels[key] = [(numbered.index(shot) + 1, shot.labels[key]) for shot in pair]
        evidence = [
            criterion.key
            for criterion in self._criteria
            if criterion.evidence and options.evidence in ("all", criterion.key)
        ]
        self._guidance: Mapping[str, Any] = {
            "criteria": {criterion.key: criterion for criterion in self._criteria},
            "answers": " or ".join(dict.fromkeys(chain(*self._names.values()))),
            "unit": self._criteria.unit,
            "examples": numbered,
            "labels": labels,
            "evidence": evidence,
        }

        # The answer on a response has the evidence on a criterion before the verdict on it.
        fields: dict[str, Any] = {}
        for key, names in self._names.items():
            if key in evidence:
                fields[f"quote_{key}"] = (Line, Field("", alias=f"{key}{EVIDENCE}"))
            if key not in by_part:
                fields[f"answer_{key}"] = (Literal[names], Field(alias=key))
        self._answer: Any = create_model("Answer", **fields)

    async def judge(self, debate: Debate) -> Verdicts:
        """Judge the last response."""
        unit = self._criteria.unit
        if not debate.last.response and unit == "response":
            return self._no_verdicts("the last turn has no response")
        sees = self._criteria.sees
        lines = before(debate, with_response=unit == "debate")
        judged = _shown(debate.last, self._shown)
        if unit == "user":
            judged["response"] = lines.pop().removeprefix("User: ")
        if unit != "response" or not self._shown:
            judged["arguments"] = None
        case = {
            "before": lines if sees.conversation or unit == "debate" else [],
            "motion": clean(debate.thesis)[:LONGEST_TEXT] if sees.motion else "",
            "unit": unit,
            "sentences": None,
            **judged,
        }
        if self.options.per == "maxim":
            return await self._judge_by_criterion(case)
        schema = self._answer
        if self._each:
            case["sentences"] = sentences(judged["response"])
            # The form of an answer that has a list with one answer for each part.
            fields: dict[str, Any] = {}
            for criterion in self._each:
                key = criterion.key
                choice: Any = Literal[self._names[key]]
                parts = case["sentences" if criterion.each == "sentence" else "arguments"] or ()
                count = len(parts)
                if count:
                    answers = Field(alias=key, min_length=count, max_length=count)
                    fields[f"answer_{key}"] = (list[choice], answers)
            schema = create_model("Answer", __base__=self._answer, **fields)
        try:
            reasons, missing = await self._derive_all()
            prompt = Prompt.load(__package__, "turn")
            values = {**self._guidance, "reasons": reasons, **case}
            answer, chances = await self.model.ask_scored(
                prompt.messages(**values),
                schema,
                choices=self._names,
                step="sinai.turn",
                shorten=drop_oldest(prompt, "before", values),
            )
        except ModelError as error:
            if isinstance(error, InvalidAnswer) and not self._each:
                return await self._judge_by_criterion(case)
            return self._no_verdicts(str(error))
        return self._read_verdicts(answer, chances) | missing

    def _no_verdicts(self, reason: str) -> Verdicts:
        return dict.fromkeys(self._criteria.keys, Verdict(rationale=reason))

    def _read_verdicts(
        self, answer: BaseModel, likely: Mapping[str, Mapping[str, float]]
    ) -> dict[str, Verdict]:
        """Return verdicts; a score is the mean by the probabilities, if there are some."""
        verdicts = {}
        values = answer.model_dump(by_alias=True)
        for criterion in self._criteria:
            key = criterion.key
            if criterion.each:
                answers = values.get(key, [])  # nothing was asked about no part
                share = answers.count(self._names[key][0]) / max(len(answers), 1)
                verdicts[key] = Verdict(
                    score=share,
                    rationale=", ".join(answers),
                    extra={f"{criterion.each}s": answers},
                )
                continue
            label = rationale = values[key]
            chance = likely.get(key, {})
            if not chance or max(chance, key=chance.__getitem__) != label:
                chance = {label: 1.0}
            else:
                rationale = f"{label} ({chance.get('yes', chance[label]):.2f})"
            evidence = values.get(f"{key}{EVIDENCE}", "")
            if evidence.strip(" .\"'").lower() not in ("", "none"):
                rationale += f": {evidence}"
            verdicts[key] = _verdict(criterion, chance, rationale)
        return verdicts

    async def _judge_by_criterion(self, case: Mapping[str, Any]) -> Verdicts:
        """Judge by each criterion in its own call, as in the paper."""
        verdicts = await self.model.ask_all(
            [partial(self._ask_about, criterion, case) for criterion in self._criteria]
        )
        return {
            key: Verdict(rationale=str(verdict)) if isinstance(verdict, ModelError) else verdict
            for key, verdict in zip(self._criteria.keys, verdicts, strict=True)
        }

    async def _ask_about(self, criterion: Criterion, case: Mapping[str, Any]) -> Verdict:
        key = criterion.key
        names = self._names[key]
        values = {
            "maxim": key,
            "question": criterion.question,
            "criterion": None if self._criteria.official else criterion,
            "answers": " or ".join(names),
            **case,
        }
        name = "zsl"
        if key in self._analysed:
            name = "verdict"
            values["reasons"] = await self._derive_reasons(criterion)
        elif key in self._examples:
            name = "fsl"
            values["examples"] = self._examples[key]
        prompt = Prompt.load(__package__, name)
        likely = await self.model.ask_choice(
            prompt.messages(**values),
            names,
            step=f"sinai.{name}",
            shorten=drop_oldest(prompt, "before", values),
        )
        reported = "yes" if "yes" in likely else max(likely, key=likely.__getitem__)
        return _verdict(criterion, likely, f"{name}: {reported} with {likely[reported]:.2f}")

    async def _derive_all(self) -> tuple[dict[str, Mapping[str, str]], dict[str, Verdict]]:
        """Return the reasons by criterion, and the verdicts that are missing.

        A criterion whose reasons cannot be derived has no verdict; the others are judged.
        """
        analysed = [criterion for criterion in self._criteria if criterion.key in self._analysed]
        if not analysed:
            return {}, {}
        results = await self.model.ask_all(
            [partial(self._derive_reasons, criterion) for criterion in analysed]
        )
        reasons = {}
        missing = {}
        for criterion, result in zip(analysed, results, strict=True):
            if not isinstance(result, ModelError):
                reasons[criterion.key] = result
            else:
                missing[criterion.key] = Verdict(
                    rationale=f"the reasons could not be derived: {result}"
                )
        return reasons, missing

    async def _derive_reasons(self, criterion: Criterion) -> Mapping[str, str]:
        """Derive the reasons on a criterion from examples.

        Reasons are kept, and so is an answer that stays invalid after all repairs: the prompt is
        the same for each response, so a model that cannot answer it is asked only once.
        """
        key = criterion.key
        async with self._deriving[key]:
            if key not in self._reasons:
                messages = Prompt.load(__package__, "reasons").messages(
                    maxim=key,
                    question=criterion.question,
                    names=list(self._names[key]),
                    unit=self._criteria.unit,
                    examples=self._analysed[key],
                )
                fields: Any = {
                    f"reason_{number}": (Page, Field(alias=name))
                    for number, name in enumerate(self._names[key])
                }
                schema = create_model(
                    "Reasons",
                    __doc__="Reasons for yes and for no, which the model derived from examples.",
                    **fields,
                )
                try:
                    reasons = await self.model.ask(messages, schema, step="sinai.reasons")
                    self._reasons[key] = reasons.model_dump(by_alias=True)
                except (InvalidAnswer, Truncated, Refusal) as error:
                    self._reasons[key] = error
            derived = self._reasons[key]
            if isinstance(derived, ModelError):
                raise derived
            return derived


def before(debate: Debate, *, with_response: bool = False) -> list[str]:
    """Return the conversation before or with the last response, one line per message."""
    return render_dialogue(
        debate, user="User", system="System", last_response=with_response, max_letters=LONGEST_TEXT
    )


def _shown(turn: Turn, most: int) -> dict[str, Any]:
    """Return a response and its first arguments as a prompt shows them."""
    if not turn.response:
        return {"response": "(none)", "arguments": []}
    return {
        "response": clean(turn.response.content)[:LONGEST_TEXT],
        "arguments": texts(turn.response.arguments, most),
    }


def texts(arguments: Sequence[Argument], most: int) -> list[str]:
    """Return the texts of the first arguments, equal ones once; of all, as published."""
    first = [clean(argument.text)[:LONGEST_TEXT] for argument in arguments[:most]]
    if most == ALL:
        return first
    by_words: dict[str, str] = {}
    for text in first:
        by_words.setdefault(plain_words(text) or text, text)
    return list(by_words.values())


def _verdict(criterion: Criterion, likely: Mapping[str, float], rationale: str) -> Verdict:
    """Return the most likely answer, with the mean score of all."""
    scores = criterion.answers.scores
    return Verdict(
        score=sum(likely[name] * scores[name] for name in likely) if scores else None,
        answer=max(likely, key=likely.__getitem__),
        rationale=rationale,
    )


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

    criteria = ("grice",)
