"""Measure the quality of retrieval, of stance models, and of the grounded judge.

    python benchmarks/quality.py retrieval --split test --encoder DIR --beside ENCODER
    python benchmarks/quality.py stance --stance nli:MODEL

`--data` (default: the environment variable TOUCHE_RAD_DATA) is the folder with
claimrev-4441.jsonl.gz. A trained encoder is measured on held-out topics: `--split test`.
`--write FILE` replaces the tables of the same names between FILE's marks and keeps the others.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures import RR, R, nDCG
from scipy.stats import ttest_rel

from benchmarks.quality_pipelines import (
    HIDDEN,
    OPEN,
    TUNED,
    ModelPipeline,
    Pipeline,
    about,
    blended,
    short_name,
    stance_pipelines,
)
from benchmarks.quality_stance import stance_table
from retrieval._tasks import HIDDEN as HIDDEN_TASKS
from retrieval._tasks import RetrievalTopic, parse_task, topics
from touche_rad import files, plugins
from touche_rad.debate import Argument
from touche_rad.score.significance import holm

MEASURES = (nDCG @ 10, R @ 10, R @ 100, RR)
TASKS = ("counter", "counter/orig", "support", "support/orig", "chain")
OPEN_TASKS = ("chain",)
FIELDS = ("text", "attacks", "supports", "topic", "all")
BASELINE = "BM25 text"
DRAWS = 1000
UNTUNED = "minilm"
BEGIN, END = "<!-- benchmarks/quality.py -->", "<!-- end -->"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument("--data", type=Path, default=os.environ.get("TOUCHE_RAD_DATA"))
    data.add_argument("--split", choices=("train", "dev", "test"), help="topics [all]")
    data.add_argument(
        "--stance",
        action="append",
        default=[],
        metavar="BACKEND",
        help="nli:MODEL or model:URL#NAME",
    )
    data.add_argument("--write", type=Path, metavar="FILE", help="Markdown file with marks")
    search = commands.add_parser("retrieval", parents=[data], help="pipelines on the tasks")
    search.add_argument("--task", action="append", choices=TASKS)
    search.add_argument(
        "--encoder",
        metavar="DIR",
        help="of touche-rad train encoder, on the same collection",
    )
    search.add_argument(
        "--beside", default=UNTUNED, metavar="ENCODER", help="another untuned encoder than minilm"
    )
    search.add_argument("--queries", type=int, metavar="N", help="at most N queries of each task")
    search.add_argument("--keep", type=Path, metavar="DIR", help="keep the indexes here")
    commands.add_parser("stance", parents=[data], help="which claim does an argument attack?")
    options = parser.parse_args()
    check(parser, options)
    tables = stance(options) if options.command == "stance" else retrieval(options)
    if options.write:
        write(options.write, tables)


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.data is None:
        parser.error("name the data folder: --data DIR or TOUCHE_RAD_DATA")
    if len({short_name(name) for name in options.stance}) < len(options.stance):
        parser.error("two stance backends have the same name: rename a folder")
    if options.command == "stance":
        return
    if options.encoder and options.split != "test":
        parser.error("a trained encoder is measured with --split test")
    if options.beside != UNTUNED and not options.encoder:
        parser.error("--beside needs --encoder")


def collection(options: argparse.Namespace) -> list[Argument]:
    return list(files.read_arguments(Path(options.data) / "claimrev-4441.jsonl.gz"))


def stance(options: argparse.Namespace) -> dict[str, str]:
    title = f"stance/{options.split}" if options.split else "stance"
    table = stance_table(title, collection(options), options.split, options.stance)
    print(table, flush=True)
    return {title: table}


def retrieval(options: argparse.Namespace) -> dict[str, str]:
    arguments, tables = collection(options), {}
    with tempfile.TemporaryDirectory() as scratch:
        names = options.task or TASKS
        hidden, tuned, full = indexes(
            arguments,
            options.keep or Path(scratch),
            [options.encoder] if options.encoder else [],
            options.beside,
            tasks={name.split("/")[0] for name in names},
        )
        for name in names:
            kind = name.split("/")[0]
            title = f"{name}/{options.split}" if options.split else name
            queries = topics(arguments, parse_task(title))
            if options.queries and options.queries < len(queries):
                queries = random.Random(0).sample(queries, options.queries)
                title = f"{title}, {options.queries} drawn"
            pipelines: Mapping[str, Pipeline]
            if kind in HIDDEN_TASKS:
                pipelines = {**HIDDEN, **tuned_pipelines(options, tuned)}
            else:
                pipelines = {**OPEN, **stance_pipelines(options.stance)}
            tables[title] = retrieval_table(
                title, queries, pipelines, hidden if kind in HIDDEN_TASKS else full
            )
            print(tables[title], flush=True)
    return tables


def tuned_pipelines(options: argparse.Namespace, index: Any) -> dict[str, Pipeline]:
    """Return the pipelines of a trained encoder on their own index."""
    if not options.encoder:
        return {}

    def build(make: ModelPipeline) -> Pipeline:
        return lambda _: make(index, options.encoder)

    pipelines = {name: build(make) for name, make in TUNED.items()}
    if options.beside != UNTUNED:
        name = Path(options.beside).name
        pipelines[f"about, {name}"] = lambda _: about(index, options.beside)
        pipelines[f"blended with {name}, tuned"] = build(partial(blended, base=options.beside))
    return pipelines


def indexes(
    arguments: Sequence[Argument],
    folder: Path,
    encoders: Sequence[str],
    beside: str,
    *,
    tasks: set[str],
) -> tuple[Any, Any, Any]:
    """Build the indexes that the tasks need: without claims, the same with all encoders, full."""
    blind = [one.model_copy(update={"attacks": "", "supports": ""}) for one in arguments]
    opened: list[Any] = []
    several = tuple(dict.fromkeys((*encoders, UNTUNED, beside)))
    for name, content, fields, vectors, needed in (
        ("hidden", blind, ("text", "all"), (UNTUNED,), HIDDEN_TASKS),
        ("tuned", blind, ("text", "all"), several, HIDDEN_TASKS if encoders else ()),
        ("full", arguments, ("text", "attacks", "supports"), (UNTUNED,), OPEN_TASKS),
    ):
        if tasks.isdisjoint(needed):
            opened.append(None)
            continue
        place = str(folder / name)
        if not Path(place).exists():
            plugins.build_index(content, place)
        for encoder in vectors:
            plugins.add_vectors(place, plugins.VectorsWanted(encoder, fields))
        opened.append(plugins.open_index(place))
    return opened[0], opened[1], opened[2]


def retrieval_table(
    title: str, queries: Sequence[RetrievalTopic], pipelines: Mapping[str, Pipeline], index: Any
) -> str:
    """Return the measures with 95 % intervals, and p of nDCG@10 against the baseline (Holm)."""
    frame = pd.DataFrame([(one.qid, one.query) for one in queries], columns=["qid", "query"])
    qrels = [ir_measures.Qrel(one.qid, docno, 1) for one in queries for docno in one.relevant]
    itself = {
        (one.qid, docno) for one in queries for docno in one.itself if docno not in one.relevant
    }
    figures = {name: measure(make(index), frame, qrels, itself) for name, make in pipelines.items()}
    baseline = figures[BASELINE][MEASURES[0]]
    others = [name for name in figures if name != BASELINE]
    tests = [float(ttest_rel(figures[name][MEASURES[0]], baseline).pvalue) for name in others]
    p_values = dict(zip(others, holm(tests), strict=True))
    lines = [
        f"\n**{title}**, {len(queries)} queries\n",
        "| pipeline | " + " | ".join(map(str, MEASURES)) + " | against BM25 text |",
        "| --- |" + " --- |" * (len(MEASURES) + 1),
    ]
    for name, values in figures.items():
        p = p_values.get(name)
        shown = "" if p is None else "p < .001" if p < 0.001 else f"p = {p:.3f}"
        cells = " | ".join(with_interval(values[measure]) for measure in MEASURES)
        lines.append(f"| {name} | {cells} | {shown} |")
    return "\n".join(lines) + "\n"


def measure(
    pipeline: Any, queries: pd.DataFrame, qrels: Sequence[Any], itself: set[tuple[str, str]]
) -> dict[Any, np.ndarray]:
    """Return each measure of each query; the query's own argument is removed first."""
    run = [
        ir_measures.ScoredDoc(qid, docno, score)
        for qid, docno, score in pipeline(queries)[["qid", "docno", "score"]].itertuples(
            index=False
        )
        if (qid, docno) not in itself
    ]
    places = {qid: at for at, qid in enumerate(queries["qid"])}
    values = {measure: np.zeros(len(queries)) for measure in MEASURES}
    for metric in ir_measures.iter_calc(MEASURES, qrels, run):
        values[metric.measure][places[metric.query_id]] = metric.value
    return values


def with_interval(values: np.ndarray) -> str:
    chance = np.random.default_rng(0)
    draws = values[chance.integers(0, len(values), (DRAWS, len(values)))].mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{values.mean():.3f} ({low:.3f}-{high:.3f})"


def write(path: Path, tables: Mapping[str, str]) -> None:
    """Replace the tables of the same names; new ones are added at the end."""
    before, _, rest = path.read_text("utf-8").partition(BEGIN)
    block, _, after = rest.partition(END)
    kept = re.split(r"^(?=\*\*)", block, flags=re.MULTILINE)
    known = {one.split("**")[1]: one for one in kept if one.startswith("**")}
    text = "\n".join(f"\n{table.strip()}\n" for table in {**known, **tables}.values())
    path.write_text(f"{before}{BEGIN}\n{text}{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
