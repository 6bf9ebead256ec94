"""`--dry-run`: the calls, tokens and hours of a run, and the differences that its data can show."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import anyio
import click

from touche_rad.cli import prepare
from touche_rad.debate import Maxim
from touche_rad.errors import ToucheRadError, UserError
from touche_rad.models.dry_run import LENGTHS, Answers
from touche_rad.models.endpoint import Address, Endpoint
from touche_rad.models.endpoints import Endpoints
from touche_rad.models.errors import BadRequest, ModelError
from touche_rad.runs.estimate import (
    Choose,
    Estimate,
    Input,
    Range,
    Sample,
    estimate_of,
    spread,
    spread_over_many,
)

if TYPE_CHECKING:
    from touche_rad.files.outputs import Status
    from touche_rad.plugins import Plugin, Services
    from touche_rad.runs.work import RunOptions
    from touche_rad.score.power import Detectable

Given = prepare.Given
Work = Callable[["RunOptions"], Awaitable["Status"]]
Make = Callable[["Services"], Work]
"""Returns the work of a command with an index and a model."""
_ANSWER: Final = 256
"""Token limit of the answers by which the endpoint is measured."""
_SECONDS: Final = 60.0


@dataclass
class Played:
    """An estimate, with the requests and the output of its sample."""

    estimate: Estimate
    bodies: Sequence[Mapping[str, Any]] = ()
    lines: Sequence[str] = ()
    samples: Mapping[str, Sample] = field(default_factory=dict)
    status: Status | None = None

    def for_debates(self, debates: int) -> Estimate:
        """Return the estimate of an input that has this many debates like those of the sample."""
        factor = debates / self.estimate.debates
        samples = {
            length: replace(one, scale=one.scale * factor) for length, one in self.samples.items()
        }
        assert self.status is not None
        return estimate_of(samples, self.status).model_copy(update={"debates": debates})


def play(
    given: Given,
    plugins: Sequence[Plugin],
    make: Make,
    *,
    index: Any,
    choose: Choose = spread,
    lengths: Mapping[str, float] = LENGTHS,
    judge: Plugin | None = None,
    scale: float = 1.0,
) -> Played:
    """Let a command process a sample of its input with example answers of three lengths.

    Args:
        given: The values of the command's options.
        plugins: The plugins; if none of them uses a model, the sample is processed once.
        make: Makes the work of the command.
        index: The argument index, if there is one.
        choose: Chooses the debates of the sample.
        lengths: The lengths of the answers.
        judge: The judge that a panel uses, if it has one.
        scale: Size of the run, if the input is a sample of it.
    """
    from touche_rad import files
    from touche_rad.models import Model
    from touche_rad.plugins import Services
    from touche_rad.runs.work import RunOptions

    named = prepare.names_model(given)
    users = [*plugins, *([judge] if judge is not None else [])]
    asked = any("model" in one.needs or (named and one.uses_model) for one in users)
    settings, _ = prepare.model_settings(given["options"].get("model", {}), given["seed"])
    samples: dict[str, Sample] = {}
    read = Input()
    bodies: Sequence[Mapping[str, Any]] = ()
    for length, share in lengths.items() if asked else (("expected", 0.0),):
        backend, sample = Answers(share), Sample(choose, read)
        model = Model(backend, settings=settings) if asked else None
        work = make(Services(index, given["seed"], model))
        bad = files.BadLines(skip=given.get("skip_bad", False))
        status = anyio.run(work, RunOptions(bad=bad, model=model, sample=sample))
        sample.scale *= scale
        samples[length] = sample
        if length == "expected":
            usual, bodies = status, backend.bodies
    estimate = estimate_of(samples, usual)
    return Played(estimate, bodies, samples["expected"].lines, samples, usual)


def before_run(
    given: Given, plugins: Sequence[Plugin], make: Make, services: Services
) -> Estimate | None:
    """Estimate a run that is about to start; None if it is short or cannot be estimated."""
    from touche_rad.cli.console import say

    try:
        played = play(given, plugins, make, index=services.index, choose=spread_over_many)
    except (ToucheRadError, ModelError) as error:
        logging.getLogger("touche_rad").debug("no estimate", exc_info=error)
        return None  # the run itself reports the error
    if not played.estimate.sampled:
        return None
    estimate = played.estimate.limited(given["max_calls"], given["max_tokens"])
    say(estimate.line(), quiet=given["quiet"])
    return estimate


def open_index(given: Given, plugins: Sequence[Plugin], *, always: bool = False) -> Any:
    """Open the index if the user or a plugin asks for one."""
    if always or given["index"] or any("index" in one.needs for one in plugins):
        return prepare.open_index_of(given)
    return None


@dataclass(frozen=True)
class Rate:
    """How fast the model answers."""

    seconds: float
    """Seconds of one call, if one call is made at a time."""
    text: str
    requests: int = 0
    parallel: bool = True
    """Whether parallel debates may be faster."""


def rate_of(given: Given, bodies: Sequence[Mapping[str, Any]]) -> Rate | str:
    """Return the rate that the user gives or that is measured, or why it is unknown."""
    if given["rate"]:
        return Rate(60 / given["rate"], f"{given['rate']:g} calls a minute (--rate)", 0, False)
    if not bodies or not prepare.names_model(given):
        return "hours are unknown: no model is named; give -m URL#MODEL or --rate CALLS_PER_MINUTE"
    from touche_rad.models.model import open_backend

    found = open_backend(given["model"], vllm=given["options"].get("vllm", {}))
    if isinstance(found, Address) and found.real:
        found = Endpoint(found)
    if not isinstance(found, Endpoint | Endpoints):
        return "hours are unknown: only a server (-m URL#MODEL) is measured; give --rate"
    return anyio.run(_measure, found, bodies)


async def _measure(
    backend: Endpoint | Endpoints, bodies: Sequence[Mapping[str, Any]]
) -> Rate | str:
    """Send two requests of the run, one after the other."""
    shortest = sorted(bodies, key=lambda body: len(json.dumps(body["messages"])))
    chosen = [shortest[len(shortest) // 3], shortest[2 * len(shortest) // 3]][: len(bodies)]
    taken: list[float] = []
    tokens: list[tuple[int, int]] = []
    try:
        for body in chosen:
            seconds, usage = await _timed(backend, body)
            taken.append(seconds)
            tokens.append((usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)))
    except ModelError as error:
        raise UserError(f"the endpoint cannot be measured: {error}") from None
    finally:
        await backend.close()
    shown = " and ".join(
        f"{seconds:.2f} s ({prompt} + {answer} tokens)"
        for seconds, (prompt, answer) in zip(taken, tokens, strict=True)
    )
    return Rate(
        sum(taken) / len(taken),
        f"measured with {len(taken)} requests to {backend.place}: {shown}",
        len(taken),
    )


async def _timed(
    backend: Endpoint | Endpoints, body: Mapping[str, Any]
) -> tuple[float, Mapping[str, Any]]:
    import time

    limit = min(int(body.get("max_tokens") or _ANSWER), _ANSWER)
    short = {**body, "model": backend.model, "max_tokens": limit}
    begun = time.monotonic()
    try:
        reply = await backend.complete(short, _SECONDS)
    except BadRequest:  # a server without JSON schemas
        plain = {key: short[key] for key in ("model", "messages", "max_tokens")}
        begun = time.monotonic()
        reply = await backend.complete(plain, _SECONDS)
    return time.monotonic() - begun, reply.get("usage") or {}


@dataclass(frozen=True)
class Plan:
    """What a dry run prints."""

    verb: str
    estimate: Estimate
    rate: Rate | str | None
    workers: int
    price: tuple[float, float] | None = None
    power: Sequence[Detectable] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the lines for the terminal."""
        from touche_rad.score.tables import Table  # numpy with it: a tenth of a second

        one = self.estimate
        made = "".join(f", about {count} {name}" for name, count in one.turns.items())
        lines = [f"{self.verb}: {one.debates} debates{made}, estimated from {one.sampled} of them"]
        if one.calls.high:
            lines += Table(["", "low", "expected", "high"], self._rows()).lines()
        else:
            lines.append("no model calls")
        lines.append(f"work without the model: {_duration(one.seconds)}")
        if isinstance(self.rate, Rate):
            lines.append(self.rate.text)
        elif self.rate is not None:
            lines.append(self.rate)
        if one.stand_ins:
            lines.append(
                f"warning: {one.stand_ins} results of the sample are a fallback's, because the "
                "example answers do not suit the plugin; the run may need more calls"
            )
        if self.power:
            lines.append(f"smallest difference that {one.debates} debates show with 80 % power:")
            lines += [f"  {found.line()}" for found in self.power]
        return [*lines, "dry run: nothing was written"]

    def _rows(self) -> list[list[str]]:
        one = self.estimate
        rows = [
            _row("calls", one.calls),
            _row("prompt tokens", one.prompt_tokens),
            _row("answer tokens", one.completion_tokens),
        ]
        if isinstance(self.rate, Rate):
            hours = one.calls.scaled(self.rate.seconds / 3600)
            rows.append(_row("hours", hours, "{:.2f}"))
            if self.rate.parallel and self.workers > 1:
                faster = hours.scaled(1 / self.workers)
                rows.append(_row(f"hours, {self.workers} calls at once", faster, "{:.2f}"))
        if self.price is not None:
            cost = one.prompt_tokens.scaled(self.price[0] / 1e6)
            rows.append(
                _row("price", cost + one.completion_tokens.scaled(self.price[1] / 1e6), "{:.2f}")
            )
        return rows

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        known = self.rate if isinstance(self.rate, Rate) else None
        return {
            "verb": self.verb,
            "estimate": self.estimate.model_dump(mode="json"),
            "seconds_per_call": known.seconds if known else None,
            "workers": self.workers,
            "smallest_differences": {
                one.measure: one.difference if one.difference < 1 else None for one in self.power
            },
        }


