"""Read a speech into the graph: ask a model for a draft, check the draft, and merge it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, create_model

from judges.debgraph._options import Options
from judges.debgraph.graph import (
    MEANINGS,
    MOTION,
    Edge,
    Relation,
    RoundSpeech,
    SceneGraph,
    SpeechOrigin,
    quote,
)
from touche_rad.contest import OTHER, Side
from touche_rad.frozen import frozen
from touche_rad.models import Message, Model, ModelError, Prompt
from touche_rad.models.errors import InvalidAnswer, Truncated
from touche_rad.models.output import schema_limits
from touche_rad.text import clean, excerpt, packaged_text

JSON_INDENT: Final = 2
MOST_ARGUMENTS: Final = 400
"""An answer without a bound has fewer arguments, because of its token limit: the ids end there."""
ARGUMENTS_AFTER_CUT: Final = 20
"""If an answer without a bound was cut off, half as many arguments are asked for."""
FEWEST_WORDS: Final = 50
"""Words of a speech that is not cut further, however small the model is."""
MAX_TOKENS: Final = 2_048
"""Token limit of a graph with a limit of arguments; without one it is twice as high."""
_LONGEST_FAULT: Final = 300

Sentence = Annotated[str, schema_limits(maxLength=400)]


class DraftArgument(BaseModel):
    """An argument of the speech."""

    id: int
    text: Sentence


class DraftRelation(BaseModel):
    """A relation between two arguments."""

    source: int
    relation: Literal["claim", "premise", "conclusion", "first principle", "rebuttal"]
    target: int


class GraphDraft(BaseModel):
    """A graph as the model wrote it, not yet checked; other fields are ignored."""

    arguments: list[DraftArgument]
    relations: list[DraftRelation]
    explanation: Sentence = ""


@cache
def draft_schema(most: int, first: int) -> type[GraphDraft]:
    """Return the schema of a draft of at most `most` arguments (0: no limit).

    A server that decodes by the schema keeps these limits and the free ids, which begin at
    `first`. The limits are not validated: a draft beyond them is checked by the rules of the graph.
    """
    last = last_id(most, first)

    def limited(kind: object, **limits: int) -> Any:
        return Annotated[kind, schema_limits(**limits)]

    argument: object = create_model(
        "DraftArgument", __base__=DraftArgument, id=limited(int, minimum=first, maximum=last)
    )
    relation: object = create_model(
        "DraftRelation",
        __base__=DraftRelation,
        source=limited(int, minimum=1, maximum=last),
        target=limited(int, minimum=MOTION, maximum=last),
    )
    most_arguments = {"maxItems": most} if most else {}
    relations = {"maxItems": most_relations(most)} if most else {}
    return create_model(
        "SceneGraph",
        __base__=GraphDraft,
        arguments=limited(list[argument], **most_arguments),
        relations=limited(list[relation], **relations),
    )


def last_id(most: int, first: int) -> int:
    """Return the highest id that an argument of a draft may have."""
    return first + (most or MOST_ARGUMENTS) - 1


def most_relations(most: int) -> int:
    """Return how many relations a draft of at most `most` arguments may have."""
    return 2 * most


@dataclass
class CheckedDraft:
    """The valid part of a draft."""

    arguments: dict[int, str] = field(default_factory=dict)
    """The texts of the new arguments by ids that are free in the graph."""
    relations: list[Edge] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What was wrong with the draft, in words for the model."""


