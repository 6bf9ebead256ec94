"""The layout of all help texts: options in sections, examples, full first lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import click

HELP_ALL: Final = "touche_rad.help_all"
_RANGE: Final = re.compile(r" \[[-\d.]*[<=]*x[<>=]+[-\d.]+\]|; [-\d.]*[<=]*x[<>=]+[-\d.]+(?=\])")
"""The range of a number, which click adds: the help texts say what matters about it."""
UNNUMBERED: Final = 10_000
"""The number of the options that stand behind the declared ones."""
MIN_IN_SECTION: Final = 3
"""A smaller section is not worth a heading: its options stay with the others."""


class Section(StrEnum):
    """The headings of options in the order of the help; options without a section come first."""

    MODEL = "Model"
    RUN = "Run"
    TRAINING = "Training"
    GLOBAL = "Global options"


class Option(click.Option):
    """An option with a place in the help."""

    def __init__(
        self,
        names: Sequence[str],
        *,
        section: Section | None = None,
        is_rare: bool = False,
        number: int = UNNUMBERED,
        **settings: Any,
    ) -> None:
        """Make an option; those of a section are in the order of their numbers."""
        super().__init__(names, **settings)
        self.section = section
        self.is_rare = is_rare
        self.number = number


def write_section(
    formatter: click.HelpFormatter, title: str, rows: Sequence[tuple[str, str]]
) -> None:
    """Write a heading and two columns."""
    with formatter.section(click.style(title, bold=True)):
        formatter.write_dl(rows)


def write_options(
    formatter: click.HelpFormatter, command: click.Command, ctx: click.Context
) -> None:
    """Write the options of a command in sections."""
    options = [
        option
        for option in command.get_params(ctx)
        if isinstance(option, click.Option)
        and (HELP_ALL in ctx.meta or not (isinstance(option, Option) and option.is_rare))
    ]
    sizes = Counter(map(_section_of, options))
    headed = [section for section in Section if sizes[section] >= MIN_IN_SECTION]
    parts: dict[str, list[click.Option]] = {
        "Options": [option for option in options if _section_of(option) not in headed]
    }
    for section in headed:
        of_section = [option for option in options if _section_of(option) is section]
        parts[section] = sorted(of_section, key=_number_of)
    for title, of_part in parts.items():
        records = [option.get_help_record(ctx) for option in of_part]
        rows = [(row[0], _RANGE.sub("", " ".join(row[1].split()))) for row in records if row]
        if rows:
            write_section(formatter, title, rows)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Write the examples; a long command line continues behind a backslash."""
    if examples:
        with formatter.section(click.style("Examples", bold=True)):
            for example in examples:
                for line in fold_command(f"touche-rad {example}", formatter.width):
                    formatter.write(f"{line}\n")


def _section_of(option: click.Option) -> Section | None:
    """Return the section of an option; click makes --help and --version."""
    return option.section if isinstance(option, Option) else Section.GLOBAL


def _number_of(option: click.Option) -> int:
    return option.number if isinstance(option, Option) else UNNUMBERED


def fold_command(command: str, width: int) -> list[str]:
    """Break a command line before arguments and options; a shell accepts the lines."""
    arguments, *options = re.split(r" (?=-)", command)
    lines = [" "]
    for part in (*arguments.split(" "), *options):
        if len(lines[-1]) + len(part) + len("  \\") > width and lines[-1].strip():
            lines[-1] += " \\"
            lines.append("     ")
        lines[-1] += f" {part}"
    return lines
