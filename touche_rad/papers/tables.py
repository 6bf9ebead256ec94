"""Reads a table file: `sinai/table2` is `sinai/table2.toml` beside this module.

A table has commands that are run once (`steps`), commands for each of its rows (`each`), and parts:
what is scored against which truth, and where the values of each column stand in the result of
`touche-rad score --json`. In commands and conditions, `{data}` is the folder of the data, `{out}`
that of the results, `{model}` the option -m of the row, `{judge}` the user's own -m, `{index}` the
option -i, `{row}` the row's file name, `{seed}` its random seed, `{system}` its plugin, `{debater}`
its name in contests, `{name}` the paper's name of it, and `{debaters}` a -d for each row.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import chain, product
from pathlib import Path
from typing import Final

from pydantic import PositiveInt

from touche_rad import files
from touche_rad.contests.tournament.folder import CONTESTS
from touche_rad.contests.two_sides import FALLBACK, debaters_of
from touche_rad.criteria import grice
from touche_rad.errors import OptionError, UserError, nearest
from touche_rad.files.outputs import read_status, sha256_of
from touche_rad.files.records import numbered_lines, parse
from touche_rad.frozen import frozen
from touche_rad.plugins import parse_plugin
from touche_rad.plugins.digests import digest_of
from touche_rad.plugins.registry import configure, plugin_text
from touche_rad.records import FrozenRecord
from touche_rad.text import packaged_table

PREFIX: Final = "paper:"
"""What the name of a table begins with on the command line."""
WEB: Final = "TOUCHE_RAD_WEB"
"""The environment variable that names the web search."""
_BY_PEOPLE: Final = ("sinai/table3", "rdebater/table6", "rdebater/figure3")


class PaperColumn(FrozenRecord):
    """Where a value stands: a measure of the record that fulfils the conditions."""

    measure: str = ""
    where: Mapping[str, str] = {}
    mean_of: tuple[str, ...] = ()
    """The columns of the part whose mean it is, instead of a measure."""
    times: float = 1
    """The paper's unit, such as 100 for percent."""


class PaperPart(FrozenRecord):
    """Runs that are scored against one truth."""

    runs: str
    """The run of each row; without `{row}` one run has all rows."""
    truth: str
    debates: str = ""
    exclude: str = ""
    """The options of `touche-rad score`."""
    columns: Mapping[str, PaperColumn]

    @property
    def has_errors(self) -> bool:
        """Whether a column is an error, which can be that to each vote."""
        return any(column.measure == "rmse" for column in self.columns.values())


class PaperRow(FrozenRecord):
    """A row of the paper."""

    name: str
    system: str = ""
    """A plugin with its options; without one, the row has only the paper's values."""
    model: str = ""
    """The paper's model, if rows have different ones; without it, that of -m."""
    runs_of: str = ""
    """The row whose runs it scores, instead of runs of its own."""
    reasons: Mapping[str, str] = {}
    """Why columns stay empty: our runs have another measure there."""
    values: tuple[float | str, ...]
    """The paper's values in the order of the columns; "" if the paper has none."""

    @property
    def file(self) -> str:
        """The name of its files."""
        return re.sub(r"[^a-z0-9]+", "-", (self.runs_of or self.name).lower()).strip("-")


class PaperTable(FrozenRecord):
    """A table of a paper."""

    title: str
    paper: str
    note: str = ""
    """What differs from the paper."""
    seeds: PositiveInt = 1
    """How often the paper repeats each row; the values are means."""
    baselines: tuple[str, ...] = ()
    """The constant predictors of `touche-rad score` that are rows, too."""
    data: Mapping[str, str]
    """What each file of the folder of the data contains, and where it comes from."""
    steps: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    parts: tuple[PaperPart, ...]
    rows: tuple[PaperRow, ...]


def names() -> list[str]:
    """Return the names of all tables, such as `sinai/table2`."""
    folder = Path(__file__).parent
    return sorted(f"{path.parent.name}/{path.stem}" for path in folder.glob("*/*.toml"))


def load(name: str) -> PaperTable:
    """Return a table by its name.

    Raises:
        UserError: There is no table of this name.
    """
    if name in _BY_PEOPLE:
        raise UserError(f"{name} needs labels by people: touche-rad label, then touche-rad score")
    if name not in names():
        raise UserError(f"there is no table {name!r}{nearest(name, names())}; see: list papers")
    return PaperTable.model_validate(packaged_table(__package__, f"{name}.toml"))