def check(
    draft: GraphDraft, graph: SceneGraph, origin: SpeechOrigin, first_id: int = 0
) -> CheckedDraft:
    """Check a draft against the graph and keep the valid part."""
    checked = CheckedDraft()
    faults = checked.faults

    # Number the new arguments; a draft may use an id twice, or one that is in the graph.
    free = first_id or graph.next_id
    id_of_text = {_letters(node.text): node.id for node in graph.arguments()}
    ids: dict[int, int] = {}
    """The id in the graph for each id in the draft."""
    for argument in draft.arguments:
        text = clean(argument.text)
        same = id_of_text.get(_letters(text))
        if not text:
            faults.append(f"argument {argument.id} has no text")
        elif argument.id in ids:
            faults.append(f"the id {argument.id} is used twice")
        elif same is not None:
            ids[argument.id] = same
            faults.append(
                f"argument {argument.id} is already in the graph: refer to it by its id {same}"
            )
        else:
            if argument.id in graph:
                faults.append(f"the id {argument.id} is already used: give new arguments new ids")
            ids[argument.id] = id_of_text[_letters(text)] = free
            checked.arguments[free] = text
            free += 1

    # Check the relations by these ids.
    sides: dict[int, Side | None] = {id_: graph.side(id_) for id_ in graph.network}
    sides |= dict.fromkeys(checked.arguments, origin.side)
    for relation in draft.relations:
        kind = Relation(relation.relation)
        source = ids.get(relation.source, relation.source)
        target = ids.get(relation.target, relation.target)
        if kind.attacks and relation.target in graph:
            target = relation.target  # a reused id means the opponent's argument in a rebuttal
        ends = {relation.source: source, relation.target: target}
        missing = [str(id_) for id_, end in ends.items() if end not in sides]
        if missing:
            fault = f"there is no argument {' or '.join(missing)}"
        else:
            fault = _fault(kind, source, target, sides, origin.side)
        valid = not fault
        if valid and kind.attacks and target == MOTION:
            kind = Relation.CLAIM
            fault = "an argument on the motion (0) itself is a claim"
        if fault:
            faults.append(f"{relation.source} {relation.relation} {relation.target}: {fault}")
        edge = Edge(source, target, kind, origin.round)
        if valid and edge not in checked.relations:
            checked.relations.append(edge)
    return checked


def _fault(
    kind: Relation, source: int, target: int, sides: Mapping[int, Side | None], side: Side
) -> str:
    """Return why a relation is not allowed; a side relates only its own arguments."""
    if source == target:
        return "an argument cannot be related to itself"
    if source == MOTION:
        return "the motion (0) can only be a target"
    if sides[source] != side:
        return "the source must be an argument of your own side"
    if kind.attacks and sides[target] == side:
        return "a rebuttal must have a target of the other side"
    if not kind.attacks and sides[target] == OTHER[side]:
        return "only a rebuttal may have a target of the other side"
    return ""


def merge(checked: CheckedDraft, graph: SceneGraph, origin: SpeechOrigin) -> None:
    """Add the valid part of a draft to the graph (MG in the paper's algorithm 1)."""
    for id_, text in checked.arguments.items():
        graph.add(id_, text, origin)
    for edge in checked.relations:
        graph.relate(edge)


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum()) or text


@frozen
class SpeechReport:
    """How one speech was read."""

    speech: RoundSpeech
    added: Sequence[int] = ()
    relations: Sequence[Relation] = ()
    asked: int = 0
    """Number of times the graph of this speech was asked for."""
    faults: Sequence[str] = ()
    degraded: bool = False
    """Whether nothing of the speech is in the graph because of faults."""
    shortened: bool = False
    """Whether the speech was cut because the prompt was too long for the model."""
    explanation: str = ""


