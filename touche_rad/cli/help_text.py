"""The layout of all help texts: options in sections, examples, full first lines."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any, Final

import click

SECTIONS: Final = {
    "Model": "model judge_model cache max_calls max_tokens run_deadline trace wait".split(),
    "Run": ("deadline workers seed skip_bad restart replace strict dry_run fallback_index").split(),
    "Cluster": "shard engine actors".split(),
    "Training": (
        "epochs rate batch accumulate group layers rank alpha dropout longest "
        "precision checkpointing save_every held_out"
    ).split(),
    "Global": "as_json quiet config_file plugins version help help_all".split(),
}
"""The section of an option, by its name in the code; other options come first."""
_RARE: Final = frozenset(
    (
        "cache max_calls max_tokens run_deadline trace wait skip_bad restart "
        "fallback_index shard engine actors config_file"
    ).split()
)
"""Options that only `--help-all` shows."""
HELP_ALL: Final = "touche_rad.help_all"
_RANGE: Final = re.compile(r" \[[-\d.]*[<=]*x[<>=]+[-\d.]+\]|; [-\d.]*[<=]*x[<>=]+[-\d.]+(?=\])")
"""The range of a number, which click adds: the help texts say what matters about it."""
MIN_IN_SECTION: Final = 3
"""A smaller section is not worth a heading: its options stay with the others."""


class Formatter(click.HelpFormatter):
    """Writes options in sections, and examples."""

    def write_section(self, title: str, rows: Sequence[tuple[str, str]]) -> None:
        """Write a heading and two columns."""
        with self.section(title):
            self.write_dl(rows)

    def write_options(self, command: click.Command, ctx: click.Context) -> None:
        """Write the options of a command in sections."""
        records = {}
        for parameter in command.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                name = "help" if "--help" in parameter.opts else str(parameter.name)
                if name in _RARE and HELP_ALL not in ctx.meta:
                    continue
                records[name] = (record[0], _RANGE.sub("", " ".join(record[1].split())))
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for title, names in SECTIONS.items():
            rows = [records[name] for name in names if name in records]
            if len(rows) >= MIN_IN_SECTION:
                sections["Global options" if title == "Global" else title] = rows
                records = {name: row for name, row in records.items() if name not in names}
        sections["Options"] = list(records.values())
        for title, rows in sections.items():
            if rows:
                self.write_section(title, rows)

    def write_examples(self, examples: Sequence[str]) -> None:
        """Write the examples; a long command line continues behind a backslash."""
        if examples:
            with self.section("Examples"):
                for example in examples:
                    for line in _fold(f"touche-rad {example}", self.width):
                        self.write(f"{line}\n")


class Context(click.Context):
    """The context of all commands, whose help has our layout."""

    formatter_class = Formatter


def _fold(command: str, width: int) -> list[str]:
    """Break a command line before arguments and options; a shell accepts the lines."""
    arguments, *options = re.split(r" (?=-)", command)
    lines = [" "]
    for part in (*arguments.split(" "), *options):
        if len(lines[-1]) + len(part) + len("  \\") > width and lines[-1].strip():
            lines[-1] += " \\"
            lines.append("     ")
        lines[-1] += f" {part}"
    return lines


class Group(click.Group):
    """A command with subcommands, each shown with the whole first sentence of its help."""

    context_class = Context

    def format_options(self, ctx: click.Context, formatter: Any) -> None:
        """Write the subcommands, some examples and the options."""
        width = max(map(len, self.commands))
        firsts = {
            name: inspect.cleandoc(command.help or "").partition("\n\n")[0]
            for name, command in self.commands.items()
        }
        rows = [(name.ljust(width), " ".join(text.split())) for name, text in firsts.items()]
        formatter.write_section("Commands", rows)
        inner = [getattr(one, "examples", ())[:1] for one in self.commands.values()]
        formatter.write_examples([example for one in inner for example in one][:3])
        formatter.write_options(self, ctx)