def _row(name: str, numbers: Range, form: str = "{:,.0f}") -> list[str]:
    return [name, *(form.format(n) for n in (numbers.low, numbers.expected, numbers.high))]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def run(
    verb: str,
    given: Given,
    plugins: Sequence[Plugin],
    make: Make,
    power: Callable[[int, int], Sequence[Detectable]],
    *,
    index: bool = False,
    choose: Choose = spread,
) -> int:
    """Estimate the run of a command and print the plan.

    Args:
        verb: The command.
        given: The values of the command's options.
        plugins: The plugins of the run.
        make: Makes the work of the command.
        power: Returns the smallest differences for a number of debates and turns.
        index: Whether the command always opens an index.
        choose: Chooses the debates of the sample.
    """
    opened = open_index(given, plugins, always=index)
    played = play(given, plugins, make, index=opened, choose=choose)
    return show(verb, given, played, power)


def show(
    verb: str, given: Given, played: Played, power: Callable[[int, int], Sequence[Detectable]]
) -> int:
    """Print a plan."""
    estimate = played.estimate.limited(given["max_calls"], given["max_tokens"])
    rate = rate_of(given, played.bodies) if estimate.calls.high else None
    found = power(estimate.debates, _turns(estimate))
    plan = Plan(verb, estimate, rate, prepare.parallel(given, model=True), given["price"], found)
    if given.get("as_json"):
        click.echo(json.dumps(plan.to_json(), indent=2))
    else:
        click.echo("\n".join(plan.lines()))
    return 0


def _turns(estimate: Estimate) -> int:
    """Return the number of responses, for which a judge gives a verdict per maxim each."""
    verdicts = estimate.turns.get("verdicts", 0) // len(Maxim)
    return max(verdicts, estimate.turns.get("answers", 0), estimate.turns.get("speeches", 0))
