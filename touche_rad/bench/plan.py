"""The plan of a bench: a TOML file with its entries and settings.

format = 1
name = "my-bench"
claims = "claims.tsv"
index = "demo"

[users]
rules = "rules"

[debaters]
short = "grounded(max_words=30)"
sinai = { plugin = "sinai", model = "http://localhost:8000/v1#llama" }

[judges]
grounded = "grounded"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, Field, NonNegativeInt, StringConstraints, ValidationError
from pydantic.functional_validators import BeforeValidator

from touche_rad.criteria import Criteria, grice, shipped_names
from touche_rad.errors import InputError, OptionError, UserError, nearest, refuse_newer
from touche_rad.files import read_labelled
from touche_rad.files.criteria import criteria_of, read_criteria
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import field_error, read_toml
from touche_rad.frozen import frozen
from touche_rad.plugins import (
    Configured,
    Kind,
    LoadedDebater,
    LoadedJudge,
    find,
    parse_plugin,
)
from touche_rad.plugins.digests import refuse_files_outside
from touche_rad.records import FrozenRecord, UpTo1000
from touche_rad.samples import SAMPLES, TURNS
from touche_rad.text import redact
from touche_rad.users import UserChoice, parse_user

FORMAT: Final = 1
"""The version of the TOML file."""
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$"
"""Names are parts of paths: they contain no dot and no slash."""
NAMES_ARE: Final = "a name has 1 to 40 letters, digits, - and _"
_FILE_OPTIONS: Final = {"prompts", "profile", "persona", "examples"}
"""Options of plugins whose value may be a path, relative to the TOML file."""
DATA: Final = ("claims", "debates", "labels", "criteria")
"""The keys that name files."""

Name = Annotated[str, StringConstraints(pattern=NAME)]


class PlanEntry(FrozenRecord):
    """A plugin with its options, and the language model that it uses."""

    plugin: str
    model: str = ""


def _as_table(value: object) -> object:
    """Return the table of an entry, which may be only the text of its plugin."""
    return {"plugin": value} if isinstance(value, str) else value


Entries = dict[Name, Annotated[PlanEntry, BeforeValidator(_as_table)]]


class Pages(FrozenRecord):
    """What the leaderboard page shows."""

    title: str = ""
    baselines: tuple[str, ...] = ()
    """Debaters and judges without a rank; such judges do not count in the debaters' means."""
    debates: bool = True
    """Whether the page contains all debates, to read and filter."""


class BenchPlan(FrozenRecord):
    """The content of the TOML file."""

    format: Literal[1] = FORMAT
    name: Name
    claims: str = ""
    debates: str = ""
    """Labelled debates, on which the judges are scored."""
    labels: str = ""
    criteria: str = ""
    """The name of shipped criteria, or a file; empty for the task's."""
    plugins: tuple[Annotated[str, StringConstraints(pattern=r"^[\w-]+\.py$")], ...] = ()
    """Files of plugins in the plan's folder; --plugin or --trust imports them."""
    index: str = ""
    index_fingerprint: str = ""
    """What the index must contain; empty for any index."""
    sha256: Mapping[str, str] = {}
    """The hashes of the claims, debates and labels, by key; a file with another hash is refused."""
    turns: UpTo1000 = TURNS
    max_words: NonNegativeInt = 60
    deadline: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    """Time limit per answer and per verdict in seconds."""
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field((0,), min_length=1, max_length=1000)
    samples: Annotated[int, Field(ge=100, le=100_000)] = SAMPLES
    """Bootstrap samples for confidence intervals."""
    model: str = ""
    """The language model of the entries that name none."""
    users: Entries = Field({})
    debaters: Entries = Field({})
    judges: Entries = Field({}, min_length=1)
    pages: Pages = Pages()


L = TypeVar("L", covariant=True)


