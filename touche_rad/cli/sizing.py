"""What a very large run needs: the work of the command `plan`."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from touche_rad.cli import dry_run, prepare
from touche_rad.cli import options as opt
from touche_rad.cli.tables import Column, render_table
from touche_rad.errors import InputError, OptionError
from touche_rad.runs.estimate import Estimate, Range

if TYPE_CHECKING:
    from touche_rad.plugins import Services

Given = prepare.Given
_ARGUMENT: Final = 1_050
"""Bytes of an argument in a folder: 1,001 MiB for a million. On Elasticsearch it has 792."""
_REPLY: Final = 600
"""Bytes of a reply without its text."""
_LETTERS: Final = 4
"""Bytes of a token."""
_LIKELY: Final = 1_400
"""Bytes of the log probabilities of a token: 20 alternatives."""
_FORMULAS: Final = (
    "hours = calls / (60 x endpoint rate x endpoints)",
    "card hours = calls / (60 x endpoint rate) x cards per endpoint",
    "price = card hours x card price + tokens / 1e6 x token price",
)


@dataclass(frozen=True)
class Needs:
    """What runs of several sizes need, and what one call transfers."""

    what: str
    estimates: Sequence[Estimate]
    request: float
    """Bytes of a request."""
    likely: float
    """Share of the answer tokens that come with log probabilities."""
    output: float = 0.0
    """Bytes of the output per debate."""
    rate: float | None = None
    """Calls per minute and endpoint, if they were measured."""


def sampled(source: Path | None, given: Given) -> Sizing:
    """Process a sample with example answers."""
    from touche_rad.demo import demo_file

    if given["debater"] is None and given["judge"] is None:
        raise OptionError("plan: give -d DEBATER, -j JUDGE or --run RUN")
    place = source or demo_file("debates.jsonl")
    parts: list[dry_run.Played] = []
    index = _index(given)
    if given["debater"] is not None:
        parts.append(_respond(place, index, given))
    if given["judge"] is not None:
        parts.append(_judge(place, index, given, parts[0].lines if parts else ()))
    estimates = []
    for size in given["sizes"]:
        whole = [one.for_debates(size) for one in parts]
        estimates.append(whole[0] if len(whole) == 1 else whole[0] + whole[1])
    bodies = [body for one in parts for body in one.bodies]
    sizes = [len(json.dumps(body)) for body in bodies]
    written = sum(len(line.encode()) / one.estimate.sampled for one in parts for line in one.lines)
    names = [str(given[key]) for key in ("debater", "judge") if given[key] is not None]
    few = parts[0].estimate.sampled
    needs = Needs(
        f"{' and '.join(names)}, estimated from {few} debates of {place.name}",
        estimates,
        sum(sizes) / max(1, len(sizes)),
        sum(bool(body.get("logprobs")) for body in bodies) / max(1, len(bodies)),
        written,
    )
    return Sizing(needs, given)


def _index(given: Given) -> Any:
    """Open the index of a sample; the demo collection's without one."""
    kinds = [("debater", given["debater"]), ("judge", given["judge"])]
    needed = any(
        "index" in prepare.select(_kind(kind, spec), spec).plugin.needs
        for kind, spec in kinds
        if spec is not None
    )
    if given["debater"] is None and not needed and not given["index"]:
        return None
    return prepare.open_index_of({**given, "quiet": True}, or_demo=True)


def _kind(kind: str, spec: opt.PluginSpec) -> Any:
    return "panel" if kind == "judge" and prepare.is_panel(spec.name) else kind


def _respond(source: Path, index: Any, given: Given) -> dry_run.Played:
    from touche_rad.runs.respond import respond

    debater = prepare.select_main("debater", given)
    more = {**given, "max_words": 60, "deadline": None}

    def make(services: Services) -> dry_run.Work:
        answerer = prepare.make_answerer(more, debater, services)
        return lambda options: respond(
            source, Path(os.devnull), answerer, identity={}, shape="simulations", options=options
        )

    return dry_run.play(given, [debater.plugin], make, index=index)


