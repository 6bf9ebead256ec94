"""Compare retrieval pipelines on test collections made from a collection itself.

    python benchmarks/retrieval_quality.py [--data DIR] [--task NAME ...] [--write FILE]
        [--encoder DIR ...] [--beside ENCODER] [--stance BACKEND ...] [--queries N]

DIR (default: the environment variable TOUCHE_RAD_DATA) holds claimrev-4441.jsonl.gz. Prints, for
each task, nDCG@10, R@10, R@100 and RR with intervals of 95 % (bootstrap over queries) and whether
nDCG@10 differs from BM25 over texts (paired t-test, Holm-corrected over the task's pipelines).
With --write the tables also go into FILE, between its marks, each in place of the one of its name;
the others stay. Encoding takes a minute. --queries draws so many queries of a task, the same ones
each time: a backend may be slow.

Each --encoder is the folder of `touche-rad train encoder` on the same collection. A query is
answered by one that saw none of its topics; give one of each fold, and every query has its own, but
for the few whose arguments lie in topics of several folds: the untuned encoder answers them.
--beside is another untuned one than minilm, measured alone and in `blended`.

Each --stance is a backend as `touche-rad retrieve -r stance -O by=` takes it; `rules` is there
without it. `paraphrase` and `chain` get a pipeline by each, and `stance` a line: how often it finds
which of two claims an argument attacks. Trained models are asked as encoders are; those of several
folds are one backend, `trained:DIR,DIR`. A query that none of them may answer is not reranked.
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
from blind import answerers, by_turns
from by_stance import attacked, reranked, shown
from ir_measures import RR, R, nDCG
from scipy.stats import ttest_rel

from retrieval.dense.tuning.training import report_of
from retrieval.pipelines import HIDDEN, OPEN, TUNED, Made, MadeBy, about, blended
from retrieval.tasks import HIDDEN as HIDDEN_KINDS
from retrieval.tasks import Topic, task, topics
from touche_rad import files, plugins
from touche_rad.debate import Argument

MEASURES = (nDCG @ 10, R @ 10, R @ 100, RR)
TASKS = ("counter", "counter/orig", "support", "support/orig", "paraphrase", "chain", "stance")
OPEN_KINDS = ("paraphrase", "chain")
BASE = "BM25 text"
DRAWS = 1000
UNTUNED = "minilm"
BEGIN, END = "<!-- benchmarks/retrieval_quality.py -->", "<!-- end -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("TOUCHE_RAD_DATA"))
    parser.add_argument("--task", action="append", choices=TASKS)
    parser.add_argument("--split", choices=("train", "dev", "test"))
    parser.add_argument("--write", type=Path)
    parser.add_argument("--encoder", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument("--beside", default=UNTUNED, metavar="ENCODER")
    parser.add_argument("--stance", action="append", default=[], metavar="BACKEND")
    parser.add_argument("--queries", type=int, metavar="N", help="at most so many of each task")
    parser.add_argument("--keep", type=Path, help="where the indexes are made and kept")
    options = parser.parse_args()
    if options.data is None:
        parser.error("say where the data is: --data DIR or TOUCHE_RAD_DATA")
    if options.beside != UNTUNED and not options.encoder:
        parser.error("--beside goes with --encoder")
    if len({shown(name) for name in options.stance}) < len(options.stance):
        parser.error("two stance backends have the same name: rename a folder")
    arguments = list(files.read_arguments(Path(options.data) / "claimrev-4441.jsonl.gz"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        wanted = options.task or TASKS
        hidden, own, full = indexes(
            arguments, folder, [str(one) for one in options.encoder], options.beside,
            kinds={name.split("/")[0] for name in wanted},
        )  # fmt: skip
        tables: dict[str, str] = {}
        for name in wanted:
            kind = name.split("/")[0]
            name = f"{name}/{options.split}" if options.split else name
            if kind == "stance":
                tables[name] = attacked(name, arguments, options.split, options.stance)
                print(tables[name], flush=True)
                continue
            found = topics(arguments, task(name))
            if options.queries and options.queries < len(found):
                found = random.Random(0).sample(found, options.queries)
                name = f"{name}, {options.queries} drawn"
            made: Mapping[str, Made] = HIDDEN if kind in HIDDEN_KINDS else OPEN
            index = hidden if kind in HIDDEN_KINDS else full
            if options.encoder and kind in HIDDEN_KINDS:
                by_own = tuned(options.encoder, options.beside, arguments, found, own)
                made = {**made, **by_own}
            if kind in OPEN_KINDS:
                made = {**made, **reranked(options.stance, arguments, found)}
            tables[name] = table(name, found, made, index)
            print(tables[name], flush=True)
    if options.write:
        write(options.write, tables)


def tuned(
    folders: Sequence[Path],
    beside: str,
    arguments: Sequence[Argument],
    found: Sequence[Topic],
    own: Any,
) -> dict[str, Made]:
    """The pipelines by encoders of one's own, each query by one that never saw its topics."""
    reports = {str(folder): report_of(folder) for folder in folders}
    answers = answerers(reports, arguments, found, UNTUNED)

    def made(make: MadeBy) -> Made:
        return by_turns(lambda _, name: make(own, name), answers)

    pipelines = {name: made(make) for name, make in TUNED.items()}
    if beside != UNTUNED:
        name = Path(beside).name
        pipelines[f"about, {name}"] = lambda _: about(own, beside)
        pipelines[f"blended with {name}, tuned"] = made(partial(blended, base=beside))
    return pipelines