@frozen
class PluginEntry(Generic[L]):
    """A plugin of the plan, and the language model that it uses."""

    name: str
    text: str
    """The plugin with its options, as the plan has it."""
    configured: Configured[L]
    model: str

    @property
    def about(self) -> str:
        """The plugin with its options, and the model that it uses."""
        model = self.model.rpartition("#")[2] if self.configured.plugin.uses_model else ""
        return redact(f"{self.text} with {model}" if model else self.text)


@frozen
class UserEntry(PluginEntry[object]):
    """A simulated user of the plan."""

    choice: UserChoice


@frozen
class PlanFile:
    """A plan with the place of its file. Every name, option and file in it exists."""

    plan: BenchPlan
    path: Path
    model: str = ""
    """The language model of `-m`, instead of the plan's."""

    @property
    def folder(self) -> Path:
        """The folder of the file, to which its paths are relative."""
        return self.path.parent

    @property
    def data(self) -> dict[str, Path]:
        """The claims, the labelled debates and the labels, as far as the plan names them."""
        data = {key: self.folder / value for key, value in self.plan if key in DATA and value}
        if self.plan.criteria in shipped_names():
            del data["criteria"]
        return data

    @cached_property
    def criteria(self) -> Criteria:
        """What the judges judge by: the plan's criteria, or those of the task."""
        return read_criteria(str(self.data.get("criteria", self.plan.criteria or grice().name)))

    @property
    def plugin_files(self) -> list[Path]:
        """The files of plugins that the plan names."""
        return [self.folder / name for name in self.plan.plugins]

    @cached_property
    def debaters(self) -> list[PluginEntry[LoadedDebater]]:
        """The debaters in the order of the file."""
        return self._plugins("debater")

    @cached_property
    def judges(self) -> list[PluginEntry[LoadedJudge]]:
        """The judges in the order of the file."""
        return self._plugins("judge")

    @cached_property
    def users(self) -> list[UserEntry]:
        """The simulated users in the order of the file."""
        users = []
        for name, entry in self.plan.users.items():
            try:
                choice = parse_user(entry.plugin, self._files(entry))
            except UserError as error:
                raise InputError(self.path, str(error), field=f"users.{name}") from None
            model = self._model(entry)
            users.append(UserEntry(name, entry.plugin, choice.configured, model, choice))
        return users

    @property
    def groups(self) -> Mapping[str, Sequence[PluginEntry[object]]]:
        """All entries by group."""
        return {"users": self.users, "debaters": self.debaters, "judges": self.judges}

    @property
    def entries(self) -> tuple[PluginEntry[object], ...]:
        """All entries."""
        return (*self.users, *self.debaters, *self.judges)

    def refuse_files_outside(self, index: str | None) -> None:
        """Raise an error if the plan names a file outside its folder; `index` is the user's choice.

        It may be a stranger's plan, whose servers would get the content of the file. A plan with
        the fingerprint of an index knows its content already.
        """
        paths = [*self.data.values()]
        if not (index or self.plan.index_fingerprint):
            paths.append(self.folder / self.plan.index)
        models = {plugin.model for plugin in self.entries} - {self.model}
        plugins = (plugin.configured for plugin in self.entries)
        refuse_files_outside(self.path, paths, models, plugins)

    def _plugins(self, kind: Kind) -> list[PluginEntry[Any]]:
        group = f"{kind}s"
        plugins = []
        for name, entry in dict(self.plan)[group].items():
            try:
                plugin_name, options = parse_plugin(entry.plugin)
                configured = find(kind, plugin_name).configure(options | self._files(entry))
            except OptionError as error:
                fault = str(error)
                if self.plan.plugins:
                    files = " ".join(f"--plugin {file}" for file in self.plugin_files)
                    fault += f"; the plan's own code: {files} (or --trust)"
                raise InputError(self.path, fault, field=f"{group}.{name}") from None
            plugins.append(PluginEntry(name, entry.plugin, configured, self._model(entry)))
        return plugins

    def _files(self, entry: PlanEntry) -> dict[str, str]:
        """Return the options of a plugin that name files of the folder, with their paths."""
        paths = {key: self.folder / name for key, name in file_options(entry.plugin).items()}
        return {key: str(path) for key, path in paths.items() if path.exists()}

    def _model(self, entry: PlanEntry) -> str:
        return entry.model or self.model or self.plan.model


