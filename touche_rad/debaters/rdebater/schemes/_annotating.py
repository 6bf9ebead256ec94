"""Ask a model for the schemes of texts and how well they are used."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, create_model

from touche_rad.debaters.rdebater.schemes.vocabulary import (
    REASON_WORDS,
    Annotation,
    Dimension,
    Exemplars,
    Level,
    Mark,
    Scheme,
    dimensions,
    exemplars,
    schemes,
)
from touche_rad.errors import WorkError
from touche_rad.lists import in_parts, unique
from touche_rad.models import ModelError, Prompt
from touche_rad.models.errors import EmptyReply, InvalidAnswer, PromptTooLong, Refusal, Truncated
from touche_rad.models.output import Line, schema_limits
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services
from touche_rad.text import clean, digest_of_text, packaged_text

Label = Literal["poor", "average", "good", "excellent"]
LabelOrNone = Literal["none", "poor", "average", "good", "excellent"]
_ALIASES: Final[dict[Dimension, tuple[str, ...]]] = {
    Dimension.ACCEPTABILITY: ("acceptability",),
    Dimension.INFERENCE: ("Inference", "inference"),
    Dimension.RELEVANCE: ("relevance",),
    Dimension.ROBUSTNESS: ("Robustness", "Defeasibility", "robustness"),
}
"""The paper's instruction, format and examples use different names for the dimensions."""


class Reason(BaseModel):
    """The reason for a scheme."""

    reason: Line = ""


Named: type[BaseModel] = create_model(
    "Schemes",
    __config__=ConfigDict(extra="forbid"),  # so that a miswritten name is read forgivingly
    **{scheme.name.lower(): (Reason | None, Field(None, alias=scheme.value)) for scheme in Scheme},  # type: ignore[call-overload]
)
"""The answer of the annotation agent: one key per scheme that is used. Other keys are ignored."""


def _levels(labels: BaseModel) -> dict[Dimension, Level]:
    fields = dict(labels)
    return {dimension: Level[fields[dimension.name.lower()].upper()] for dimension in Dimension}


_dimension_fields: dict[str, Any] = {
    dimension.name.lower(): (
        LabelOrNone,
        Field(validation_alias=AliasChoices(dimension.value, *_ALIASES[dimension])),
    )
    for dimension in Dimension
}
Scores: type[BaseModel] = create_model("Scores", reason=(Line, ""), **_dimension_fields)
"""The labels of one scheme."""


class Used(BaseModel):
    """A scheme with its labels in a merged answer."""

    scheme: Scheme
    acceptability: Label
    inference: Label
    relevance: Label
    robustness: Label


class NumberedSchemes(BaseModel):
    """The schemes of one argument."""

    number: int
    schemes: Sequence[Used] = ()


class Together(BaseModel):
    """A merged answer on several arguments."""

    arguments: Sequence[NumberedSchemes]


SCHEMES: Final = "schemes"
MAX_LETTERS: Final = 4_000
MAX_SCHEMES: Final = 3
"""Maximum schemes per argument if several arguments are annotated in one call."""
_TOKENS_PER_TEXT: Final = 400
"""Limit of a merged answer: three schemes with four labels each."""

ERRORS_OF_TEXT: Final = (InvalidAnswer, Refusal, Truncated, EmptyReply, PromptTooLong)
"""Errors that concern one text; after any other error the next call would fail too."""


