"""Prepare the plugins, the language model and the index of a command, and run it on files."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli.options import PluginSpec
from touche_rad.errors import OptionError, UserError, nearest

if TYPE_CHECKING:
    from touche_rad.files import Kind as FileKind
    from touche_rad.models import Model
    from touche_rad.models.endpoint import Backend
    from touche_rad.plugins import ArgumentIndex, Kind, Plugin, Services
    from touche_rad.runs.answering import Answerer
    from touche_rad.runs.estimate import Estimate
    from touche_rad.runs.parts import Part
    from touche_rad.runs.runner import Engine, RunOptions, Status

Given = Mapping[str, Any]
"""The values of a command's options."""
METADATA: Final = "ir-metadata.yml"
"""The name that TIRA expects in its output folder."""
MAKE_INDEX: Final = "touche-rad index ARGUMENTS -o index, then add -i index"
NO_INDEX: Final = f"no index is given: {MAKE_INDEX}; or try the demo's arguments: -i demo"
DEMO_INDEX: Final = (
    "the index is the demo collection, on ten topics only: not fit to hand in; give an index of "
    "the task's collection with -i, or build the image with --build-arg COLLECTION=FILE"
)


@dataclass(frozen=True)
class Selected:
    """A plugin with its options, which are valid."""

    plugin: Plugin
    options: Mapping[str, str]
    tag: str
    """The plugin's name with the options that differ from the defaults."""

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.plugin.name

    def make(self, services: Services) -> Any:
        """Make the plugin."""
        return self.plugin.make(services, self.options)

    def method(self, identity: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Return the description of the method for ir_metadata."""
        options = self.plugin.parse(self.options).model_dump(mode="json")
        run = {key: value for key, value in identity.items() if key != self.plugin.kind}
        return {"name": self.name, "kind": self.plugin.kind, "options": options, "run": run, **more}


def select(kind: Kind, spec: PluginSpec, options: Mapping[str, str] | None = None) -> Selected:
    """Find a plugin and check its options.

    Args:
        kind: The kind of plugin.
        spec: Its name, with the options in brackets.
        options: Its options from `-O`, which go first.
    """
    from touche_rad.plugins import find

    plugin = find(kind, spec.name)
    merged = {**spec.options, **(options or {})}
    return Selected(plugin, merged, plugin.identity(plugin.parse(merged)))


def select_main(kind: Kind, given: Given) -> Selected:
    """Select the plugin of `-d`, `-j` or `-r`, with its options from `-O`."""
    key = "judge" if kind == "panel" else kind
    return select(kind, given[key], given["options"].get(key))


def is_panel(name: str) -> bool:
    """Whether this is the name of a panel, which judges whole debates."""
    from touche_rad.plugins import registered

    return name in registered("panel") and name not in registered("judge")


def open_services(
    given: Given, *plugins: Plugin, out: Path | None = None, index: bool | None = None,
    or_demo: bool = False, must_answer: bool = True,
) -> Services:  # fmt: skip
    """Open what the plugins share: the index and the language model.

    Args:
        given: The values of the command's options.
        plugins: The plugins.
        out: The run, beside which the trace of the model calls is written.
        index: Whether to open an index. Default: if the user or a plugin asks for one.
        or_demo: Open the demo collection, and say so, if the user gives no index.
        must_answer: Whether to stop if the model's endpoint cannot be used.
    """
    from touche_rad.plugins import Services

    model = model_for(given, *plugins, out=out, must_answer=must_answer)
    if index is None:
        index = bool(given["index"]) or any("index" in plugin.needs for plugin in plugins)
    opened = open_index_of(given, or_demo=or_demo) if index else None
    return Services(opened, given["seed"], model)


def open_index_of(given: Given, *, or_demo: bool = False) -> Any:
    """Open the index of `-i`; with `or_demo`, the demo collection's if there is none.

    Under TIRA the demo collection stands in for a missing index: a run that does not start has no
    result at all, and a person sees neither.
    """
    from touche_rad.demo import DEMO
    from touche_rad.plugins import open_index

    if not given["index"] and or_demo:
        if not given.get("quiet"):
            notice = f"index: the demo collection, on ten topics only; for your own: {MAKE_INDEX}"
            if sys.stderr.isatty():
                from touche_rad.cli.console import fitted

                notice = fitted(notice, sys.stderr)
            click.echo(notice, err=True)
    elif not given["index"] and not under_tira():
        raise UserError(NO_INDEX)
    place: str = given["index"] or DEMO
    spare = given.get("spare_index")
    if spare is None:
        return open_index(place)
    from touche_rad.plugins.indexes import FallbackIndex

    return FallbackIndex(lambda: open_index(place), open_index(spare))


def check_demo(given: Given, index: ArgumentIndex | None) -> tuple[bool, tuple[str, ...]]:
    """Return whether the index is the demo collection, and a warning if the user did not choose it.

    The warning is also printed. The index of an image that was built without a collection comes
    from the environment.
    """
    if index is None:
        return False, ()
    import click
    from click.core import ParameterSource

    from touche_rad.cli.console import say
    from touche_rad.demo import DEMO, is_demo

    if not is_demo(index):
        return False, ()
    context = click.get_current_context(silent=True)
    source = context.get_parameter_source("index") if context else None
    chosen = given["index"] == DEMO or source is not ParameterSource.ENVIRONMENT
    if chosen and not under_tira():
        return True, ()
    say(f"warning: {DEMO_INDEX}", quiet=given["quiet"])
    return True, (DEMO_INDEX,)


def names_model(given: Given) -> bool:
    """Whether the user names a language model, by `-m` or in the environment."""
    from touche_rad.models.endpoint import URL

    return bool(given.get("model") or os.environ.get(URL))


def model_for(
    given: Given, *plugins: Plugin, out: Path | None = None, must_answer: bool = True
) -> Model | None:
    """Return the model if a plugin needs one, or uses one and the user names one.

    Its endpoint is checked first.
    """
    from touche_rad.cli.console import say
    from touche_rad.plugins.registry import A_MODEL

    named = names_model(given)
    if not named:
        for plugin in plugins:
            if "model" in plugin.needs:
                raise UserError(f"{plugin.kind} {plugin.name} needs {A_MODEL}")
    elif any(one.uses_model for one in plugins):
        return open_model(given, out, must_answer=must_answer and not (out and is_tira(out)))
    if given.get("model"):
        names = " and ".join(f"{plugin.kind} {plugin.name}" for plugin in plugins)
        say(f"note: -m is not used: {names} works without a model", quiet=given["quiet"])
    return None


def open_model(given: Given, out: Path | None = None, *, must_answer: bool = True) -> Model:
    """Make the model that the options describe, and check its endpoint."""
    model = make_model(given, out)
    check_endpoint(model, given, must_answer=must_answer)
    return model


def make_model(given: Given, out: Path | None = None, backend: Backend | None = None) -> Model:
    """Make the model that the options describe; nothing is started yet.

    Args:
        given: The values of the command's options.
        out: The run, beside which the trace of the model calls is written.
        backend: The backend, if other models use it too; the caller closes it.
    """
    from touche_rad.cli.console import say
    from touche_rad.files.traces import TRACE
    from touche_rad.models import Model
    from touche_rad.models.model import open_backend
    from touche_rad.models.usage import Usage

    options, seed = given.get("options", {}), given.get("seed", 0)
    opened = backend or open_backend(
        given.get("model"), vllm=options.get("vllm", {}), seed=seed,
        report=lambda line: say(line, quiet=given.get("quiet", False)),
        log_file=out.with_name(f"{out.name}.vllm.log") if out else None,
    )  # fmt: skip
    share = given["shard"].share if given.get("shard") is not None else (lambda limit: limit)
    usage = Usage(
        share(given.get("max_calls")), share(given.get("max_tokens")), given.get("run_deadline")
    )
    trace = beside(out, TRACE) if out and given.get("trace", True) else None
    if trace:
        with suppress(OSError):
            trace.parent.mkdir(parents=True, exist_ok=True)
    settings, limits = model_settings(options.get("model", {}), seed)
    cache, behind = given.get("cache"), None
    own = given.get("shard") is not None or given.get("in_worker", False)
    if own and cache is not None and out is not None:
        from touche_rad.runs.parts import CACHE

        cache, behind = out.parent / CACHE, cache  # machines do not share the file of a cache
    return Model(
        opened, cache=cache, behind=behind, usage=usage, trace=trace, settings=settings,
        shared=backend is not None, **limits,
    )  # fmt: skip


def check_endpoint(model: Model, given: Given, *, must_answer: bool = True) -> None:
    """Check that the model's endpoint can be used; with `--wait`, wait until it can.

    Args:
        model: The model.
        given: The values of the command's options.
        must_answer: Whether to stop otherwise, unless a cache may have the answers.

    Raises:
        ToucheRadError: The endpoint cannot be used.
    """
    import anyio

    from touche_rad.cli.console import say
    from touche_rad.models import ModelError

    try:
        anyio.run(model.check)
    except ModelError as error:
        from touche_rad.cli.dead_endpoint import wait_or_stop

        wait_or_stop(model, error, given, must_answer=must_answer)
    for line in model.warnings:
        say(f"warning: {line}")


def beside(out: Path, suffix: str) -> Path:
    """Return the path of a trace or log: beside the run, but under TIRA in a folder of its own.

    TIRA accepts only one `*.jsonl` in its output folder.
    """
    name = f"{out.name}{suffix}"
    if not is_tira_output(out.parent):
        return out.with_name(name)
    return out.parent / "trace" / name


_MODEL_SETTINGS: Mapping[str, Callable[[str], Any]] = {
    "temperature": float, "seed": int, "max_tokens": int, "deadline": float, "at_once": int,
}  # fmt: skip
_MODEL_LIMITS = ("deadline", "at_once")


def model_settings(given: Mapping[str, str], seed: int) -> tuple[Any, dict[str, Any]]:
    """Parse `-O model.KEY=VALUE` into the settings of requests and the limits of the client."""
    from touche_rad.models.model import Settings

    values: dict[str, Any] = {"seed": seed}
    for key, text in given.items():
        if key not in _MODEL_SETTINGS:
            raise OptionError(f"model has no option {key!r}{nearest(key, _MODEL_SETTINGS)}")
        try:
            values[key] = _MODEL_SETTINGS[key](text)
        except ValueError:
            values[key] = -1
        if not values[key] >= 0:
            raise OptionError(f"-O model.{key}={text}: expected a number of 0 or more")
    limits = {key: values.pop(key) for key in _MODEL_LIMITS if key in values}
    return Settings(**values), limits


def count_calls(model: Model | None) -> Callable[[], str]:
    """Return a function that describes the number of model calls, for a progress bar."""

    def describe() -> str:
        calls = model.usage.total.calls if model is not None else 0
        return f"{calls} calls" if calls else ""

    return describe


def make_answerer(
    given: Given, debater: Selected, services: Services, *, max_words: int | None = None
) -> Answerer:
    """Make a debater with its fallbacks."""
    from touche_rad.runs.answering import Answerer, make_chain

    words = given["max_words"] if max_words is None else max_words
    return Answerer(
        make_chain(debater.name, debater.options, services), services.index,
        max_words=words, deadline=given["deadline"],
    )  # fmt: skip


def identify(given: Given, services: Services, *plugins: Plugin, **first: Any) -> dict[str, Any]:
    """Return everything that decides a run's results; a run with another identity cannot resume.

    Args:
        given: The values of the command's options.
        services: The index and the model.
        plugins: The plugins; the model is part of the identity if one of them uses it.
        first: What comes first, such as the tag of the main plugin.
    """
    from touche_rad.runs.runner import identity_of

    return identity_of(services, *plugins, deadline=given.get("deadline"), **first)


@dataclass(frozen=True)
class Places:
    """The input and the output of a run, and TIRA's status file.

    TIRA drops the exit code, so `status.json` in its output folder says what was done.
    """

    source: Path
    out: Path
    status: Path | None = None


def output_of(given: Given) -> Path | None:
    """Return the output of `-o`, or that of the part with `--shard`; a dry run needs no output."""
    if given["shard"] is None:
        return given["output"] or (Path(os.devnull) if given["dry_run"] else None)
    if given["dry_run"]:
        raise OptionError("--dry-run is for the whole run: leave out --shard")
    out: Path | None = given["output"]
    if out is None:
        raise OptionError("--shard is for a run with an output: add -o RUN")
    folder: Path = given["shard"].folder(out)
    return folder / out.name


def find_places(
    verb: str, source: Path | None, out: Path | None, kinds: Collection[FileKind], name: str
) -> Places:
    """Return the given paths; TIRA's environment replaces a missing one.

    Args:
        verb: The command.
        source: The input, or None for the one fitting file in `$inputDataset`.
        out: The output, or None for a file in `$outputDir`.
        kinds: Kinds of input that the command accepts.
        name: Name of the output under TIRA.
    """
    folder, target = os.environ.get("inputDataset"), os.environ.get("outputDir")
    if source is None:
        if not folder:
            raise UserError(f"{verb}: give an input file (under TIRA, inputDataset names a folder)")
        from touche_rad.tira.input import find_input

        source = find_input(Path(folder), kinds)
    if out is not None:
        if not source.exists():
            raise UserError(f"{source} does not exist: expected a file to read")
        return Places(source, out)
    if not target:
        raise UserError(f"{verb}: say where the run goes: -o FILE (under TIRA, outputDir says it)")
    return Places(source, Path(target) / name, Path(target) / "status.json")


def under_tira() -> bool:
    """Whether this is a run on TIRA."""
    return bool(os.environ.get("inputDataset") or os.environ.get("outputDir"))


def is_tira(out: Path) -> bool:
    """Whether this is an output that TIRA hands in, so that a run must finish in any case."""
    return is_tira_output(out.parent)


def is_tira_output(folder: Path) -> bool:
    """Whether this is TIRA's output folder, which must have exactly one `*.jsonl`."""
    target = os.environ.get("outputDir")
    return bool(target) and folder.resolve() == Path(str(target)).resolve()


def run_on_files(
    verb: str,
    title: str,
    given: Given,
    places: Places,
    method: Mapping[str, Any],
    work: Callable[[RunOptions], Awaitable[Status]],
    *,
    model: Model | None = None,
    index: ArgumentIndex | None = None,
    estimate: Callable[[], Estimate | None] | None = None,
    workers: Callable[[], Engine] | None = None,
) -> int:
    """Run a command from an input file to an output file, and print its status.

    Args:
        verb: The command.
        title: What the progress bar shows.
        given: The values of the command's options.
        places: Input, output and status file.
        method: The description of the method, for ir_metadata.
        work: Does the work.
        model: The language model, if there is one.
        index: The index that the results depend on, if there is one.
        estimate: Estimates the calls of a run with a model.
        workers: Makes the engine of `--engine ray`, if the command can have it.
    """
    from touche_rad import files
    from touche_rad.cli.console import MAKE_INDEX_STEP, next_after, next_step, progress, say
    from touche_rad.files.outputs import status_beside
    from touche_rad.runs.runner import WARNING, RunOptions, run
    from touche_rad.runs.stand_ins import ERRORS

    begun = datetime.now().astimezone()
    engine = _engine(given, workers)
    demo, warnings = check_demo(given, index)
    replace = given["replace"] or is_tira_output(places.out.parent)
    expected = None
    part = _part(given, places)
    if part is None and model is not None and estimate is not None and _is_long(places.source):
        expected = estimate()
    with (
        _metadata(verb, places, given, method),
        progress(title, quiet=given["quiet"], describe=count_calls(model)) as report,
    ):
        run_options = RunOptions(
            given["workers"], given["restart"], replace, files.BadLines(skip=given["skip_bad"]),
            report, places.status or status_beside(places.out), model, warnings, demo,
            estimate=expected.model_dump(mode="json") if expected is not None else {},
            strict=given.get("strict", False), hand_in=is_tira(places.out),
            errors=beside(places.out, ERRORS), part=part,
            engine=engine,
        )  # fmt: skip
        status = run(lambda: work(run_options), places.out)
    if part is not None and status.finished < begun:
        say(f"shard {part.shard} is finished already; --restart makes it again",
            quiet=given["quiet"])  # fmt: skip
    for line in status.lines():
        say(line, quiet=given["quiet"] and not line.startswith(WARNING))
    if expected is not None and status.usage and not status.resumed:
        say(expected.compare(status.usage["total"]), quiet=given["quiet"])
    say(f"written: {places.out}", quiet=given["quiet"])
    if part is not None:
        next_step(["merge", part.folder.parent, "-o", part.run], quiet=given["quiet"])
        return 0
    code = end_of_run(status, places.out)
    if places.status is None and not code:
        steps = next_after(places.out, places.source, given["index"], demo=demo)
        if demo and MAKE_INDEX_STEP in steps:
            say("note: answers from the demo's arguments, on ten topics, are not fit to hand in",
                quiet=given["quiet"])  # fmt: skip
        next_step(*steps, quiet=given["quiet"])
    return code


def workers_of(
    given: Given, places: Places, plugins: Sequence[Plugin],
    make: Callable[[Services], Any], services: Services,
) -> Engine:  # fmt: skip
    """Return the engine of `--engine ray`; its modules are imported only for that."""
    from touche_rad.cli.engine import ray_engine
    from touche_rad.files.traces import TRACE

    trace = beside(places.out, TRACE) if given.get("trace", True) else None
    return ray_engine(given, plugins, make, services, open_services, trace)


def _engine(given: Given, workers: Callable[[], Engine] | None) -> Engine | None:
    """Return the engine of `--engine ray`."""
    if given["engine"] == "local":
        if given["actors"] is not None:
            raise OptionError("--actors is for --engine ray")
        return None
    if workers is None:
        raise OptionError("--engine ray is for debates with a user; --shard I/N works here too")
    return workers()


def _part(given: Given, places: Places) -> Part | None:
    """Return the part of the run that `--shard` asks for."""
    if given["shard"] is None:
        return None
    from touche_rad.cli.options import WORDS
    from touche_rad.runs.parts import Part

    context = click.get_current_context()
    words = (str(context.info_name), *context.meta[WORDS])
    return Part(given["shard"], places.out.parent, given["output"], places.source, words)


def _is_long(source: Path) -> bool:
    """Whether an input has enough lines for an estimate; a short run soon shows its cost."""
    from touche_rad.files.records import numbered_lines
    from touche_rad.runs.estimate import LEAST

    return source.is_file() and sum(1 for _ in islice(numbered_lines(source), LEAST)) == LEAST


def end_of_run(status: Status, out: Path) -> int:
    """Return the exit code: 1 if everything is a stand-in, unless the run must be handed in."""
    from touche_rad.cli.console import say

    if not status.all_replaced or is_tira(out):
        return 0
    say(f"error: all {status.all_replaced} in {out} are stand-ins: see the warnings above")
    return 1


@contextmanager
def _metadata(verb: str, places: Places, given: Given, method: Mapping[str, Any]) -> Iterator[None]:
    """Measure the run, and write ir_metadata beside it if the user or TIRA wants it."""
    from touche_rad.cli.console import say

    wanted, under_tira = given["metadata"], is_tira_output(places.out.parent)
    if wanted is False or (wanted is None and not under_tira):
        yield
        return
    from touche_rad.tira import metadata

    if wanted is None and not metadata.available():
        yield
        return
    path = places.out.with_name(METADATA if under_tira else f"{places.out.name}.{METADATA}")
    with metadata.Tracked(path, verb, method) as tracker:
        yield
    if tracker.failure:
        say(f"note: no ir_metadata was written: {tracker.failure}", quiet=given["quiet"])
