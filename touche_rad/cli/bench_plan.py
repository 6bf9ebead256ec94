"""`--dry-run` of a bench or an edition: its size, its cost by model, and what its data can show."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli import dry_run, prepare
from touche_rad.cli.bench_run import Models, open_index
from touche_rad.runs.estimate import Estimate, Range
from touche_rad.score import power

if TYPE_CHECKING:
    from touche_rad.editions.plan import Chosen, ChosenUser, Loaded
    from touche_rad.plugins import Plugin, Services
    from touche_rad.score.power import Detectable

_END: Final = "dry run: nothing was written"
_NO_MODEL: Final = "no model"


@dataclass
class _Costs:
    """The sum of the estimates of the parts that use one model."""

    debates: int = 0
    sampled: int = 0
    turns: Counter[str] = field(default_factory=Counter)
    calls: Range = field(default_factory=Range)
    prompt_tokens: Range = field(default_factory=Range)
    completion_tokens: Range = field(default_factory=Range)
    seconds: float = 0.0
    stand_ins: int = 0
    bodies: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, played: dry_run.Played, times: int, *, plays: bool) -> None:
        """Add a part that is run several times."""
        one = played.estimate
        self.debates += times * one.debates if plays else 0
        self.sampled += one.sampled if plays else 0
        for name, count in one.turns.items():
            self.turns[name] += times * count
        self.calls += one.calls.scaled(times)
        self.prompt_tokens += one.prompt_tokens.scaled(times)
        self.completion_tokens += one.completion_tokens.scaled(times)
        self.seconds += times * one.seconds
        self.stand_ins += one.stand_ins
        self.bodies += played.bodies

    def estimate(self) -> Estimate:
        """Return the sum."""
        return Estimate(
            debates=self.debates,
            sampled=self.sampled,
            turns=dict(self.turns),
            calls=self.calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            seconds=self.seconds,
            stand_ins=self.stand_ins,
        )


def print_plan(verb: str, loaded: Loaded, given: Mapping[str, Any]) -> int:
    """Estimate a plan from a few debates of each part with example answers, and print it."""
    loaded.require_models(named=True)  # example answers need no endpoint
    costs = _Sampling(loaded, given).costs()
    plans = {
        model: dry_run.Plan(
            verb,
            one.estimate(),
            _rate(given, model, one),
            prepare.parallel(given, model=bool(model)),
            given["price"],
        )
        for model, one in costs.items()
    }
    shows = _power(loaded)
    if given["as_json"]:
        found = {model or _NO_MODEL: plan.to_json() for model, plan in plans.items()}
        differences = {
            title: {one.measure: one.difference for one in several if one.difference < 1}
            for title, several in shows
        }
        click.echo(json.dumps({"models": found, "smallest_differences": differences}, indent=2))
        return 0
    lines = [_size(verb, loaded)]
    for model, plan in plans.items():
        named = [f"with the model {model or 'of the environment'}:"] if len(plans) > 1 else []
        lines += [*(named if plan.estimate.calls.high else []), *plan.lines()[1:-1]]
    for title, several in shows:
        lines += [f"smallest difference that {title} show with 80 % power:"]
        lines += [f"  {one.line()}" for one in several]
    click.echo("\n".join([*lines, _END]))
    return 0


def _rate(given: Mapping[str, Any], model: str, costs: _Costs) -> dry_run.Rate | str | None:
    if not costs.calls.high:
        return None
    return dry_run.rate_of({**given, "model": model or None}, costs.bodies)


def _size(verb: str, loaded: Loaded) -> str:
    """Return the size of the plan in one line."""
    from touche_rad import files

    plan = loaded.plan
    parts = []
    if plan.debaters:
        claims = sum(1 for _ in files.read_claims(loaded.file("claims")))
        debates = claims * len(plan.debaters) * len(plan.users) * len(plan.seeds)
        parts.append(
            f"{claims} claims x {_count(plan.debaters, 'debater')} x {_count(plan.users, 'user')} "
            f"x {_count(plan.seeds, 'seed')} = {debates} debates of {plan.turns} turns, each "
            f"judged by {_count(plan.judges, 'judge')}"
        )
    if plan.labels:
        labelled = sum(1 for _ in files.read_debates(loaded.file("debates")))
        parts.append(
            f"{labelled} labelled debates x {_count(plan.judges, 'judge')} x "
            f"{_count(plan.seeds, 'seed')}"
        )
    return f"{verb} {plan.name}: {'; '.join(parts)}"


def _count(several: Sized, what: str) -> str:
    return f"{len(several)} {what}{'' if len(several) == 1 else 's'}"


def _power(loaded: Loaded) -> list[tuple[str, Sequence[Detectable]]]:
    """Return the smallest differences between debaters and between judges."""
    from touche_rad import files

    plan = loaded.plan
    found: list[tuple[str, Sequence[Detectable]]] = []
    if plan.debaters:
        claims = sum(1 for _ in files.read_claims(loaded.file("claims")))
        turns = claims * plan.turns * len(plan.users) * len(plan.seeds)
        shares = power.debaters(claims, turns)[:1]
        found.append((f"{claims} claims", shares))
    if plan.labels:
        labels = list(files.read_labels(loaded.file("labels")))
        turns = sum(map(len, labels))
        found.append((f"{len(labels)} labelled debates", power.judges(len(labels), turns, labels)))
    return found


class _Sampling:
    """Runs a sample of each part of a plan."""

    def __init__(self, loaded: Loaded, given: Mapping[str, Any]) -> None:
        self.loaded, self.given = loaded, given
        self.index = open_index(loaded, given)
        self.named = Models(given).names("")
        self._costs: dict[str, _Costs] = {}

    def costs(self) -> dict[str, _Costs]:
        """Return the costs by model; parts without a model count to the first one."""
        seeds = len(self.loaded.plan.seeds)
        lines: list[str] = []
        claims = 0
        for user in self.loaded.users:
            for debater in self.loaded.debaters:
                played = self._debates(debater, user)
                claims = played.estimate.debates
                self._add(played, seeds, debater, plays=True)
                lines += played.lines
        with tempfile.TemporaryDirectory() as folder:
            sample = Path(folder) / "debates.jsonl"
            sample.write_text("".join(f"{line}\n" for line in lines), "utf-8")
            pairs = len(self.loaded.users) * len(self.loaded.debaters)
            for judge in self.loaded.judges:
                if lines:
                    scale = claims * pairs / len(lines)
                    self._add(self._verdicts(judge, sample, scale), seeds, judge)
                if self.loaded.plan.labels:
                    judged = self._verdicts(judge, self.loaded.file("debates"), 1.0)
                    self._add(judged, seeds, judge)
        return {model: one for model, one in self._costs.items() if one.debates or one.turns}

    def _add(
        self, played: dry_run.Played, times: int, entry: Chosen, *, plays: bool = False
    ) -> None:
        model = entry.model if played.estimate.calls.high else next(iter(self._costs), entry.model)
        self._costs.setdefault(model, _Costs()).add(played, times, plays=plays)

    def _given(self, *models: str) -> dict[str, Any]:
        named = next(filter(None, models), None)
        return {**self.given, "model": named, "seed": self.loaded.plan.seeds[0], "skip_bad": False}

    def _debates(self, debater: Chosen, user: ChosenUser) -> dry_run.Played:
        from touche_rad.runs.answering import Answerer, make_chain
        from touche_rad.runs.simulate import simulate
        from touche_rad.users import Speaker

        plan, claims = self.loaded.plan, self.loaded.file("claims")

        def make(services: Services) -> dry_run.Work:
            chain = make_chain(debater.plugin.name, debater.options, services)
            answerer = Answerer(chain, self.index, max_words=plan.max_words)
            external = user.choice.is_external  # is not called for an estimate
            speaker = (
                Speaker(user.choice.fallback(services))
                if external
                else user.choice.speaker(services, plan.deadline)
            )
            return lambda options: simulate(
                claims,
                claims,
                answerer,
                speaker,
                identity={"debater": debater.tag},
                turns=plan.turns,
                options=options,
            )

        return self._play([debater.plugin, user.plugin], make, debater.model, user.model)

    def _verdicts(self, judge: Chosen, source: Path, scale: float) -> dry_run.Played:
        from touche_rad.runs.judging import judge as judge_file

        def make(services: Services) -> dry_run.Work:
            made = judge.plugin.make(services, judge.options)
            return lambda options: judge_file(
                source, source, made, identity={"judge": judge.tag}, options=options
            )

        return self._play([judge.plugin], make, judge.model, scale=scale)

    def _play(
        self, plugins: Sequence[Plugin], make: dry_run.Make, *models: str, scale: float = 1.0
    ) -> dry_run.Played:
        given = self._given(*models)
        return dry_run.play(given, plugins, make, index=self.index, scale=scale)