def _judge(source: Path, index: Any, given: Given, lines: Sequence[str]) -> dry_run.Played:
    """Judge the sample, or the responses that a debater gave to it."""
    import tempfile

    from touche_rad.runs.judging import judge
    from touche_rad.runs.panels import judge_contests

    judged = prepare.select_main(_kind("judge", given["judge"]), given)
    with tempfile.TemporaryDirectory() as folder:
        place = source
        if lines:
            place = Path(folder) / "simulations.jsonl"
            place.write_text("".join(f"{line}\n" for line in lines), "utf-8")

        def make(services: Services) -> dry_run.Work:
            made = judged.make(services)
            work = judge_contests if prepare.is_panel(given["judge"].name) else judge
            return lambda options: work(place, Path(os.devnull), made, identity={}, options=options)

        return dry_run.play(given, [judged.plugin], make, index=index)


def measured(given: Given) -> Sizing:
    """Scale the usage of a finished run."""
    from pydantic import TypeAdapter, ValidationError

    from touche_rad.files.outputs import Status, read_status
    from touche_rad.models.usage import Cost

    run: Path = given["run"]
    try:
        status = Status.model_validate(read_status(run) if run.name else {})
        done = status.done - status.resumed  # the usage is this process's
        usage, seconds = status.usage, status.seconds
        total = TypeAdapter(Cost).validate_python(usage["total"] if usage else {})
    except (ValidationError, LookupError):
        done = 0
    if done <= 0:
        raise InputError(run, "expected a finished run with its status file beside it")
    calls = total.calls + total.from_cache

    def scaled(count: float, size: int) -> Range:
        value = count / done * size
        return Range(low=value, expected=value, high=value)

    estimates = [
        Estimate(
            debates=size,
            sampled=done,
            calls=scaled(calls, size),
            prompt_tokens=scaled(total.prompt_tokens, size),
            completion_tokens=scaled(total.completion_tokens, size),
            seconds=0.0 if calls else seconds / done * size,
        )
        for size in given["sizes"]
    ]
    servers = max(1, len(usage.get("endpoints", {})))
    needs = Needs(
        f"measured with {done} debates of {run.name}: {calls} calls in {seconds:.3g} s",
        estimates,
        total.prompt_letters / max(1, calls),
        0.0,
        run.stat().st_size / done if run.is_file() else 0.0,
        60 * total.calls / seconds / servers if total.calls and seconds else None,
    )
    return Sizing(needs, given)


