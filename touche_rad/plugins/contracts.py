"""The contracts of plugins, and the options and services they are made with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from touche_rad.contest import Contest, Outcome
from touche_rad.debate import Argument, Debate, Hit, Response, Verdicts
from touche_rad.errors import UserError
from touche_rad.models import Model

if TYPE_CHECKING:
    from touche_rad.debaters.rdebater.schemes import Annotation, Annotator, Cost


class ArgumentIndex(Protocol):
    """An opened argument index."""

    def __len__(self) -> int:
        """Count the arguments."""
        ...

    def get(self, argument_id: str) -> Argument | None:
        """Return the argument with this id, or None."""
        ...

    @property
    def fingerprint(self) -> str:
        """What tells this index's content from another's."""
        ...

    def scored(self, field: str, queries: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """Return each query's best `k` ids with their scores; equal scores by id."""
        ...

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        """Return the best `k` arguments by one field: text, attacks, supports, topic or all."""
        ...

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search many queries at once."""
        ...

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument."""
        ...


@runtime_checkable
class GivesMany(Protocol):
    """An index that gives many arguments as quickly as one."""

    def get_all(self, ids: Sequence[str]) -> list[Argument | None]:
        """Return the argument of each id, or None."""
        ...


def arguments_by(index: ArgumentIndex, ids: Sequence[str]) -> list[Argument | None]:
    """Return the argument of each id, or None, asked at once where the index can do that."""
    return index.get_all(ids) if isinstance(index, GivesMany) else [index.get(one) for one in ids]


class Meaning(Protocol):
    """What an index tells of texts that say alike in other words."""

    def nearest(self, field: str, texts: Sequence[str], k: int) -> list[list[str]]:
        """Return the ids of the arguments nearest to each text, nearest first."""
        ...

    def likeness(self, field: str, texts: Sequence[str], ids: Sequence[str]) -> list[list[float]]:
        """Return how like each text is to each argument by its field, -1 to 1."""
        ...


@runtime_checkable
class MeaningIndex(Protocol):
    """An index that may know meaning."""

    @property
    def meaning(self) -> Meaning | None:
        """What it knows, if it does."""
        ...


class Memory(Protocol):
    """What an index remembers of its arguments: which schemes they use, and how well."""

    @property
    def fingerprint(self) -> str:
        """What tells this memory's content from another's."""
        ...

    def annotations(self, ids: Sequence[str]) -> list[Annotation | None]:
        """Return the annotation of each argument, or None where there is none."""
        ...

    def using(self, ids: Sequence[str]) -> list[bool | None]:
        """Return whether each argument uses any scheme, or None where that is not known."""
        ...


@runtime_checkable
class RemembersIndex(Protocol):
    """An index that may have a memory."""

    @property
    def memory(self) -> Memory | None:
        """Its memory, if it was annotated."""
        ...


class IndexHome(Protocol):
    """A kind of place where an index lives, and how one is made there."""

    def accepts(self, location: str) -> bool:
        """Whether this location is one of mine."""
        ...

    def open(self, location: str) -> ArgumentIndex:
        """Open an index that is there."""
        ...

    def build(self, arguments: Iterable[Argument], location: str, *, replace: bool = False) -> int:
        """Make an index there and return how many arguments it holds."""
        ...


