"""Submissions to TIRA: the entries of tira.yml as command lines of TIRA's client."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from touche_rad.errors import InputError, UserError, nearest
from touche_rad.files.records import (
    LARGEST_TOML,
    at_line,
    field_error,
    read_whole,
    write_text,
)
from touche_rad.models.endpoint import parse_address
from touche_rad.records import FrozenRecord

SubTask = Literal[1, 2]
COLLECTIONS: Final = Path("docker", "collection")
"""The folder in the repository from which an image takes a collection; git ignores its content."""
PLUGINS: Final = Path("docker", "plugins")
"""The folder in the repository with files of plugins, which an image has in `/opt/plugins`."""
MODEL_VARIABLES: Final = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL")
_AS_TIRA_MOUNTS: Final = "--target slim --build-arg RUN_AS=0"


Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
"""A text that cannot control the terminal that shows it."""
Word = Annotated[str, Field(pattern=r"^[^-\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$")]
"""The same, which the client does not take for an option either."""


class Software(FrozenRecord):
    """One submission."""

    sub_task: SubTask
    command: Line
    """The command in the container; it reads `$inputDataset` and writes to `$outputDir`."""
    user: Literal["own", "official"] | None = None
    """Sub-task 1: who speaks to the debater, our simulated user or the organisers'."""
    build: Line = ""
    """Options of `docker build`, separated by spaces."""
    network: bool = False
    forward: tuple[Word, ...] = ()
    """Environment variables that the container gets; their values are not stored."""
    cache: Word | None = None
    """The environment variable with the folder of cached model answers."""
    hf_models: tuple[Word, ...] = ()

    @field_validator("command")
    @classmethod
    def _survives_quoting(cls, command: str) -> str:
        """Refuse what TIRA's client breaks: it puts the command between double quotes."""
        if '"' in command or "\n" in command:
            raise ValueError("a command is one line without double quotes")
        return command

    @model_validator(mode="after")
    def _check(self) -> Software:
        # The client empties these variables when it repeats a run from the cache.
        if self.cache and not set(MODEL_VARIABLES) <= set(self.forward):
            raise ValueError(f"with a cache, forward {', '.join(MODEL_VARIABLES)}")
        if (self.user is None) != (self.sub_task == 2):
            raise ValueError("user: expected own or official in sub-task 1, and none in sub-task 2")
        return self

    @property
    def collection(self) -> str:
        """The file in the repository with the image's collection; empty: the demo's."""
        last = re.match(r".*COLLECTION=(\S+)", self.build, re.DOTALL)
        return last[1] if last else ""

    def with_collection(self, file: Path) -> Software:
        """Return the same software in an image with a copy of this collection.

        TIRA's client splits the options at spaces, and knows no quotation marks.
        """
        copy = COLLECTIONS / re.sub(r"[^\w.-]", "_", file.name)
        option = f"COLLECTION={copy.as_posix()}"
        build, count = re.subn(r"COLLECTION=\S+", option, self.build)
        build = build if count else f"{self.build} --build-arg {option}".strip()
        return self.replace(build=build)


class Submission(FrozenRecord):
    """The whole file."""

    task: Word
    datasets: dict[SubTask, Word]
    software: dict[Line, Software] = Field(min_length=1)

    @model_validator(mode="after")
    def _each_has_a_dataset(self) -> Submission:
        for name, software in self.software.items():
            if software.sub_task not in self.datasets:
                raise ValueError(f"{name}: sub-task {software.sub_task} has no dataset")
        return self

    def find(self, name: str) -> Software:
        """Return the software of that name."""
        if name not in self.software:
            raise UserError(f"there is no software {name!r}{nearest(name, self.software)}")
        return self.software[name]

    def add(self, name: str, software: Software) -> Submission:
        """Return a copy with one more entry, or another one of this name."""
        return self.replace(software={**self.software, name: software})

    def words(self, name: str, *, path: str, upload: bool) -> list[str]:
        """Return the client's command line; without `upload` it only makes a trial run.

        `path` is the repository.
        """
        software = self.find(name)
        dataset = self.datasets[software.sub_task]
        words = ["tira-cli", "code-submission", "--path", path, "--task", self.task]
        words += ["--dataset", dataset, "--command", software.command]
        if software.build:
            words.append(f"--build-args={software.build}")
        if software.network:
            words.append("--allow-network")
        if software.forward:
            words += ["--forward-environment-variable", *software.forward]
        if software.hf_models:
            words += ["--mount-hf-model", *software.hf_models]
        if software.cache:
            cache = f"${software.cache}=EMPTY_DIR"
            words += ["--mount-cache", cache, "--cache-behaviour", "deterministic"]
        return words if upload else [*words, "--dry-run"]


