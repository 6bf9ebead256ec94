"""The command `edition`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from touche_rad.cli import help_text
from touche_rad.cli import options as opt
from touche_rad.cli.bench_run import INDEX, RUN, play, show
from touche_rad.cli.console import next_step, say
from touche_rad.cli.program import Command
from touche_rad.errors import OptionError, UserError

_FOLDER: Final = opt.path_argument("folder", "NAME")
_DEBATERS: Final = ("grounded", "verbatim")
_JUDGES: Final = ("grounded", "length")
_BASELINES: Final = ("verbatim", "length")
"""Entries of the defaults that are baselines."""


@click.group("edition", cls=help_text.Group)
def edition_command() -> None:
    """Make, run and verify an edition of the task: a folder with a plan, data and hashes."""


@edition_command.command(
    "new",
    cls=Command,
    examples=(
        "edition new rad-demo",
        "edition new rad-2026 --claims claims.tsv -i index -d grounded -d verbatim -j length",
        "edition new labelled --debates debates.jsonl --labels labels.jsonl -i demo",
    ),
)
@_FOLDER
@opt.options(
    opt.file("--claims", "Claims to debate. [default: the demo's]"),
    opt.file("--debates", "Labelled debates, on which the judges are scored."),
    opt.file("--labels", "Labels of these debates. [default: the demo's debates and labels]"),
    opt.INDEX,
    opt.plugin(
        "-d",
        "--debater",
        "debaters",
        multiple=True,
        help=f"A debater that takes part; repeatable. [default: {', '.join(_DEBATERS)}]",
    ),
    opt.plugin(
        "-j",
        "--judge",
        "judges",
        multiple=True,
        help=f"A judge; repeatable. [default: {', '.join(_JUDGES)}]",
    ),
    click.option(
        "--user",
        "users",
        multiple=True,
        metavar="NAME|URL",
        help="A simulated user; repeatable. [default: rules]",
    ),
    opt.integer("--turns", "User turns per debate.", 5),
    click.option(
        "--seeds",
        type=click.IntRange(0),
        metavar="N",
        multiple=True,
        default=(0,),
        help="A random seed; repeatable. [default: 0]",
    ),
    click.option("--title", help="Title of the pages. [default: NAME]"),
    opt.REPLACE,
    opt.QUIET,
)
def new(folder: Path, **given: Any) -> int:
    """Write the folder of a new edition: edition.toml, copies of the data, and their hashes.

    Without options it is an edition of the demo's claims. Change edition.toml as you like before
    the first run: entries, options, models, seeds and pages.
    """
    from touche_rad.cli import prepare
    from touche_rad.editions.folder import Wanted, new_edition
    from touche_rad.files import check_output

    check_output(folder, replace=given["replace"])
    if (given["labels"] is None) != (given["debates"] is None):
        raise OptionError("give --debates and --labels together")
    index = given["index"] or "demo"
    wanted = Wanted(
        data=_data(given),
        index=index,
        fingerprint=prepare.open_index_of({**given, "index": index}).fingerprint,
        debaters=_specs(given["debaters"], _DEBATERS),
        judges=_specs(given["judges"], _JUDGES),
        users=given["users"] or ("rules",),
        turns=given["turns"],
        seeds=given["seeds"],
        baselines=() if given["debaters"] or given["judges"] else _BASELINES,
        title=given["title"] or "",
    )
    made = new_edition(folder, wanted)
    say(f"written: {made.manifest}", quiet=given["quiet"])
    next_step(
        ["edition", "run", folder, "--dry-run"], ["edition", "run", folder], quiet=given["quiet"]
    )
    return 0


def _data(given: dict[str, Any]) -> dict[str, Path]:
    """Return the files of a new edition; those that are missing are the demo's."""
    from touche_rad.demo import demo_file

    found = {"claims": given["claims"] or demo_file("claims.tsv")}
    if given["labels"] is not None:
        found |= {"debates": given["debates"], "labels": given["labels"]}
    elif given["claims"] is None:
        found |= {"debates": demo_file("debates.jsonl"), "labels": demo_file("labels.jsonl")}
    for path in found.values():
        if not path.is_file():
            raise UserError(f"{path} does not exist: expected a file to read")
    return found


def _specs(given: Sequence[opt.PluginSpec], default: Sequence[str]) -> list[str]:
    return [str(one) for one in given] or list(default)


@edition_command.command(
    "run",
    cls=Command,
    examples=(
        "edition run rad-demo",
        "edition run rad-demo --dry-run",
        "edition run rad-2026 -m http://localhost:8000/v1#llama --cache cache",
    ),
)
@_FOLDER
@opt.options(INDEX, *RUN, opt.JSON, opt.QUIET, *opt.DRY_RUN)
def run(folder: Path, **given: Any) -> int:
    """Play all debaters against all users, judge and score them, and write the leaderboard page.

    The results are in NAME/results. A stopped run is resumed by the same command, and ends with the
    same files. With a further entry in edition.toml, only the new debates are played.
    """
    from touche_rad.editions.folder import EditionFolder

    edition = EditionFolder(folder)
    loaded = edition.load().with_model(given["model"])
    if given["dry_run"]:
        from touche_rad.cli.bench_plan import print_plan

        return print_plan("edition", loaded, given)
    for name in edition.changed(loaded):
        say(f"note: {name} has changed: its new hash will be recorded", quiet=given["quiet"])
    engine, computed = play(loaded, edition.results, given)
    edition.write_sums(engine)
    return show(engine, computed, given, ["edition", "verify", folder])


@edition_command.command(
    "verify",
    cls=Command,
    examples=(
        "edition verify rad-demo",
        "edition verify rad-demo --quiet",
        "edition verify ../rad-2026",
    ),
)
@_FOLDER
@opt.options(opt.QUIET)
def verify(folder: Path, quiet: bool) -> int:
    """Check every hash, and compute every figure and page again from the files.

    The first difference is printed in one line, with exit code 1.
    """
    from touche_rad.editions.folder import EditionFolder
    from touche_rad.editions.record import read_sums
    from touche_rad.editions.verify import count_figures
    from touche_rad.editions.verify import verify as differences

    edition = EditionFolder(folder)
    for difference in differences(edition):
        say(f"error: {difference}")
        return 1
    files = len(read_sums(folder))
    say(f"verified: {files} files and {count_figures(edition)} figures", quiet=quiet)
    next_step(["rerun", edition.results], quiet=quiet)
    return 0
