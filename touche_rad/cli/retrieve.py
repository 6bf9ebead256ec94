"""The command `retrieve`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import Label, next_step, plain, print_json, print_text, progress, say
from touche_rad.cli.program import command
from touche_rad.debate import Argument, Hit
from touche_rad.errors import InputError, ToucheRadError, UserError, WorkError
from touche_rad.plugins import LoadedRetriever, index_backend_of
from touche_rad.runs.fallbacks import InvalidResult, describe_failure
from touche_rad.text import is_blank, printable, redact

DEPTH_OF_RUN: Final = 100
DEPTH_ON_SCREEN: Final = 10


@opt.offering("index", "trace", "seed", "quiet", "as_json")
class RetrieveOptions(opt.ModelOptions):
    """The options of `retrieve`."""

    queries: Path | None = opt.argument("[QUERIES]", required=False)
    output: Path | None = opt.output("TREC run to write. [default: the screen]", checked=True)
    replace: bool
    retriever: opt.PluginSpec = opt.RETRIEVER
    plugin_options: opt.PluginOptions = opt.plugin_options("retriever")
    utterance: str | None = opt.option(
        "Search for this text instead, and print the hits.", "--say", metavar="TEXT"
    )
    depth: int | None = opt.option(
        "Number of arguments per query. [default: 100; 10 with --say]", "-k"
    )
    explain: bool = opt.flag("Print the hits of each query with their texts and paths.")


@command(
    'retrieve --say "Captivity harms animals."',
    "retrieve touche_rad/demo/claims.tsv -i demo -r attack -k 10 -o attack.run",
    "retrieve touche_rad/demo/claims.tsv -i demo -r 'hybrid(k=30)' --explain",
)
def retrieve_command(options: RetrieveOptions) -> None:
    """Search the index for each query in QUERIES and write a TREC run.

    QUERIES is a text file with one query per line (query ID, tab, query; or only the query), a
    claims TSV, or a file of debates, whose user turns are the queries. irds:NAME/queries are those
    of a dataset of ir_datasets; the document that is the query itself is left out.

    With --say, search for one text and print the hits: rank, score, ID and text.
    """
    utterance = options.utterance
    output = options.output
    queries: list[tuple[str, str]] = []
    dataset = ""
    if (options.queries is None) == (utterance is None):
        raise UserError("retrieve: give a file of queries, or --say TEXT")
    if utterance is not None:
        if is_blank(utterance):
            raise UserError("retrieve --say: expected a text, got only blanks")
        queries = [("1", utterance)]
    elif options.queries:
        queries = list(read_queries(options.queries))
        dataset = _dataset_of(options.queries)
    is_on_screen = utterance is not None or options.explain
    depth = options.depth or (DEPTH_OF_RUN if utterance is None else DEPTH_ON_SCREEN)

    retriever = options.retriever.configure("retriever")
    tag = redact(retriever.tag).replace(" ", "_")
    results: list[tuple[str, str, list[Hit]]] = []
    with (
        prepare.open_session(
            options, retriever, out=output, needs_index=True, or_demo=utterance is not None
        ) as session,
        progress("retrieving", quiet=options.quiet or utterance is not None) as report,
    ):
        searcher = retriever.make(session.services)
        for done, (query_id, query) in enumerate(queries, 1):
            hits = _search(retriever.tag, searcher, query, depth)
            if dataset:
                # In ArguAna, a query is an argument of the collection.
                hits = [hit for hit in hits if hit.argument.id != query_id]
            results.append((query_id, query, hits))
            report(done, len(queries))

    rows = []
    records = []
    for query_id, query, hits in results:
        hit_records = []
        for rank, hit in enumerate(hits, 1):
            argument = hit.argument
            rows.append(files.Ranked(query_id, argument.id, rank, hit.score, tag))
            hit_records.append(
                {
                    "rank": rank,
                    "score": hit.score,
                    "id": argument.id,
                    "text": argument.text,
                    "path": list(hit.path),
                }
            )
        records.append({"id": query_id, "query": query, "hits": hit_records})
    if output or not (is_on_screen or options.as_json):
        with files.atomic_write(output or "-") as stream:
            stream.writelines(line + "\n" for line in files.run_lines(rows))
    if options.as_json:
        print_json(records)
    elif is_on_screen:
        for _, query, hits in results:
            _print_hits(query if utterance is None else "", hits, paths=options.explain)

    if utterance is None:
        say(f"{len(rows)} hits for {len(queries)} queries by {tag}")
    if output:
        say(output, Label.WRITTEN)
        next_step(["score", output, f"{dataset}/qrels" if dataset else "QRELS"])


def _search(name: str, searcher: LoadedRetriever, query: str, depth: int) -> list[Hit]:
    """Search, and turn any failure of a plugin into one line that names it."""
    try:
        hits = list(searcher.search(query, depth))
        for hit in hits:
            if not (isinstance(hit, Hit) and isinstance(hit.argument, Argument)):
                raise InvalidResult(f"a hit is {type(hit).__name__}")
            if not math.isfinite(hit.score):
                raise InvalidResult(f"the score of {hit.argument.id} is {hit.score}")
        return hits
    except ToucheRadError:
        raise
    except Exception as error:
        raise WorkError(describe_failure(f"retriever {name}", error)) from error


def _dataset_of(queries: Path) -> str:
    """Return the dataset of ir_datasets whose queries these are; empty: they are in a file."""
    name = str(queries)
    return name.removesuffix("/queries") if name.startswith("irds:") else ""


def read_queries(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the queries of a file with their IDs."""
    dataset = _dataset_of(path)
    if dataset:
        yield from index_backend_of(dataset).queries(dataset)
        return
    if not path.exists():
        raise UserError(f'retrieve: there is no file {path}; to search for a text: --say "{path}"')
    try:
        kind = files.detect_kind(path)
    except InputError:
        kind = None
    if kind is files.Kind.CLAIMS:
        for debate in files.read_claims(path):
            yield debate.id, debate.claim
    elif kind in files.DEBATES:
        for debate in files.read_debates(path):
            for number, turn in enumerate(debate.turns):
                yield f"{debate.id}-{number}".replace(" ", "_"), turn.utterance
    else:
        yield from files.read_queries(path)


def _print_hits(query: str, hits: Sequence[Hit], *, paths: bool) -> None:
    """Print hits as a table; with `paths`, also the arguments that led to them."""
    if query:
        click.secho(printable(query), bold=True)
    if not hits:
        click.echo("  no argument has a word of the query in what this retriever searches")
        return
    ids = ["id", *(plain(hit.argument.id) for hit in hits)]
    width = max(map(len, ids))
    click.secho(f"rank    score  {ids[0]:{width}}  text", bold=True)
    for rank, hit in enumerate(hits, 1):
        first = f"{rank:>4}  {hit.score:>7.3f}  {ids[rank]:{width}}  "
        text = hit.argument.text
        if paths and hit.path:
            text += f" [path: {' > '.join(hit.path)}]"
        print_text(plain(text), first, " " * len(first))