def check_host(address: str, variable: str = "") -> None:
    """Refuse a model's address that is another machine inside the container, or is no address."""
    if variable and address:
        parse_address(f"{address}#MODEL")
    host = urlsplit(address.partition("#")[0]).hostname or ""
    is_local = host == "localhost" or host.endswith(".localhost")
    with suppress(ValueError):  # a name
        is_local |= ip_address(host).is_loopback or ip_address(host).is_unspecified
    if is_local:
        place = f"{variable}: {address}" if variable else address
        remedy = f"unset {variable}" if variable else "use no model"
        raise UserError(
            f"{place}: in the container, this address is the container, not your machine: name "
            "one that it reaches, run the model in the image with -m vllm:MODEL, or " + remedy
        )


def load(path: Path) -> Submission:
    """Read tira.yml."""
    if not path.exists():
        raise InputError(
            path,
            "not found: the image is built in the folder of your package (make one: touche-rad new "
            "debater NAME) or in a clone of touche-rad: run this there, or name it: --file FILE",
        )
    try:
        return Submission.model_validate(yaml.safe_load(read_whole(path, LARGEST_TOML)))
    except ValidationError as error:
        raise at_line(path, None, field_error(error)) from None
    except (yaml.YAMLError, AttributeError, LookupError, ValueError, RecursionError) as error:
        raise InputError(path, f"expected YAML: {' '.join(str(error).split())}") from None


def describe(
    sub_task: SubTask, plugin: str, *, model: str = "", official: bool = False, file: str = ""
) -> Software:
    """Return the software that hands in a debater (sub-task 1) or a judge.

    `file` is the name of the plugin's file in PLUGINS, if it is not in an installed package.
    A model `vllm:NAME` runs in the container; any other one is forwarded by the environment.
    `official` runs the organisers' client, with their simulated user, instead of our commands.
    """
    words = ["-d" if sub_task == 1 else "-j", plugin]
    fields: dict[str, Any] = {"build": _AS_TIRA_MOUNTS}
    if sub_task == 1:
        fields["user"] = "official" if official else "own"
    if model.startswith("vllm:"):
        words += ["-m", model]
        fields |= {"build": "--target gpu", "hf_models": (model.removeprefix("vllm:"),)}
    elif model:
        fields |= {"forward": MODEL_VARIABLES, "cache": "CACHE_DIR"}
    if file:
        words += ["--plugin", f"/opt/plugins/{file}"]
    command = shlex.join(["touche-rad", "simulate" if sub_task == 1 else "judge", *words])
    if official:
        fields |= {"build": "--target official", "network": True}
        command = f"{_CLIENT[sub_task]} -- {shlex.join(words)}"
    try:
        return Software(sub_task=sub_task, command=command, **fields)
    except ValidationError as error:
        raise UserError(f"{plugin}: {field_error(error)}") from None


_CLIENT: Final[Mapping[SubTask, str]] = {
    1: "/genirsim/run.sh --configuration-file=$inputDataset/*.json "
    "--parameter-file=$inputDataset/*.tsv --output-file=$outputDir/simulations.jsonl",
    2: "/genirsim/run.sh --configuration-file=/app/evaluation.json "
    "--evaluate-run-file=$inputDataset/*.jsonl --output-file=$outputDir/evaluations.jsonl",
}


def save(path: Path, name: str, software: Software) -> None:
    """Write an entry to tira.yml; other lines and comments stay as they are."""
    if not re.fullmatch(r"[\w.-]+", name):
        raise UserError(f"{name!r}: expected a name of letters, digits, '-', '_' and '.'")
    before = load(path)
    fields = {key: value for key, value in software.model_dump(mode="json").items() if value}
    entry = yaml.safe_dump({name: fields}, sort_keys=False, allow_unicode=True, width=1000)
    # The new entry takes the place of its old one, or is the last one of `software`.
    text = f"{path.read_text('utf-8').rstrip()}\n"
    old = re.search(rf"^  {re.escape(name)}:.*\n(    .*\n|[ \t]*\n)*", text, re.MULTILINE)
    if old:
        start, end = old.span()
    else:
        software_part = re.search(r"^software:.*\n(([ \t#].*)?\n)*", text, re.MULTILINE)
        start = end = len(text)
        if software_part:
            start = end = software_part.start() + len(software_part[0].rstrip()) + 1
    text = f"{text[:start]}{indent(entry, '  ')}{text[end:]}"
    after = None
    with suppress(yaml.YAMLError, ValidationError):
        after = Submission.model_validate(yaml.safe_load(text))
    if after != before.add(name, software):
        raise UserError(
            f"{path}: {name!r} cannot be written: others use its YAML anchor (save with another "
            "name), or 'software:' is no indented block"
        )
    write_text(path, text)
