"""What the commands `train ...` share: options for numbers and choices, and the printed result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from touche_rad.cli import old_options as opt
from touche_rad.cli.console import say


def number(name: str, default: float, text: str) -> opt.Option:
    """Return an option for a number; its type is that of the default."""
    return click.option(
        f"--{name}", type=type(default), default=default, show_default=True, help=text
    )


def choice(name: str, choices: tuple[str, ...], text: str) -> opt.Option:
    """Return an option with choices; the first one is the default."""
    return click.option(
        f"--{name}", type=click.Choice(choices), default=choices[0], show_default=True, help=text
    )


def print_result(result: Mapping[str, Any], *lines: str, quiet: bool) -> None:
    """Print the result as JSON, and to the user how to use the model."""
    click.echo(json.dumps(result, indent=2))
    for line in lines:
        say(line, quiet=quiet)


def replace_training(folder: Path, *, replace: bool) -> None:
    """With `--replace`, delete the training in a folder."""
    if replace:
        from touche_rad.training.folder import Folder

        Folder(folder).replace()
