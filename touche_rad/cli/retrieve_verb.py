"""`touche-rad retrieve`: queries in, a TREC run out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touche_rad.cli import options as shared
from touche_rad.cli.console import progress, say

if TYPE_CHECKING:
    from touche_rad.debate import Hit
    from touche_rad.files import Ranked


@click.command("retrieve", cls=shared.Verb)
@click.argument("queries", type=click.Path(path_type=Path), metavar="QUERIES")
@shared.output("The run file to write. [default: the screen]")
@shared.index
@click.option(
    "-r", "--retriever", default="opposing", show_default=True, envvar="TOUCHE_RAD_RETRIEVER",
    metavar="NAME", help="What searches: text, attack, support, chain, hybrid or a plugin's.",
)  # fmt: skip
@click.option("-k", "depth", type=click.IntRange(1), default=100, show_default=True,
              help="Arguments a query.")  # fmt: skip
@click.option("--tag", help="The run's name in its last column. [default: the retriever's]")
@click.option("--explain", is_flag=True, help="Print each hit with its text and path.")
@shared.options
@shared.seed
@shared.quiet
@shared.show_config
@click.pass_context
def command(
    ctx: click.Context,
    /,
    queries: Path,
    output: str | None,
    option: tuple[str, ...],
    index: str | None,
    retriever: str,
    depth: int,
    tag: str | None,
    explain: bool,
    seed: int,
    quiet: bool,
    **given: Any,
) -> None:
    """Search the index for each query of QUERIES and write a TREC run.

    QUERIES is a text file with one query a line (qid, tab, query; or the query alone), a claims
    TSV, or a file of debates, whose user turns are the queries (qid: debate-turn).
    """
    from touche_rad import files
    from touche_rad.plugins import find
    from touche_rad.secrets import redact

    chosen = shared.choose(ctx, "retriever", output, option)
    plugin = find("retriever", retriever)
    options = chosen.of("retriever")
    asked_with = {**given, "seed": seed, "quiet": quiet}
    model = shared.model_for({f"retriever {retriever}": plugin}, asked_with, chosen, chosen.path)
    searcher = plugin.make(shared.services(index, seed, model=model), options)
    name = tag or redact(plugin.identity(plugin.parse(options))).replace(" ", "_")
    asked = list(_queries(queries))
    rows: list[Ranked] = []
    with progress("retrieving", quiet=quiet) as report:
        for done, (qid, query) in enumerate(asked, 1):
            hits = searcher.search(query, depth)
            rows.extend(_rows(qid, hits, name))
            if explain:
                _explain(qid, query, hits)
            report(done, len(asked))
    with files.atomic_write(chosen.path or "-") as out:
        out.writelines(line + "\n" for line in files.run_lines(rows))
    say(f"{len(rows)} hits for {len(asked)} queries by {name}", quiet=quiet)


def _queries(path: Path) -> Iterator[tuple[str, str]]:
    from touche_rad import files
    from touche_rad.errors import InputError

    try:
        kind = files.detect_kind(path)
    except InputError:
        kind = None
    if kind is files.Kind.CLAIMS:
        for debate in files.read_claims(path):
            yield debate.id, debate.claim
    elif kind in files.DEBATES:
        for debate in files.read_debates(path):
            for turn, words in enumerate(debate.turns):
                yield f"{debate.id}-{turn}".replace(" ", "_"), words.utterance
    else:
        yield from files.read_queries(path)


def _rows(qid: str, hits: list[Hit], tag: str) -> Iterator[Ranked]:
    from touche_rad.files import Ranked

    for rank, hit in enumerate(hits, 1):
        yield Ranked(qid, hit.argument.id, rank, hit.score, tag)


def _explain(qid: str, query: str, hits: list[Hit]) -> None:
    say(f"{qid}: {query}")
    for rank, hit in enumerate(hits[:10], 1):
        path = " > ".join(hit.path)
        say(f"  {rank:2d}. {hit.score:8.3f}  {hit.argument.id}  {hit.argument.text}")
        if path:
            say(f"      {path}")
