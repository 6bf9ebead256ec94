"""`bench run --dry-run`: the calls and tokens of each entry, from a sample with example answers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touche_rad.cli import dry_run
from touche_rad.cli.console import terminal_width
from touche_rad.runs.sample import Sample
from touche_rad.score.tables import Table

if TYPE_CHECKING:
    from touche_rad.bench.plan import Chosen, ChosenUser, Loaded
    from touche_rad.plugins import Services
    from touche_rad.runs.work import Work


def print_costs(loaded: Loaded, index: Any, given: Mapping[str, Any]) -> int:
    """Print the expected calls and tokens of all seeds of a plan, by entry."""
    loaded.require_models(named=True)  # example answers need no endpoint
    seeds = len(loaded.plan.seeds)
    costs = {
        name: {
            "debates": one.units * seeds,
            "calls": round(one.calls * seeds),
            "prompt_tokens": round(one.prompt_tokens * seeds),
            "answer_tokens": round(one.answer_tokens * seeds),
        }
        for name, one in _estimates(loaded, index, given)
    }
    if given["as_json"]:
        click.echo(json.dumps(costs, indent=2))
        return 0
    heads = ["entry", "debates", "calls", "prompt tokens", "answer tokens"]
    rows = [[name, *(f"{number:,}" for number in one.values())] for name, one in costs.items()]
    click.echo("\n".join(Table(heads, rows).lines(terminal_width())))
    click.echo("dry run: nothing was written")
    return 0


def _estimates(
    loaded: Loaded, index: Any, given: Mapping[str, Any]
) -> Iterator[tuple[str, Sample]]:
    """Estimate each debater with each user, and each judge on their debates, for one seed."""
    given = {**given, "seed": loaded.plan.seeds[0], "skip_bad": False}
    lines: list[str] = []
    debates = 0
    for user in loaded.users:
        for debater in loaded.debaters:
            played = _play(loaded, index, given, debater, user)
            debates += played.units
            lines += played.lines
            yield f"{debater.name} x {user.name}", played
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "debates.jsonl"
        sample.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        for judge in loaded.judges:
            if lines:
                one = _judge(judge, sample, given, debates / len(lines))
                yield judge.name, one
            if loaded.plan.labels:
                one = _judge(judge, loaded.file("debates"), given, 1.0)
                yield f"{judge.name} (labelled)", one


def _play(
    loaded: Loaded, index: Any, given: Mapping[str, Any], debater: Chosen, user: ChosenUser
) -> Sample:
    from touche_rad.runs import simulate
    from touche_rad.runs.answering import Answerer, make_chain
    from touche_rad.users import Speaker

    plan, claims = loaded.plan, loaded.file("claims")

    def make(services: Services) -> Work[Any]:
        chain = make_chain(debater.plugin.name, debater.options, services)
        answerer = Answerer(chain, index, max_words=plan.max_words)
        # A user with an endpoint of its own is not called for an estimate.
        external = user.choice.is_external
        speaker = (
            Speaker(user.choice.fallback(services))
            if external
            else user.choice.speaker(services, plan.deadline)
        )
        return simulate.work(claims, answerer, speaker, identity={}, turns=plan.turns)

    model = debater.model or user.model or None
    return dry_run.play({**given, "model": model}, [debater.plugin, user.plugin], make, index=index)


def _judge(judge: Chosen, source: Path, given: Mapping[str, Any], scale: float) -> Sample:
    from touche_rad.runs import judging

    def make(services: Services) -> Work[Any]:
        made = judge.plugin.make(services, judge.options)
        return judging.work(source, made, identity={})

    given = {**given, "model": judge.model or None}
    return dry_run.play(given, [judge.plugin], make, index=None, scale=scale)