class SchemeAnnotator:
    """Names the argumentation schemes of each argument and how well it uses them."""

    needs: ClassVar = ("model",)
    name: ClassVar = SCHEMES
    labels: ClassVar = tuple(scheme.value for scheme in Scheme)

    class Options(PluginOptions):
        """Which calls are made."""

        calls: Literal["merged", "separate"] = "merged"
        """one call for several texts, or two calls per text (paper)"""
        per_call: Annotated[int, Field(ge=1, le=16)] = 4
        """texts of a merged call"""
        exemplars: Exemplars = "levels"
        """examples in the prompt: one per label, the paper's pairs, both"""

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.model = services.need_model("annotator schemes")
        self.per_call = options.per_call if options.calls == "merged" else 1

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that an annotation depends on."""
        prompts = [f"{name}.jinja" for name in ("annotation", "scoring", "together")]
        tables = [f"{name}.toml" for name in ("schemes", "dimensions", "exemplars")]
        content = "".join(packaged_text(__package__, name) for name in (*prompts, *tables))
        return {
            "model": self.model.identity,
            "calls": self.options.calls,
            "per_call": self.per_call,
            "exemplars": self.options.exemplars,
            "prompts": digest_of_text(content, 16),
        }

    async def annotate_all(
        self, texts: Sequence[str], report: Callable[[int], None]
    ) -> list[dict[str, Any] | None]:
        """Annotate texts; WorkError if the model fails, or has no valid answer for any text."""
        parts = in_parts(texts, self.per_call)
        answers = await self.model.ask_all(
            [partial(self.annotate, part, again=True) for part in parts],
            lambda done, _: report(min(done * self.per_call, len(texts))),
        )
        annotations: list[Annotation | ModelError] = []
        for part, answer in zip(parts, answers, strict=True):
            annotations += [answer] * len(part) if isinstance(answer, ModelError) else answer
        errors = [error for error in annotations if isinstance(error, ModelError)]
        stopping = [error for error in errors if not isinstance(error, ERRORS_OF_TEXT)]
        if stopping or len(errors) == len(annotations):
            first = (stopping or errors)[0]
            raise WorkError(
                f"annotation stopped: {first}; finished blocks are saved: run "
                "the same command again to resume"
            )
        return [
            None if isinstance(annotation, ModelError) else annotation.model_dump(mode="json")
            for annotation in annotations
        ]

    async def annotate(
        self, texts: Sequence[str], *, again: bool = False
    ) -> list[Annotation | ModelError]:
        """Annotate the texts of one call; `again` asks once more for each invalid annotation."""
        if self.options.calls == "separate":
            return [await self._annotate_in_two_calls(text) for text in texts]
        annotations = await self._annotate_in_one_call(texts)
        if again and len(texts) > 1:
            for place, annotation in enumerate(annotations):
                if isinstance(annotation, ERRORS_OF_TEXT):
                    (annotations[place],) = await self._annotate_in_one_call([texts[place]])
        return annotations

    async def _annotate_in_two_calls(self, text: str) -> Annotation | ModelError:
        """Ask for schemes, then for their labels, as in the paper."""
        text = _cut(text)
        prompt = Prompt.load(__package__, "annotation").messages(
            schemes=schemes(), words=REASON_WORDS, text=text
        )
        try:
            named = await self.model.ask(prompt, Named, step="schemes.annotation")
            reasons = {}
            named_fields = dict(named)
            for scheme in Scheme:
                named_scheme = named_fields[scheme.name.lower()]
                if named_scheme:
                    reasons[scheme] = " ".join(clean(named_scheme.reason).split()[:REASON_WORDS])
            if not reasons:
                return Annotation()
            annotation = {scheme.value: {"reason": reason} for scheme, reason in reasons.items()}
            prompt = Prompt.load(__package__, "scoring").messages(
                dimensions=dimensions(),
                exemplars=exemplars(self.options.exemplars),
                text=text,
                annotation=json.dumps(annotation, ensure_ascii=False),
            )
            # The answer has labels of all schemes that were named.
            fields: dict[str, Any] = {
                scheme.name.lower(): (Scores, Field(alias=scheme.value)) for scheme in reasons
            }
            schema = create_model("Scoring", **fields)
            scores = dict(await self.model.ask(prompt, schema, step="schemes.scoring"))
        except ModelError as error:
            return error
        marks: dict[Scheme, Mark] = {}
        for scheme, reason in reasons.items():
            levels = _levels(scores[scheme.name.lower()])
            if any(levels.values()):  # a scheme whose labels are all none is not used
                marks[scheme] = Mark(levels=levels, reason=reason)
        return Annotation(marks=marks)

    async def _annotate_in_one_call(self, texts: Sequence[str]) -> list[Annotation | ModelError]:
        prompt = Prompt.load(__package__, "together").messages(
            schemes=schemes(),
            dimensions=dimensions(),
            exemplars=exemplars(self.options.exemplars),
            most=MAX_SCHEMES,
            texts=[_cut(text) for text in texts],
        )
        count = len(texts)
        used: Any = (list[Used], Field(default=[], json_schema_extra={"maxItems": MAX_SCHEMES}))
        number: Any = (int, schema_limits(minimum=1, maximum=count))
        numbered_schema = create_model(
            "Numbered", __base__=NumberedSchemes, number=number, schemes=used
        )
        listed: Any = (list[numbered_schema], schema_limits(minItems=count, maxItems=count))
        try:
            answer = await self.model.ask(
                prompt,
                create_model("Together", __base__=Together, arguments=listed),
                step="schemes.annotation_and_scoring",
                max_tokens=_TOKENS_PER_TEXT * count,
            )
        except ModelError as error:
            return [error] * count
        annotations: list[Annotation | ModelError] = [
            InvalidAnswer(f"{self.model.name}: the answer leaves out argument {number}")
            for number in range(1, count + 1)
        ]
        for numbered in reversed(answer.arguments):
            if 1 <= numbered.number <= count:
                # Of a repeated scheme, the first counts.
                first = unique(numbered.schemes, key=attrgetter("scheme"))[:MAX_SCHEMES]
                uses = {use.scheme: use for use in first}
                marks = {
                    scheme: Mark(levels=_levels(uses[scheme]))
                    for scheme in Scheme
                    if scheme in uses
                }
                annotations[numbered.number - 1] = Annotation(marks=marks)
        return annotations


def _cut(text: str) -> str:
    return clean(text)[:MAX_LETTERS]
