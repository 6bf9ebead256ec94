"""`touche-rad demo`: the main job on the bundled data."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click

from touche_rad.cli import options as shared
from touche_rad.demo import demo_file
from touche_rad.errors import WorkError

JUDGES = ("grounded", "length")
DEBATERS = ("grounded", "verbatim")

TURNS = 3

Call = Callable[[list[str]], int]


def run_demo(out: Path, *, seed: int, quiet: bool, call: Call) -> None:
    """Run every verb on the demo data, and leave the files in one folder.

    Args:
        out: The folder for all that is made.
        seed: The chance of the simulated user.
        quiet: Whether to leave out everything but the scores.
        call: Runs one command line of ours and returns its exit code.
    """
    out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    for title, command in steps(out, seed):
        shown = " ".join(part if " " not in part else repr(part) for part in command)
        if not quiet:
            print(f"\n\033[1m{title}\033[0m" if _colour() else f"\n{title}")
            print(f"$ touche-rad {shown}", flush=True)
        code = call([*command, "--quiet"] if quiet and command[0] not in ("score",) else command)
        if code:
            raise WorkError(f"demo: touche-rad {shown} ended with exit code {code}")
    if not quiet:
        print(f"\nDone in {time.monotonic() - begun:.0f} s. Everything is in {out.resolve()}")
    print(f"Report: {(out / 'report.html').resolve()}")


def _colour() -> bool:
    import sys

    return sys.stdout.isatty()


def steps(out: Path, seed: int) -> list[tuple[str, list[str]]]:
    """Return the demo's command lines, each with a title."""
    index, claims = str(out / "index"), str(demo_file("claims.tsv"))
    debates, labels = str(demo_file("debates.jsonl")), str(demo_file("labels.jsonl"))
    made: list[tuple[str, list[str]]] = [
        ("Make an argument index of the demo collection",
         ["index", str(demo_file("arguments.jsonl")), "-o", index, "--replace"]),
    ]  # fmt: skip
    simulations = {name: str(out / f"simulations-{name}.jsonl") for name in DEBATERS}
    for name, path in simulations.items():
        made.append(
            (f"Play ten debates of {TURNS} turns with the debater {name}",
             ["simulate", claims, "-d", name, "-i", index, "-o", path,
              "--turns", str(TURNS), "--seed", str(seed)])
        )  # fmt: skip
    played = {name: str(out / f"{name}.jsonl") for name in DEBATERS}
    for name, path in played.items():
        made.append(
            (f"Judge the debates of {name}",
             ["judge", simulations[name], "-j", "grounded", "-o", path])
        )  # fmt: skip
    judged = {name: str(out / f"judge-{name}.jsonl") for name in JUDGES}
    for name, path in judged.items():
        made.append(
            (f"Judge the twenty finished debates with the judge {name}",
             ["judge", debates, "-j", name, "-o", path])
        )  # fmt: skip
    made.append(
        ("Score the judges against the hand labels",
         ["score", *judged.values(), labels, "-o", str(out / "scores")])
    )  # fmt: skip
    made.append(
        ("One page of the judged debates",
         ["report", *judged.values(), "--labels", labels, "-o", str(out / "report.html"),
          "--title", "touche-rad demo: two judges and the hand labels"])
    )  # fmt: skip
    made.append(
        ("One page of the two debaters",
         ["report", *played.values(), "-o", str(out / "debaters.html"),
          "--title", "touche-rad demo: two debaters"])
    )  # fmt: skip
    return made


@click.command("demo", cls=shared.Verb)
@shared.output("The folder for all that the demo makes. [default: demo]", metavar="DIR")
@shared.seed
@shared.quiet
@shared.show_config
@click.pass_context
def command(
    ctx: click.Context,
    output: str | None,
    option: tuple[str, ...],
    seed: int,
    quiet: bool,
) -> None:
    """Index, retrieve, respond, simulate, judge, score and report on data of our own writing."""
    from touche_rad.cli import run

    out = shared.choose(ctx, "demo", output, option).path or Path("demo")
    run_demo(out, seed=seed, quiet=quiet, call=run)