@frozen
class SpeechReader:
    """Reads the speeches of a debate into its graph, one after the other."""

    model: Model
    options: Options
    info: str

    async def read(
        self, graph: SceneGraph, speech: RoundSpeech, thoughts: Sequence[str]
    ) -> SpeechReport:
        """Ask for the graph of a speech until it can be merged, and merge it.

        After the last retry the valid part of the last draft is merged.
        """
        options = self.options
        counter = options.counter and len(graph) > 0
        visible = graph if counter else SceneGraph(graph.motion)
        most = options.max_arguments
        report = SpeechReport(speech)
        usable: tuple[CheckedDraft, SpeechReport] | None = None
        for asked in range(1, options.max_retries + 2):
            versions = _PromptVersions(
                self._prompts(visible, speech, thoughts, counter, most, report.faults)
            )
            report = replace(report, asked=asked)
            try:
                draft = await self.model.ask(
                    versions.first,
                    draft_schema(most, visible.next_id),
                    shorten=versions.shorter,
                    step="debgraph.counter" if counter else "debgraph.graph",
                    max_tokens=MAX_TOKENS if most else 2 * MAX_TOKENS,
                )
            except InvalidAnswer as error:
                report = replace(report, faults=(excerpt(error, _LONGEST_FAULT),))
                continue
            except Truncated:
                most = max(1, (most or ARGUMENTS_AFTER_CUT) // 2)
                report = replace(
                    report,
                    faults=(f"the answer was cut off: write at most {most} new arguments",),
                )
                continue
            except ModelError as error:
                report = replace(report, faults=(str(error),))
                break
            checked = check(draft, visible, speech.origin, graph.next_id)
            report = replace(
                report,
                faults=checked.faults,
                explanation=clean(draft.explanation),
                shortened=versions.shortened,
            )
            empty = not (draft.arguments or draft.relations)
            if empty or checked.arguments or checked.relations:
                usable = (checked, report)
                if not checked.faults or options.invalid_graph == "repair":
                    break
        if usable is None:
            return replace(report, degraded=True)
        checked, of_draft = usable
        merge(checked, graph, speech.origin)
        return replace(
            of_draft,
            asked=report.asked,
            added=list(checked.arguments),
            relations=[edge.relation for edge in checked.relations],
        )

    def _prompts(
        self,
        graph: SceneGraph,
        speech: RoundSpeech,
        thoughts: Sequence[str],
        counter: bool,
        most: int,
        faults: Sequence[str],
    ) -> Iterator[tuple[bool, Sequence[Message]]]:
        """Yield the prompt, then shorter ones, each with whether its speech is cut.

        The graph is shortened first, from JSON to lines, then the speech.
        """
        side = speech.origin.side
        prompt = Prompt.load(__package__, "counter" if counter else "graph")
        example = "counter" if counter else "first"
        values = {
            "relations": MEANINGS,
            "example": packaged_text(__package__, f"example-{example}.json").strip(),
            "motion": quote(graph.motion),
            "info": self.info,
            "side": side,
            "most": most,
            "most_relations": most_relations(most),
            "next_id": graph.next_id,
            "last_id": last_id(most, graph.next_id),
            "thoughts": [quote(thought) for thought in thoughts],
        }
        words = speech.text.split()
        text = quote(speech.text)
        if counter:
            last = graph.arguments()[-1].side
            values |= {"other": OTHER[side], "last": last, "graph": graph.as_lines()}
            if self.options.graph_format == "json":
                in_json = {**values, "graph": graph.as_json_text(JSON_INDENT)}
                yield False, _again(prompt.messages(**in_json, speech=text), faults)
        yield False, _again(prompt.messages(**values, speech=text), faults)
        while len(words) > FEWEST_WORDS:
            words = words[: len(words) // 2]
            yield True, _again(prompt.messages(**values, speech=quote(" ".join(words))), faults)


class _PromptVersions:
    """The versions of a prompt, longest first."""

    def __init__(self, prompts: Iterator[tuple[bool, Sequence[Message]]]) -> None:
        self._prompts = prompts
        self.shortened, self.first = next(prompts)

    def shorter(self, _: Sequence[Message]) -> Sequence[Message] | None:
        version = next(self._prompts, None)
        if version is None:
            return None
        self.shortened, messages = version
        return messages


def _again(messages: Sequence[Message], faults: Sequence[str]) -> Sequence[Message]:
    """Add the faults of an answer to the last message: some servers refuse two of the user."""
    if not faults:
        return messages
    *first, last = messages
    (again,) = Prompt.load(__package__, "again").messages(faults=faults[:8])
    return (*first, Message(last.role, f"{last.content}\n\n{again.content}"))