def indexes(
    arguments: Sequence[Argument],
    folder: Path,
    encoders: Sequence[str],
    beside: str,
    *,
    kinds: set[str],
) -> tuple[Any, Any, Any]:
    """Three indexes: claims hidden, the same by the encoders of one's own, and every field.

    None is made that no task asks for.
    """
    blind = [one.model_copy(update={"attacks": "", "supports": ""}) for one in arguments]
    opened: list[Any] = []
    several = tuple(dict.fromkeys((*encoders, UNTUNED, beside)))
    for name, held, fields, by, asked in (
        ("hidden", blind, ("text", "all"), (UNTUNED,), HIDDEN_KINDS),
        ("tuned", blind, ("text", "all"), several, HIDDEN_KINDS if encoders else ()),
        ("full", arguments, ("text", "attacks", "supports"), (UNTUNED,), OPEN_KINDS),
    ):
        if kinds.isdisjoint(asked):
            opened.append(None)
            continue
        place = str(folder / name)
        if not Path(place).exists():
            plugins.build_index(held, place)
        for encoder in by:
            plugins.add_vectors(place, plugins.VectorsWanted(encoder, fields))
        opened.append(plugins.open_index(place))
    return opened[0], opened[1], opened[2]


def table(name: str, found: Sequence[Topic], made: Mapping[str, Made], index: Any) -> str:
    asked = pd.DataFrame([(one.qid, one.query) for one in found], columns=["qid", "query"])
    qrels = [ir_measures.Qrel(one.qid, docno, 1) for one in found for docno in one.relevant]
    itself = {
        (one.qid, docno) for one in found for docno in one.itself if docno not in one.relevant
    }
    figures = {
        pipeline: measured(make(index), asked, qrels, itself) for pipeline, make in made.items()
    }
    base = figures[BASE][MEASURES[0]]
    chances = holm(
        {
            pipeline: float(ttest_rel(figure[MEASURES[0]], base).pvalue)
            for pipeline, figure in figures.items()
            if pipeline != BASE
        }
    )
    lines = [
        f"\n**{name}**, {len(found)} queries\n",
        "| pipeline | " + " | ".join(map(str, MEASURES)) + " | against BM25 text |",
        "| --- |" + " --- |" * (len(MEASURES) + 1),
    ]
    for pipeline, figure in figures.items():
        cells = [cell(figure[measure]) for measure in MEASURES]
        chance = chances.get(pipeline)
        told = "" if chance is None else "p < .001" if chance < 0.001 else f"p = {chance:.3f}"
        lines.append(f"| {pipeline} | {' | '.join(cells)} | {told} |")
    return "\n".join(lines) + "\n"


def measured(
    pipeline: Any, asked: pd.DataFrame, qrels: Sequence[Any], itself: set[tuple[str, str]]
) -> dict[Any, np.ndarray]:
    """Each measure of each query; a claim that is itself found is taken out before."""
    run = [
        ir_measures.ScoredDoc(qid, docno, score)
        for qid, docno, score in pipeline(asked)[["qid", "docno", "score"]].itertuples(index=False)
        if (qid, docno) not in itself
    ]
    places = {qid: at for at, qid in enumerate(asked["qid"])}
    values = {measure: np.zeros(len(asked)) for measure in MEASURES}
    for metric in ir_measures.iter_calc(MEASURES, qrels, run):
        values[metric.measure][places[metric.query_id]] = metric.value
    return values


def cell(values: np.ndarray) -> str:
    chance = np.random.default_rng(0)
    draws = values[chance.integers(0, len(values), (DRAWS, len(values)))].mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{values.mean():.3f} ({low:.3f}-{high:.3f})"


def holm(chances: Mapping[str, float]) -> dict[str, float]:
    worst, found = 0.0, {}
    for place, (name, chance) in enumerate(sorted(chances.items(), key=lambda one: one[1])):
        worst = max(worst, min(1.0, chance * (len(chances) - place)))
        found[name] = worst
    return found


def write(path: Path, tables: Mapping[str, str]) -> None:
    """Put each table where the one of its name was; a new one comes last."""
    before, _, rest = path.read_text("utf-8").partition(BEGIN)
    block, _, after = rest.partition(END)
    kept = re.split(r"^(?=\*\*)", block, flags=re.MULTILINE)
    known = {one.split("**")[1]: one for one in kept if one.startswith("**")}
    whole = {**known, **tables}
    text = "\n".join(f"\n{table.strip()}\n" for table in whole.values())
    path.write_text(f"{before}{BEGIN}\n{text}{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
