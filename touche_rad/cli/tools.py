"""The commands `new` and `completion`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
from click import shell_completion

from touche_rad.cli import complete
from touche_rad.cli import options as opt
from touche_rad.cli.console import say


@dataclass(frozen=True, kw_only=True)
class NewOptions:
    """The options of `new`."""

    kind: Literal["debater", "judge", "retriever"] = opt.argument()
    name: str = opt.argument()
    output: Path | None = opt.output("New folder of the package. [default: ./NAME]", "DIR")


@opt.command("new", "new debater my-debater", "new judge strict-judge -o ../strict-judge")
def new_command(options: NewOptions) -> None:
    """Write the package of a new plugin with one working step and a test of its contract."""
    from touche_rad.testing.skeleton import write_package

    name, folder = options.name, options.output or Path(options.name)
    for path in write_package(options.kind, name, folder):
        say(f"written: {path}")
    say(f"next: cd {folder} && pip install -e . && python -m pytest && touche-rad list {name}")


@dataclass(frozen=True, kw_only=True)
class CompletionOptions:
    """The options of `completion`."""

    shell: Literal["bash", "zsh", "fish"] = opt.argument()


@opt.command("completion", "completion bash", "completion zsh", "completion fish")
def completion_command(options: CompletionOptions) -> None:
    """Print the script that completes commands, plugins, options and files in a shell.

    For bash, add the line eval "$(touche-rad completion bash)" to ~/.bashrc; for zsh, the same with
    zsh to ~/.zshrc. For fish, write the script to ~/.config/fish/completions/touche-rad.fish.
    """
    from touche_rad.cli import touche_rad

    kind = shell_completion.get_completion_class(options.shell)
    assert kind is not None
    click.echo(kind(touche_rad, {}, "touche-rad", complete.VARIABLE).source())
