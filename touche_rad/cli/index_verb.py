"""`touche-rad index`: arguments in, an index folder out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import click

from touche_rad.cli import asking, shared
from touche_rad.cli.console import say
from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.schemes import Annotator

DENSE_FIELDS = ("text", "attacks", "supports", "topic", "all")


@click.command("index", cls=shared.Verb)
@click.argument("source", metavar="SOURCE")
@shared.output("The index folder to make.", metavar="DIR")
@click.option("--to", metavar="LOCATION",
              help="Make it there instead: elasticsearch:URL/NAME, or a folder.")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace an index that is there.")
@click.option("--dense", metavar="ENCODER",
              help="Make vectors too: minilm, stella, openai:URL#MODEL, a folder.")  # fmt: skip
@click.option("--dense-field", "dense_fields", multiple=True, default=DENSE_FIELDS[:3],
              show_default=True, type=click.Choice(DENSE_FIELDS),
              help="A field to make vectors of; may be given several times.")  # fmt: skip
@click.option("--dense-precision", type=click.Choice(["float16", "int8"]), default="float16",
              show_default=True, help="How the vectors are kept.")  # fmt: skip
@click.option("--dense-graph", is_flag=True, help="Make a graph for approximate search (HNSW).")
@click.option("--utterances", is_flag=True,
              help="Take what debates say, not cite; SOURCE may be a .txt.")  # fmt: skip
@click.option("--annotate", is_flag=True,
              help="Make the memory too: a model (-m) says which schemes are used.")  # fmt: skip
@click.option("--annotate-profile", type=click.Choice(["lean", "paper"]), default="lean",
              show_default=True, help="One call for several, or two for each one.")  # fmt: skip
@click.option("--annotate-per-call", type=click.IntRange(1, 16), default=4, show_default=True,
              help="Arguments that a lean call is about.")  # fmt: skip
@click.option("--annotate-cost", is_flag=True,
              help="Say what --annotate would take, and annotate nothing.")  # fmt: skip
@asking.model_options
@shared.seed
@shared.skip_bad
@shared.quiet
@shared.show_config
@click.pass_context
def command(
    ctx: click.Context,
    /,
    source: str,
    short: tuple[str, ...],
    output: str | None,
    option: tuple[str, ...],
    to: str | None,
    replace: bool,
    dense: str | None,
    dense_fields: tuple[str, ...],
    dense_precision: Literal["float16", "int8"],
    dense_graph: bool,
    skip_bad: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Make an argument index from SOURCE.

    SOURCE is a collection (JSONL, gzipped or not, with the fields id, text, attacks, supports,
    topic ...), a file of debates, whose cited arguments are taken, each once, or an index on a
    server (elasticsearch:URL/NAME), which is brought here whole. Killed, the same command goes on,
    with --dense and --annotate too.
    """
    from touche_rad.cli.indexing import Making
    from touche_rad.plugins import VectorsWanted, index_exists, keeps_memory

    chosen = shared.choose(ctx, "index", short, output, option)
    place = to or chosen.path
    if place is None:
        raise UserError("index: say where the index goes: -o DIR")
    wanted = (
        VectorsWanted(dense, tuple(dict.fromkeys(dense_fields)), dense_precision, dense_graph)
        if dense
        else None
    )
    options = chosen.of("index")
    annotator = _annotator(given, chosen, quiet=quiet)
    if annotator is not None:
        keeps_memory(str(place))
    there = index_exists(str(place), options) and not replace
    if there and wanted is None and annotator is None:
        raise UserError(f"{place} is there already: --replace makes it anew")
    making = Making(
        source, str(place), utterances=given["utterances"], skip_bad=skip_bad, quiet=quiet
    )
    with making.brought(there=there) as path:
        if not there and path is not None:
            making.words(path, options, replace=replace)
        of = path if there else None
        if wanted is not None:
            making.vectors(wanted, of)
        if annotator is not None:
            making.memory(annotator, of, only_cost=given["annotate_cost"])


def _annotator(given: Mapping[str, Any], chosen: shared.Chosen, *, quiet: bool) -> Annotator | None:
    """Make who annotates, where that was asked; no model is started yet."""
    if not (given["annotate"] or given["annotate_cost"]):
        if given["model"]:
            say("note: only --annotate asks a model; -m is not used", quiet=quiet)
        return None
    from touche_rad.models.places import named_by_environment
    from touche_rad.schemes import Annotator

    if not (given["model"] or named_by_environment()):
        raise UserError(
            "index --annotate needs a language model: -m URL#MODEL, -m vllm:MODEL, or "
            "OPENAI_BASE_URL and OPENAI_MODEL in the environment"
        )
    model = asking.made({**given, "quiet": quiet}, chosen)
    return Annotator(model, profile=given["annotate_profile"], per_call=given["annotate_per_call"])
