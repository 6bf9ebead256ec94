"""The commands `bench` and `rerun`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touche_rad.cli import options as opt
from touche_rad.cli.bench_run import INDEX, RUN, open_index, play, show
from touche_rad.cli.console import next_step, say
from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.editions.plan import Loaded


@opt.command(
    "bench",
    "bench bench.toml --dry-run",
    "bench bench.toml -o results",
    "bench bench.toml -m http://localhost:8000/v1#llama --cache cache -o results",
)
@opt.path_argument("plan", "FILE.toml")
@opt.options(
    opt.output("Folder for all results.", "DIR"), INDEX, *RUN, opt.JSON, opt.QUIET, *opt.DRY_RUN
)
def bench_command(plan: Path, **given: Any) -> int:
    """Play, judge and score what FILE.toml names: debaters x users x judges x seeds.

    DIR gets the debates, the verdicts, figures.json, a page, and record.json with which touche-rad
    rerun repeats the bench. A stopped bench is resumed by the same command. docs/edition.md
    describes FILE.toml.
    """
    from touche_rad.editions.plan import load_plan

    loaded = load_plan(plan).with_model(given["model"])
    if given["dry_run"]:
        from touche_rad.cli.bench_plan import print_plan

        return print_plan("bench", loaded, given)
    if given["output"] is None:
        raise UserError("bench: give the output folder: -o DIR; or see the cost: --dry-run")
    engine, computed = play(loaded, given["output"], given)
    return show(engine, computed, given, ["rerun", given["output"]])


@opt.command(
    "rerun",
    "rerun results",
    "rerun results/record.json -o again",
    "rerun edition/results --cache cache",
)
@opt.path_argument("record", "RECORD")
@opt.options(
    opt.output("Folder to keep the results in. [default: a temporary folder]", "DIR"),
    INDEX,
    *RUN,
    opt.QUIET,
)
def rerun_command(record: Path, **given: Any) -> int:
    """Repeat a bench or an edition from its record, and print the first difference.

    RECORD is record.json or the folder with it. The command reports changed inputs, options
    and prompts before it plays anything. With a language model, --cache repeats its answers.
    """
    from touche_rad.editions.rerun import changed_versions, changes_before, load_record

    known, loaded = load_record(record)
    loaded = loaded.with_model(given["model"])
    for line in changed_versions(known):
        say(f"note: {line}", quiet=given["quiet"])
    index = open_index(loaded, given)
    for difference in changes_before(known, loaded, index):
        return _differs(difference)
    before = record if record.is_dir() else record.parent
    if given["output"] is not None:
        if given["output"].resolve() == before.resolve():
            raise UserError(f"rerun: {before} contains the results to compare: choose another -o")
        return _repeat(known, loaded, before, given["output"], given)
    with tempfile.TemporaryDirectory() as folder:
        return _repeat(known, loaded, before, Path(folder), given)


def _repeat(
    record: Mapping[str, Any], loaded: Loaded, before: Path, out: Path, given: dict[str, Any]
) -> int:
    from touche_rad.editions.record import read_record
    from touche_rad.editions.rerun import first_difference
    from touche_rad.editions.verify import compare_json

    play(loaded, out, given)
    again = read_record(out)
    for key, now, was in compare_json(again.get("models"), record.get("models")):
        return _differs(f"models.{key} was {was!r} and is now {now!r}")
    difference = first_difference(record, before, loaded, out)
    if difference is not None:
        return _differs(difference)
    say(
        f"equal: {len(record['outputs'])} outputs and all figures are those of the record",
        quiet=given["quiet"],
    )
    if given["output"] is not None:
        say(f"written: {out}", quiet=given["quiet"])
        next_step(["rerun", out], quiet=given["quiet"])
    return 0


def _differs(difference: str) -> int:
    say(f"error: {difference}")
    return 1
