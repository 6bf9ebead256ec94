"""The command `schema`."""

from __future__ import annotations

from touche_rad.cli import options as opt
from touche_rad.cli.console import print_json
from touche_rad.cli.program import command
from touche_rad.errors import OptionError, nearest
from touche_rad.files.schemas import names, schema_of


@opt.options
class SchemaOptions:
    """The options of `schema`."""

    kind: str | None = opt.argument(str, "[KIND]", required=False)


@command("schema", "schema simulations", "schema evaluations")
def schema_command(options: SchemaOptions) -> None:
    """Print the JSON schema of a KIND of file, or of all kinds.

    A schema describes one line of a file. KIND is simulations, evaluations, chat-messages,
    responses, annotated-debates, claims (the columns of the TSV), labels, arguments, contests,
    outcomes or annotations.
    """
    kinds = names()
    kind = options.kind
    if kind is not None and kind not in kinds:
        raise OptionError(f"there is no schema {kind!r}{nearest(kind, kinds)}")
    schema = schema_of(kinds[kind]) if kind else {name: schema_of(kinds[name]) for name in kinds}
    print_json(schema)
