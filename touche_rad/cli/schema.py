"""The command `schema`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli.console import say
from touche_rad.errors import OptionError, nearest
from touche_rad.files.schemas import names, schema_of


@dataclass(frozen=True, kw_only=True)
class SchemaOptions:
    """The options of `schema`."""

    kind: str | None = opt.argument("[KIND]", required=False)
    output: Path | None = opt.output("Folder: write one file per kind.", "DIR", checked=True)
    replace: bool = opt.REPLACE
    quiet: bool = opt.QUIET


@opt.command("schema", "schema simulations", "schema evaluations", "schema -o schemas")
def schema_command(options: SchemaOptions) -> None:
    """Print the JSON schema of a KIND of file, or of all kinds.

    A schema describes one line of a file. KIND is simulations, evaluations, chat-messages,
    responses, annotated-debates, claims (the columns of the TSV), labels, arguments, contests,
    outcomes or annotations.
    """
    kinds, kind, output = names(), options.kind, options.output
    if kind is not None and kind not in kinds:
        raise OptionError(f"there is no schema {kind!r}{nearest(kind, kinds)}")
    schemas = {name: schema_of(kinds[name]) for name in ([kind] if kind else kinds)}
    if output is None:
        click.echo(_text(schemas[kind] if kind else schemas), nl=False)
        return
    for name, schema in schemas.items():
        path = output / f"{name}.schema.json"
        with files.atomic_write(path) as stream:
            stream.write(_text(schema))
        say(f"written: {path}", quiet=options.quiet)


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
