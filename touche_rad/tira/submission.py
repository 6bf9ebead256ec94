"""Submissions to TIRA: the entries of tira.yml as command lines of TIRA's client."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from touche_rad.errors import InputError, UserError, nearest, why

FILE = "tira.yml"
SubTask = Literal[1, 2]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Software(_Strict):
    """One submission."""

    sub_task: SubTask
    command: str
    """The command in the container; it reads `$inputDataset` and writes to `$outputDir`."""
    build: str = ""
    """Options of `docker build`, separated by spaces."""
    network: bool = False
    forward: tuple[str, ...] = ()
    """Environment variables that the container gets; their values are not stored."""
    cache: str | None = None
    """The environment variable with the folder of cached model answers."""
    hf_models: tuple[str, ...] = ()

    @field_validator("command")
    @classmethod
    def _survives_quoting(cls, command: str) -> str:
        """Refuse what TIRA's client breaks: it puts the command between double quotes."""
        if '"' in command or "\n" in command:
            raise ValueError("a command is one line without double quotes")
        return command

    @model_validator(mode="after")
    def _can_be_repeated(self) -> Software:
        """Require the variables that the client empties when it repeats a run from the cache."""
        wanted = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL")
        if self.cache and not set(wanted) <= set(self.forward):
            raise ValueError(f"with a cache, forward {', '.join(wanted)}")
        return self


class Submission(_Strict):
    """The whole file."""

    task: str
    datasets: dict[SubTask, str]
    software: dict[str, Software] = Field(min_length=1)

    @model_validator(mode="after")
    def _each_has_a_dataset(self) -> Submission:
        for name, one in self.software.items():
            if one.sub_task not in self.datasets:
                raise ValueError(f"{name}: sub-task {one.sub_task} has no dataset")
        return self

    def find(self, name: str) -> Software:
        """Return the software of that name."""
        if name not in self.software:
            raise UserError(f"there is no software {name!r}{nearest(name, self.software)}")
        return self.software[name]

    def words(
        self, name: str, *, path: str = ".", dataset: str | None = None, upload: bool = False
    ) -> list[str]:
        """Return the arguments of the client's command line.

        Args:
            name: The name of the submission.
            path: The repository.
            dataset: The dataset of the trial run. Default: the dataset of the sub-task.
            upload: Upload; without it, the client only makes a trial run.
        """
        one = self.find(name)
        words = ["tira-cli", "code-submission", "--path", path, "--task", self.task]
        words += ["--dataset", dataset or self.datasets[one.sub_task], "--command", one.command]
        if one.build:
            words.append(f"--build-args={one.build}")
        if one.network:
            words.append("--allow-network")
        if one.forward:
            words += ["--forward-environment-variable", *one.forward]
        if one.hf_models:
            words += ["--mount-hf-model", *one.hf_models]
        if one.cache:
            words += ["--mount-cache", f"${one.cache}=EMPTY_DIR"]
            words += ["--cache-behaviour", "deterministic"]
        return words if upload else [*words, "--dry-run"]

    def command_line(self, name: str, **how: str | bool | None) -> str:
        """Return the command line, quoted for a shell."""
        return shlex.join(self.words(name, **how))  # type: ignore[arg-type]


def load(path: Path) -> Submission:
    """Read tira.yml.

    Raises:
        InputError: The file cannot be read or is invalid.
    """
    try:
        return Submission.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read: {why(error)}") from None
    except yaml.YAMLError as error:
        raise InputError(path, f"expected YAML: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(path, first["msg"], field=field) from None
