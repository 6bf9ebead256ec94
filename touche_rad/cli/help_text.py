"""The layout of all help texts: bold headings, options in sections, examples, full first lines."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import click

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Model": (
        "model",
        "judge_model",
        "cache",
        "max_calls",
        "max_tokens",
        "run_deadline",
        "trace",
        "wait",
    ),
    "Run": (
        "deadline",
        "workers",
        "seed",
        "skip_bad",
        "restart",
        "replace",
        "strict",
        "metadata",
        "dry_run",
        "rate",
        "price",
        "fallback_index",
    ),
    "Cluster": ("shard", "engine", "actors"),
    "Training": (
        "epochs",
        "rate",
        "batch",
        "accumulate",
        "group",
        "layers",
        "warmup",
        "rank",
        "alpha",
        "dropout",
        "targets",
        "longest",
        "precision",
        "checkpointing",
        "save_every",
        "held_out",
    ),
    "Global": ("as_json", "quiet", "config_file", "plugins", "show_config", "version", "help"),
}
"""The section of an option, by its name in the code; other options come first."""
_RANGE: Final = re.compile(r" \[[-\d.]*[<=]*x[<>=]+[-\d.]+\]|; [-\d.]*[<=]*x[<>=]+[-\d.]+(?=\])")
"""The range of a number, which click adds: the help texts say what matters about it."""
MIN_IN_SECTION: Final = 3
"""A smaller section is not worth a heading: its options stay with the others."""


def heading(text: str) -> str:
    """Return a heading; click removes the colour where the output has none."""
    return click.style(text, bold=True)


def write_usage(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the usage."""
    pieces = " ".join(command.collect_usage_pieces(ctx))
    formatter.write_usage(ctx.command_path, pieces, prefix=f"{heading('Usage:')} ")


def write_rows(formatter: click.HelpFormatter, title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Write a heading and two columns: a name and its description."""
    with formatter.section(heading(title)):
        formatter.write_dl([(click.style(name, fg="cyan"), text) for name, text in rows])


def write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options in sections."""
    records = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None and isinstance(parameter, click.Option):
            name = "help" if "--help" in parameter.opts else str(parameter.name)
            records[name] = (record[0], _RANGE.sub("", " ".join(record[1].split())))
    sections: dict[str, list[tuple[str, str]]] = {"Options": []}
    for title, names in SECTIONS.items():
        rows = [records[name] for name in names if name in records]
        if len(rows) >= MIN_IN_SECTION:
            sections[title] = rows
            records = {name: row for name, row in records.items() if name not in names}
    sections["Options"] = list(records.values())
    for title, rows in sections.items():
        if rows:
            write_rows(formatter, f"{title} options" if title == "Global" else title, rows)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Write the examples; a long command line continues behind a backslash."""
    if examples:
        with formatter.section(heading("Examples")):
            for example in examples:
                for line in _fold(f"touche-rad {example}", formatter.width):
                    formatter.write(f"{line}\n")


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

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage."""
        write_usage(self, ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands and the options."""
        width = max(map(len, self.commands))
        rows = [
            (name.ljust(width), inspect.cleandoc(command.help or "").partition("\n\n")[0])
            for name, command in self.commands.items()
        ]
        write_rows(formatter, "Commands", [(name, " ".join(text.split())) for name, text in rows])
        inner = [getattr(one, "examples", ())[:1] for one in self.commands.values()]
        write_examples(formatter, [example for one in inner for example in one][:3])
        write_options(self, ctx, formatter)