def file_options(plugin: str) -> dict[str, str]:
    """Return the options of a plugin that may name files, as a plan has them; a URL has none."""
    options = {} if "://" in plugin.partition("(")[0] else parse_plugin(plugin)[1]
    return {key: text for key, text in options.items() if key in _FILE_OPTIONS}


def read_plan(path: Path) -> BenchPlan:
    """Read a TOML file; the plugins that it names are not looked for.

    Raises:
        InputError: A key or a value is wrong.
    """
    content = read_toml(path)
    refuse_newer(path, content, FORMAT)
    try:
        return BenchPlan.model_validate(content)
    except ValidationError as error:
        # The first problem with its key, what was expected, and the nearest right name.
        problem = error.errors()[0]
        miss = field_error(error)
        message = miss.expected
        if problem["type"] == "extra_forbidden":
            keys = miss.field.split(".")
            # An entry is two tables deep: `judges.NAME.key`.
            owners: list[type[BaseModel]] = [BenchPlan, Pages, PlanEntry]
            hint = nearest(keys[-1], owners[min(len(keys) - 1, 2)].model_fields)
            message = f"there is no such key{hint}"
        elif problem["type"] == "string_pattern_mismatch":
            message = f"expected another name: {NAMES_ARE}"
        raise InputError(path, message, field=miss.field or None) from None


def load_plan(path: Path) -> PlanFile:
    """Read and check a TOML file.

    Raises:
        InputError: Something in the file is wrong; the error names the key.
    """
    plan = read_plan(path)
    plan_file = PlanFile(plan, path)
    _check_parts(plan_file)
    for key, file in plan_file.data.items():
        if not file.is_file():
            raise InputError(path, f"{dict(plan)[key]} is not a file", field=key)
        digest = sha256_of(file)
        if plan.sha256.get(key, digest) != digest:
            raise InputError(
                path,
                f"{file} has the hash {digest}: restore the file, or write its hash here",
                field=f"sha256.{key}",
            )
    if plan.labels:
        labels = plan_file.data["labels"]
        criteria = criteria_of(plan_file.criteria, labels)
        read_labelled(plan_file.data["debates"], labels, criteria)  # refuses others
    assert plan_file.entries  # finds the plugin and reads the options of every entry
    return plan_file


def _check_parts(plan_file: PlanFile) -> None:
    """Check that the parts of a plan fit together."""
    plan = plan_file.plan
    path = plan_file.path
    playing = {"claims": plan.claims, "users": plan.users, "debaters": plan.debaters}
    labelled = {"debates": plan.debates, "labels": plan.labels}
    for part in (playing, labelled):
        missing = [key for key, value in part.items() if not value]
        present = [key for key, value in part.items() if value]
        if missing and present:
            raise InputError(path, f"is required together with {present[0]}", field=missing[0])
    if not plan.claims and not plan.labels:
        raise InputError(path, "expected claims, users and debaters, or debates and labels")
    if plan.debaters and not plan.index:
        raise InputError(path, 'expected a folder, elasticsearch:URL/NAME or "demo"', field="index")
    if len(set(plan.seeds)) < len(plan.seeds):
        raise InputError(path, "a seed is given twice", field="seeds")
    names = {*plan.debaters, *plan.judges}
    for name in plan.pages.baselines:
        if name not in names:
            raise InputError(
                path,
                f"there is no debater or judge {name!r}{nearest(name, names)}",
                field="pages.baselines",
            )
    if set(plan.judges) <= set(plan.pages.baselines) and plan.debaters:
        raise InputError(
            path,
            "one judge must be no baseline, to rank the debaters: add one, such as grounded",
            field="pages.baselines",
        )
