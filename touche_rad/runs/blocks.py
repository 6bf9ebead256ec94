"""Blocks of a run's debates, processed by the workers of a Ray cluster: `--engine ray`.

The driver reads the input, sends blocks of debates with their numbers to the workers, and writes
each finished block to the journal of the run. So a driver that is killed and started again does
only what is missing, also without Ray. A worker is an actor: it opens the index and the model once
and processes its blocks like a run in one process. Plain actors and not Ray Data: a block counts as
done when the journal has it, the driver holds only the blocks under work, and one debate that kills
its worker is found and does not stop the run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from touche_rad.errors import WorkError
from touche_rad.models import Model
from touche_rad.models.errors import OverBudget
from touche_rad.models.usage import Cost, Usage
from touche_rad.runs.journal import Done
from touche_rad.runs.stand_ins import StandInStop
from touche_rad.runs.work import RunOptions
from touche_rad.runs.worker import Block, BlockResult, Setup

MOST_LOST: Final = 3
"""How many workers may die of one debate."""
_SHARE: Final = 4
"""A block has at most this part of what is left for each worker."""
_MOST_ROUNDS: Final = 16
"""A block has at most this many times the debates that a worker processes in parallel."""
_NO_MEMORY: Final = "running low on memory"


class BlockRun:
    """The blocks of one run: those that are left, those under work, and the results."""

    def __init__(
        self,
        number: int,
        setup: Setup,
        options: RunOptions,
        of_user: Model | None,
        budget: Any,
        keep: Callable[[int, Done], None],
        units: int,
        blocks: Iterator[Block],
    ) -> None:
        self.number, self.setup, self.budget, self.units = number, setup, budget, units
        self.settings = RunOptions(
            workers=options.workers, strict=options.strict, hand_in=options.hand_in
        )
        """The options of the workers."""
        self.left = 0
        """Blocks that no worker has."""
        self.failures: list[str] = []
        """A line for each unit that failed."""
        self.error: Exception | None = None
        """Why the run cannot go on."""
        self._options, self._of_user, self._keep = options, of_user, keep
        self._blocks = blocks
        self._again: deque[Block] = deque()
        self._under_work = 0
        self._tracebacks: set[str] = set()

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to do, or the run cannot go on."""
        return self.error is not None or not (self.left or self._under_work)

    def take(self) -> Block:
        """Return the next block, for a worker."""
        self.left -= 1
        self._under_work += 1
        return self._again.popleft() if self._again else next(self._blocks)

    def give_back(self, block: Block, *more: Block) -> None:
        """Take a block, or what it was divided into, from a worker that died."""
        self._under_work -= 1
        self.left += 1 + len(more)
        self._again.extend((block, *more))

    def lose(self, block: Block, error: Exception) -> None:
        """Take a block from a worker that died while it processed it."""
        lost = block.lost + 1
        if lost < MOST_LOST:
            self.give_back(Block(block.units, lost))
        elif len(block.units) > 1:
            self.give_back(*(Block((unit,), 1) for unit in block.units))
        else:
            self._under_work -= 1
            number = block.units[0][0] + 1
            self.failures.append(f"number {number}: its worker died {lost} times: {death(error)}")

    def finish(self, result: BlockResult) -> None:
        """Keep what a worker made of a block."""
        self._under_work -= 1
        if self.error is None:
            try:
                self._take(result)
            except Exception as error:
                self.error = error

    def _take(self, result: BlockResult) -> None:
        """Keep the results; answers are cached before their results are kept."""
        options = self._options
        for model, spent in ((options.model, result.spent), (self._of_user, result.of_user)):
            if model is not None and spent is not None:
                model.keep_answers(spent.answers)
                model.usage.add(spent.usage)
                model.warnings.extend(one for one in spent.warnings if one not in model.warnings)
        for number, done in result.done:
            self._keep(number, done)
        if options.errors is not None and result.errors not in self._tracebacks:
            self._tracebacks.add(result.errors)
            _append(options.errors, result.errors)
        if self.setup.trace is not None:
            _append(self.setup.trace, result.trace)
        self.failures += result.failures
        if result.stopped:
            raise StandInStop(result.stopped)


def sizes(total: int, actors: int, workers: int) -> Iterator[int]:
    """Yield the sizes of blocks: large ones first, and small ones at the end for an even finish."""
    left = total
    while left:
        size = max(workers, min(_MOST_ROUNDS * workers, left // (_SHARE * actors)))
        size = min(left, size, -(-total // actors))
        left -= size
        yield size


def cut(units: Iterator[tuple[int, Any]], lengths: Iterator[int]) -> Iterator[Block]:
    """Cut units into blocks of these sizes."""
    for size in lengths:
        block = tuple(islice(units, size))
        if not block:
            raise WorkError("the input has fewer debates than when the run began")
        yield Block(block)


def last_line(error: BaseException) -> str:
    """Return the last line of an error of Ray."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__


def death(error: BaseException) -> str:
    """Return why a worker died; Ray ends workers of a machine without memory."""
    if _NO_MEMORY in str(error):
        return "its machine had no memory left: use fewer --actors or --workers"
    return last_line(error)


def _append(path: Path, text: str) -> None:
    if text:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)


class Budget:
    """The budget of a run that all workers share; an actor."""

    def __init__(self, calls: int | None, tokens: int | None, seconds: float | None) -> None:
        self._usage = Usage(calls, tokens, seconds)

    def reserve(self) -> str:
        """Count one call; return why it may not be made, or an empty text."""
        try:
            self._usage.reserve()
        except OverBudget as error:
            return str(error)
        return ""

    def spend(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Count the tokens of a reply."""
        self._usage.spend(Cost(prompt_tokens=prompt_tokens, completion_tokens=completion_tokens))
