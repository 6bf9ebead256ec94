"""Measure time: retrieval, model calls, servers.

    python benchmarks/speed.py retrieval COLLECTION [--elastic URL|own] [--synthetic N]
    python benchmarks/speed.py model [MODEL] [--prompts N] [--at-once N] [--vllm KEY=VALUE ...]
    python benchmarks/speed.py start [--rounds N] [--against CHECKOUT]
    python benchmarks/speed.py server COLLECTION [--server URL] [--debaters NAME ...] [--at-once N]
    python benchmarks/speed.py judge DEBATES [--judges NAME ...] [--turns N] [--rounds N]

Prints Markdown tables. Times depend on the machine: quote the ratios. Synthetic arguments consist
of two random sentences of real ones (fixed random seed).
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import ArgumentIndex, build_index, open_index
from touche_rad.text import sentences

SEED = 7
DEPTH = 10
ROUNDS = 5
REMOTE = "touche-rad-speed"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    search = commands.add_parser("retrieval", help="the local index, and Elasticsearch beside it")
    search.add_argument("collection", type=Path)
    search.add_argument("--elastic", metavar="URL", help="Elasticsearch; own: start one")
    search.add_argument("--synthetic", type=int, metavar="N")
    search.add_argument("--queries", type=int, default=300)
    search.set_defaults(run=retrieval)
    asking = commands.add_parser("model", help="our model client against plain HTTP requests")
    asking.add_argument("model", nargs="?", help="model that vLLM serves; without it our overhead")
    asking.add_argument("--prompts", type=int, default=200)
    asking.add_argument("--at-once", type=int, default=32)
    asking.add_argument("--rounds", type=int, default=2)
    asking.add_argument("--vllm", nargs="*", default=[], metavar="KEY=VALUE")
    asking.set_defaults(run=model)
    start = commands.add_parser("start", help="import, --help, and one answer of a new process")
    start.add_argument("--rounds", type=int, default=9)
    start.add_argument("--against", type=Path, metavar="CHECKOUT", help="another version beside it")
    start.set_defaults(run=start_of_a_process)
    serving = commands.add_parser("server", help="touche-rad serve beside the example system")
    serving.add_argument("collection", type=Path)
    serving.add_argument("--server", metavar="URL", help="Elasticsearch; else one is started")
    serving.add_argument("--debaters", nargs="*", default=["verbatim", "grounded"])
    serving.add_argument("--requests", type=int, default=1000)
    serving.add_argument("--at-once", type=int, default=20)
    serving.add_argument("--rounds", type=int, default=3)
    serving.set_defaults(run=server)
    judging = commands.add_parser("judge", help="the judges that need no model")
    judging.add_argument("debates", type=Path)
    judging.add_argument("--judges", nargs="*", default=["length", "grounded"])
    judging.add_argument("--turns", type=int, default=200)
    judging.add_argument("--rounds", type=int, default=3)
    judging.set_defaults(run=judge)
    options = parser.parse_args()
    options.run(options)


def start_of_a_process(options: argparse.Namespace) -> None:
    from benchmarks.speed_start import report

    report(options)


def server(options: argparse.Namespace) -> None:
    from benchmarks.speed_server import report

    report(options)


def judge(options: argparse.Namespace) -> None:
    from benchmarks.speed_judge import report

    report(options)


def seconds(work: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


def synthetic(real: Sequence[Argument], count: int) -> Iterator[Argument]:
    """Yield arguments of two random sentences of the real ones."""
    chance = random.Random(SEED)
    texts = [sentence for argument in real for sentence in sentences(argument.text)]
    for number in range(count):
        text = f"{chance.choice(texts)} {chance.choice(texts)}"
        yield chance.choice(real).model_copy(update={"id": f"{number:06}", "text": text})


def row(name: str, times: Sequence[Sequence[float]]) -> None:
    """Print the least and the most milliseconds of all rounds, and the ratios in them."""
    ours, *others = times
    ratios = [[there / here for there, here in zip(of, ours, strict=True)] for of in others]
    beside = "".join(f"; Elasticsearch {min(of):.1f}x to {max(of):.1f}x" for of in ratios)
    print(f"- {name}: {min(ours):.2f} to {max(ours):.2f}{beside}", flush=True)


def retrieval(options: argparse.Namespace) -> None:
    """Ask all indexes the same queries in turns."""
    from benchmarks.speed_server import own_elasticsearch

    real = list(files.read_arguments(options.collection))
    arguments = list(synthetic(real, options.synthetic)) if options.synthetic else real
    claims = list(dict.fromkeys(one.attacks for one in real if one.attacks.strip()))
    queries = claims[:: max(1, len(claims) // options.queries)][: options.queries]
    print(f"{len(arguments)} arguments, {len(queries)} queries, the best {DEPTH}\n")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        places = [str(Path(folder, "index"))]
        if options.elastic:
            url = options.elastic
            if url == "own":
                url = stack.enter_context(own_elasticsearch())
            places.append(f"elasticsearch:{url}/{REMOTE}")
            remove(places[1])
        for place in places:
            build_index(iter(arguments), place, replace=True)
        indexes = [open_index(place) for place in places]
        for name, search in (("one at a time", one_by_one), ("in a batch", in_a_batch)):
            row(f"milliseconds a query, {name}", times_of(search, indexes, "attacks", queries))


def remove(location: str) -> None:
    """Delete what an earlier run left on the server."""
    from retrieval.elastic._connection import Connection

    with closing(Connection(location)) as connection:
        pattern = f"{connection.where.index}*"

        def delete(es: Any) -> None:
            for name in es.indices.get(index=pattern, expand_wildcards="all"):
                es.indices.delete(index=name)

        connection.ask(delete)


def times_of(
    search: Callable[..., None],
    indexes: Sequence[ArgumentIndex],
    field: str,
    queries: Sequence[str],
) -> list[list[float]]:
    """Return the milliseconds per query of each index and round, after a warm-up round."""
    times: list[list[float]] = [[] for _ in indexes]
    for turn in range(ROUNDS + 1):
        for index, of_index in zip(indexes, times, strict=True):
            spent = seconds(search, index, field, queries)
            if turn:
                of_index.append(1000 * spent / len(queries))
    return times


def one_by_one(index: ArgumentIndex, field: str, queries: Sequence[str]) -> None:
    for query in queries:
        index.search(field, query, DEPTH)


def in_a_batch(index: ArgumentIndex, field: str, queries: Sequence[str]) -> None:
    index.search_all(field, queries, DEPTH)


def model(options: argparse.Namespace) -> None:
    from benchmarks.speed_model import report

    report(options)


if __name__ == "__main__":
    main()