@runtime_checkable
class KeepsMemory(Protocol):
    """A home that keeps a memory beside an index."""

    def annotate(
        self,
        location: str,
        annotator: Annotator,
        *,
        of: Iterable[Argument] | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> int:
        """Annotate what the index holds, going on where a killed run was.

        Args:
            location: The index.
            annotator: Who annotates.
            of: The arguments that the index must hold; another index is refused.
            report: Told how many arguments are done of how many.

        Returns:
            How many are annotated; 0 where all were before.
        """
        ...

    def cost_of_annotating(self, location: str, annotator: Annotator) -> Cost:
        """Return what annotating what is left will take, about."""
        ...


@dataclass(frozen=True)
class VectorsWanted:
    """Which vectors an index is given besides its words."""

    encoder: str
    fields: tuple[str, ...] = ("text", "attacks", "supports")
    precision: Literal["float16", "int8"] = "float16"
    graph: bool = False
    """Whether a graph for approximate search (HNSW) is made too."""


@runtime_checkable
class KeepsVectors(Protocol):
    """A home that keeps vectors beside an index."""

    def add_vectors(
        self,
        location: str,
        wanted: VectorsWanted,
        *,
        of: Iterable[Argument] | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> int:
        """Encode what the index holds, going on where a killed run was.

        Args:
            location: The index.
            wanted: Which vectors.
            of: The arguments that the index must hold; another index is refused.
            report: Told how many texts are done of how many.

        Returns:
            How many texts there are.
        """
        ...


@runtime_checkable
class OnAServer(Protocol):
    """A home whose indexes are no folders of this disk."""

    def exists(self, location: str) -> bool:
        """Whether an index is there."""
        ...


@runtime_checkable
class Dumps(Protocol):
    """A home on a server, whose indexes can be brought here whole."""

    def dump(
        self, location: str, path: Path, report: Callable[[int, int], None] | None = None
    ) -> int:
        """Write all arguments to a file of JSON lines and return how many there are."""
        ...


@dataclass(frozen=True)
class Services:
    """What a plugin may use besides the debate it is given."""

    index: ArgumentIndex | None = None
    seed: int = 0
    model: Model | None = None

    def need_model(self, who: str) -> Model:
        """Return the language model, or say how to give one."""
        if self.model is None:
            raise UserError(
                f"{who} needs a language model: give one with -m URL#MODEL, -m vllm:MODEL, or "
                "OPENAI_BASE_URL and OPENAI_MODEL in the environment"
            )
        return self.model

    def need_index(self, who: str) -> ArgumentIndex:
        """Return the index, or say how to give one."""
        if self.index is None:
            raise UserError(
                f"{who} needs an argument index: give one with -i DIR (touche-rad index)"
            )
        return self.index


@runtime_checkable
class Debater(Protocol):
    """Answers the last turn of a debate. `answer` may be `def` or `async def`."""

    def answer(self, debate: Debate) -> Response | Awaitable[Response]:
        """Answer the user's last utterance."""
        ...


@runtime_checkable
class Explains(Protocol):
    """A debater that can show how it chose: each candidate with its features, best first."""

    def explain(self, debate: Debate) -> list[dict[str, Any]]:
        """Return one row a candidate."""
        ...


@runtime_checkable
class Judge(Protocol):
    """Judges the last response of a debate on the four maxims. `judge` may be async.

    The debate ends with the judged turn: what came later was cut off before.
    """

    def judge(self, debate: Debate) -> Verdicts | Awaitable[Verdicts]:
        """Give a verdict on each maxim."""
        ...


@runtime_checkable
class JudgesAll(Protocol):
    """A judge that may judge all responses of a debate at once."""

    async def judge_all(self, debate: Debate) -> Sequence[Verdicts] | None:
        """Give the verdicts on each turn, or None where each is to be asked for by itself."""
        ...


@runtime_checkable
class Panel(Protocol):
    """Judges a whole debate of speeches. `judge` may be async."""

    def judge(self, contest: Contest) -> Outcome | Awaitable[Outcome]:
        """Say who won, and why."""
        ...


@runtime_checkable
class Draws(Protocol):
    """A panel whose outcomes can be drawn in the report.

    Outcomes come from a file: nothing of one may reach the page unescaped. The page holds the style
    and the script once, and runs no other script.
    """

    @staticmethod
    def drawing(outcome: Outcome, contest: Contest | None) -> str:
        """Return a fragment of HTML, or nothing."""
        ...

    @staticmethod
    def drawing_style() -> str:
        """Return the style of all fragments."""
        ...

    @staticmethod
    def drawing_script() -> str:
        """Return the script of all fragments."""
        ...


@runtime_checkable
class Exports(Protocol):
    """A panel whose outcomes hold something that other programs open, such as a graph."""

    @staticmethod
    def exports(outcome: Outcome) -> Mapping[str, str]:
        """Return texts by the endings of their files; nothing where an outcome holds none."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Finds arguments for a query."""

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the best `k` hits, best first."""
        ...
