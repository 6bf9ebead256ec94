"""The command `schema`."""

from __future__ import annotations

from typing import Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import next_step, print_json, print_text
from touche_rad.cli.program import command
from touche_rad.errors import OptionError, nearest
from touche_rad.files import Kind
from touche_rad.files.schemas import CRITERIA, names, schema_of

_CONTENT: Final = {
    Kind.SIMULATIONS: "a debate between a user and a debater, from simulate or the official client",
    Kind.EVALUATIONS: "a debate with the verdicts on each response, from judge",
    Kind.CHAT: "the messages of a debate, as a client sends them to POST /",
    Kind.RESPONSES: "the answer to one turn of a debate, from respond",
    Kind.ANNOTATED: "a debate of the task's annotated debates",
    Kind.CLAIMS: "a claim to debate: a row of a TSV file",
    Kind.LABELS: "people's verdicts on the responses of a debate, from label",
    Kind.ARGUMENTS: "an argument of a collection, for index",
    Kind.CONTESTS: "the speeches of two debaters, from contests or simulate --both-sides",
    Kind.OUTCOMES: "a panel's verdict on a contest, from judge",
    Kind.ANNOTATIONS: "the labels of a text, such as argument schemes, from index --annotate",
    CRITERIA: "the questions of a judge, a TOML file, from new criteria",
}
"""What a line of each kind of file is."""


@opt.options
class SchemaOptions:
    """The options of `schema`."""

    kind: str | None = opt.argument("[KIND]", required=False)


@command("schema", "schema evaluations")
def schema_command(options: SchemaOptions) -> None:
    """Print the JSON schema of a line of a KIND of file; without KIND, list the kinds."""
    kinds = names()
    if options.kind is None:
        width = max(map(len, kinds)) + 2
        for name, kind in kinds.items():
            print_text(_CONTENT[kind], click.style(name.ljust(width), fg="cyan"), " " * width)
        next_step(["schema", next(iter(kinds))])
        return
    if options.kind not in kinds:
        raise OptionError(f"there is no schema {options.kind!r}{nearest(options.kind, kinds)}")
    print_json(schema_of(kinds[options.kind]))
