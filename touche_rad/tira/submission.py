"""What is handed in to TIRA: the entries of tira.yml, as command lines of TIRA's client."""

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
    """One thing that is handed in."""

    sub_task: SubTask
    command: str
    """What runs in the container: it reads `$inputDataset` and writes to `$outputDir`."""
    build: str = ""
    """Words for `docker build`, parted by blanks."""
    network: bool = False
    forward: tuple[str, ...] = ()
    """Variables whose values go into the container and are not kept."""
    cache: str | None = None
    """The variable that names the folder of a model's kept answers."""
    hf_models: tuple[str, ...] = ()

    @field_validator("command")
    @classmethod
    def _survives_quoting(cls, command: str) -> str:
        """TIRA's client puts the command between double quotes, and splits it as a shell does."""
        if '"' in command or "\n" in command:
            raise ValueError("a command is one line without double quotes")
        return command

    @model_validator(mode="after")
    def _can_be_repeated(self) -> Software:
        """Repeating from the cache, the client empties the endpoint's variables and shows them."""
        wanted = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL")
        if self.cache and not set(wanted) <= set(self.forward):
            raise ValueError(f"with a cache, {', '.join(wanted)} are forwarded")
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
        """Return the words of the client's command line.

        Args:
            name: The software.
            path: The repository.
            dataset: What it is tried on, where not on the sub-task's own dataset.
            upload: Hand it in; without it the client tries all of it and uploads nothing.
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
        """Return the command line as a shell reads it."""
        return shlex.join(self.words(name, **how))  # type: ignore[arg-type]


def load(path: Path) -> Submission:
    """Read tira.yml.

    Raises:
        InputError: It cannot be read, or says something that it cannot mean.
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