@frozen
class Reproduction:
    """A table with the folders, the index and the models of a user."""

    table: PaperTable
    data: Path
    out: Path
    index: str
    model: str
    models: Mapping[str, str]
    """The models of rows, by the paper's name of the model."""
    votes: bool
    """Whether errors are those to each vote instead of the winner."""
    failed: tuple[PaperRow, ...] = ()
    """The rows whose commands failed; they have the paper's values only."""

    def check(self) -> None:
        """Refuse missing data and models that no row has."""
        known = dict.fromkeys(row.model for row in self.table.rows if row.model)
        for name in self.models:
            if name not in known:
                raise OptionError(f"no row has the model {name!r}{nearest(name, known)}")
        for name, what in self.table.data.items():
            if not (self.data / name).exists():
                raise UserError(f"{self.data / name} is missing. It contains {what}")
            contests = files.read_contests(self.data / name) if "gold.scores" in what else ()
            if contests and not any(contest.gold.get("scores") for contest in contests):
                raise UserError(
                    f"{name} lacks people's scores, `gold.scores`: see "
                    "docs/fidelity/inspiredebate.md"
                )
        if any("paper-web" in row.system for row in self.rows) and os.environ.get(WEB, "off") in (
            "",
            "off",
        ):
            raise UserError(
                f"rows with paper-web search the web: set {WEB} to a SearXNG server or a "
                "folder of texts"
            )
        fewest = 2 if "{debaters}" in " ".join(self.table.steps) else 1
        if len(self.rows) < fewest:
            raise UserError(f"add --model-of NAME=URL#MODEL for {fewest} of {', '.join(known)}")
        commands = " ".join((*self.table.steps, *self.table.each))
        if self.votes and not any(part.has_errors for part in self.table.parts):
            raise OptionError("--votes is for tables with RMSE")
        if "{judge}" in commands and not self.model:
            raise UserError("give the judge of all rows with -m URL#MODEL")
        if "{index}" in commands and not self.index:
            raise UserError("this table searches arguments: give an index with -i")

    def check_examples(self) -> None:
        """Refuse labels of which nothing is left to score without the examples of the judges."""
        for part in self.table.parts:
            if part.exclude:
                truth = self._path(part.truth)
                turns = list(chain.from_iterable(files.read_labels(truth)))
                examples = [parse(line) for _, line in numbered_lines(self._path(part.exclude))]
                for key in grice().keys:
                    labelled = sum(turn.get(key) is not None for turn in turns)
                    drawn = sum(key in example["labels"] for example in examples)
                    if drawn >= labelled:
                        raise UserError(
                            f"{truth}: all {labelled} labels of {key} are examples of the judges "
                            "(up to 20), and none is left to score: give more than 20"
                        )

    def digests(self) -> dict[str, str]:
        """Return the digests of the data, the index and the web search; of a service its name."""
        paths = (self.data / name for name in self.table.data)
        digests = {path.name: sha256_of(path) for path in paths if path.is_file()}
        for name, source in {"index": self.index, "web": os.environ.get(WEB)}.items():
            if source:
                digests[name] = digest_of(Path(source)) if Path(source).exists() else source
        return digests

    def about(self) -> str:
        """Say which models and inputs are used."""
        models = [self.model, *(f"{name} is {model}" for name, model in self.models.items())]
        against = ["RMSE to each vote"] if self.votes else []
        return ", ".join([*filter(None, models), *self.digests(), *against])

    @property
    def rows(self) -> list[PaperRow]:
        """The rows that are run: those with a system, and with the model that they need."""
        return [
            row
            for row in self.table.rows
            if row.system and row not in self.failed and row.model in ("", *self.models)
        ]

    def commands(self) -> Iterator[tuple[PaperRow | None, list[list[str]]]]:
        """Yield the command lines for all rows, then those of each row."""
        yield None, [self._words(step) for step in self.table.steps]
        for row, seed in product(self.rows, range(self.table.seeds)):
            yield row, [self._words(command, row, seed) for command in self.table.each]

    def fallbacks(self, row: PaperRow) -> int:
        """Count the results of a fallback in the runs of a row, or its speeches in tournaments."""
        count = 0
        for seed in range(self.table.seeds):
            for command in (*self.table.steps, *self.table.each):
                out = self._path(shlex.split(command)[-1], row, seed)
                if not out.is_dir():
                    count += read_status(out).get("replaced", 0)
                    continue
                debater = self.filled("{debater}", row)
                for contest in files.read_contests(out / CONTESTS):
                    names = debaters_of(contest)
                    count += sum(
                        FALLBACK in speech.rest and names[speech.speaker] == debater
                        for speech in contest.speeches
                    )
        return count

    def scored(self, part: PaperPart) -> Iterator[tuple[list[Path], Path]]:
        """Yield the runs of a part with their truth: all together, or each row with its own."""
        every = list(product(self.rows, range(self.table.seeds)))
        if "{row}" in part.truth:
            for row, seed in every:
                yield [self._path(part.runs, row, seed)], self._path(part.truth, row, seed)
        else:
            runs = dict.fromkeys(self._path(part.runs, row, seed) for row, seed in every)
            if runs:
                yield [*runs], self._path(part.truth)

    def file(self, text: str) -> Path | None:
        """Return a file of a part that is the same for all rows."""
        return self._path(text) if text else None

    def filled(self, text: str, row: PaperRow | None = None, seed: int = 0) -> str:
        """Return a text with its placeholders filled."""
        values = {"data": str(self.data), "out": str(self.out), "seed": str(seed)}
        if row:
            values["row"] = f"{row.file}-{seed}" if self.table.seeds > 1 else row.file
            values["name"] = row.name
            values["system"] = _fill(row.system, values)
            if "{debater}" in text:
                debater = configure("debater", self.filled(row.system))
                if row.model in self.models:
                    debater = debater.with_model(self.models[row.model])
                values["debater"] = debater.tag
        return _fill(text, values)

    def _path(self, text: str, row: PaperRow | None = None, seed: int = 0) -> Path:
        return Path(self.filled(text, row, seed))

    def _words(self, command: str, row: PaperRow | None = None, seed: int = 0) -> list[str]:
        model = self.models.get(row.model, self.model) if row else self.model
        debaters: list[str] = []
        for of_row in self.rows:
            name, options = parse_plugin(self.filled(of_row.system))
            if of_row.model in self.models:
                options["model"] = self.models[of_row.model]
            debaters += ["-d", plugin_text(name, options)]
        several = {
            "{model}": ["-m", model] if model else [],
            "{judge}": ["-m", self.model],
            "{index}": ["-i", self.index],
            "{debaters}": debaters,
        }
        words: list[str] = []
        for word in shlex.split(command):
            words += several[word] if word in several else [self.filled(word, row, seed)]
        return words


def _fill(text: str, values: Mapping[str, str]) -> str:
    """Fill placeholders; other braces stay."""
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), text)