class Sizing:
    """What a run needs, for several numbers of debates."""

    def __init__(self, needs: Needs, given: Given) -> None:
        self.needs, self.given = needs, given
        self.rate: float | None = given["endpoint_rate"] or needs.rate

    def sizes(self) -> list[dict[str, float]]:
        """Return the values of each number of debates."""
        return [self._size(one) for one in self.needs.estimates]

    def _size(self, one: Estimate) -> dict[str, float]:
        given = self.given
        calls, answers = one.calls.expected, one.completion_tokens.expected
        reply = answers * (_LETTERS + self.needs.likely * _LIKELY) + calls * _REPLY
        found: dict[str, float] = {
            "debates": one.debates,
            "calls": calls,
            "prompt tokens": one.prompt_tokens.expected,
            "answer tokens": answers,
        }
        if self.rate and calls:
            alone = calls / (60 * self.rate)
            several = f"{given['endpoints']} endpoint{'s' if given['endpoints'] > 1 else ''}"
            found[f"hours, {several}"] = alone / given["endpoints"]
            found["card hours"] = alone * given["cards"]
            if given["hours"]:
                within = math.ceil(alone / given["hours"])
                found[f"endpoints for {given['hours']:g} hours"] = within
                found[f"cards for {given['hours']:g} hours"] = within * given["cards"]
        if one.seconds:
            found["core hours"] = one.seconds / 3600
            if given["hours"]:
                found[f"processes for {given['hours']:g} hours"] = math.ceil(
                    one.seconds / 3600 / given["hours"]
                )
        found["network, GB"] = (calls * self.needs.request + reply) / 1e9
        found["output, GB"] = one.debates * self.needs.output / 1e9
        if (given["card_price"] and "card hours" in found) or given["price"]:
            found["price"] = found.get("card hours", 0.0) * (given["card_price"] or 0.0)
            if given["price"]:
                prompt, answer = given["price"]
                found["price"] += (found["prompt tokens"] * prompt + answers * answer) / 1e6
        return found

    def lines(self) -> list[str]:
        """Return the lines for the terminal."""
        sizes = self.sizes()
        columns = [Column(), *(Column(_short(one["debates"]), right=True) for one in sizes)]
        rows = [[name, *(_short(one[name]) for one in sizes)] for name in sizes[0]][1:]
        first = self.needs.estimates[0]
        low, high = (getattr(first.calls, end) / first.debates for end in ("low", "high"))
        lines = [f"plan: {self.needs.what}", *render_table([*columns[:1], *columns[1:]], rows)]
        several = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        lines.append(f"calls per debate: {several}; index: {_short(self.index)}B")
        if not first.calls.high:
            lines.append("no model calls: name a model with -m if the plugin should use one")
        elif not self.rate:
            lines.append("hours and cards are unknown: give --endpoint-rate CALLS_PER_MINUTE")
        else:
            lines.append(f"endpoint rate: {self.rate:,.0f} calls per minute")
            lines += _FORMULAS
        if any(one.stand_ins for one in self.needs.estimates):
            lines.append(
                "warning: some results of the sample are a fallback's: the run may need more calls"
            )
        return lines

    @property
    def index(self) -> int:
        """Bytes of the index."""
        return int(self.given["arguments"] * _ARGUMENT)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {
            "sample": self.needs.what,
            "endpoint_rate": self.rate,
            "endpoints": self.given["endpoints"],
            "cards_per_endpoint": self.given["cards"],
            "index_bytes": self.index,
            "sizes": [
                {_key(name): value for name, value in size.items()}
                | {"estimate": one.model_dump(mode="json")}
                for size, one in zip(self.sizes(), self.needs.estimates, strict=True)
            ],
        }

    def next_steps(self, source: Path | None) -> list[list[Any]]:
        """Return a command that measures what was estimated."""
        if self.needs.rate:
            return []
        from touche_rad.demo import demo_file

        place = source or os.path.relpath(demo_file("debates.jsonl"))
        words, out = ["respond", place, "-i", "demo"], "run.jsonl"
        if self.given["judge"] is not None:
            words, out = ["judge", place], "evaluations.jsonl"
        name = "judge" if self.given["judge"] is not None else "debater"
        words += [f"-{name[0]}", self.given[name]]
        for key, value in self.given["options"].get(name, {}).items():
            words += ["-O", f"{key}={value}"]
        return [[*words, "-m", "URL#MODEL", "-o", out], ["plan", "--run", out]]


def _key(name: str) -> str:
    """Return the key of a row; it does not contain the values of options."""
    for words, key in (
        ("hours, ", "hours"),
        ("endpoints for", "endpoints_needed"),
        ("cards for", "cards_needed"),
        ("processes for", "processes_needed"),
        ("network", "network_gb"),
        ("output", "output_gb"),
    ):
        if name.startswith(words):
            return key
    return name.replace(" ", "_")


def _short(number: float) -> str:
    """Return a number with three digits and a unit: k, M, G or T."""
    value = float(number)
    for unit in ("", " k", " M", " G", " T"):
        if abs(value) < 999.5 or unit == " T":
            break
        value /= 1000
    shown = f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"
    return f"{shown}{unit}"
