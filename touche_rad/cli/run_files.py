"""Run a command on files: its input and output, how it runs, its status and its exit code."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from touche_rad.cli.advice import next_after
from touche_rad.cli.console import Label, next_step, progress, say, show_status
from touche_rad.cli.options import FileOptions
from touche_rad.cli.prepare import (
    ON_DEMO,
    beside,
    calls_so_far,
    check_demo,
    model_settings,
    names_model,
    need_file,
    open_index_of,
    open_session,
    parallel,
    tira_takes,
)
from touche_rad.cli.settings import TYPED
from touche_rad.errors import OptionError, UserError
from touche_rad.frozen import frozen
from touche_rad.plugins.registry import IMPORTED

if TYPE_CHECKING:
    from touche_rad.files import Kind
    from touche_rad.files.outputs import Status
    from touche_rad.models.endpoint import Backend
    from touche_rad.runs.jobs import JobSpec

_NO_RESULT: Final = {"--output", "--shard", "--quiet", "--replace", "--restart"}
"""Options that decide no result."""
_CHOSEN: Final = (
    ParameterSource.COMMANDLINE,
    ParameterSource.ENVIRONMENT,
    ParameterSource.DEFAULT_MAP,
)


@frozen
class Places:
    """The input and the output of a run, and TIRA's status file.

    TIRA drops the exit code, so `status.json` in its output folder says what was done.
    """

    source: Path
    out: Path | None
    """None: the lines of the output are printed, and no file is written."""
    kind: Kind
    """What the output has."""
    status: Path | None = None


def expand_folders(paths: tuple[Path, ...], truth: Path | None = None) -> tuple[Path, ...]:
    """Return the paths, with the runs of a folder in its place, as reports read them."""
    if not any(path.is_dir() for path in paths):
        return paths
    from touche_rad.report import inputs  # it is slow to import

    for text in inputs.unfinished_in(paths):
        say(text, Label.WARNING)
    return tuple(inputs.expand_folders(paths, truth))


def _words_of_call(source: Path, folder: Path) -> list[str]:
    """Return the running command for a status in a folder: the working folder, input and options.

    Options of the environment and of a settings file are written out. Of several inputs, each has
    a run of its own.
    """
    context = click.get_current_context()
    typed, _, _ = context.command.make_parser(context).parse_args([*context.meta[TYPED]])
    options: list[str] = []
    for parameter in context.command.params:
        value, origin = parameter.consume_value(context, typed)
        if origin not in _CHOSEN or not _NO_RESULT.isdisjoint(parameter.opts):
            continue
        if isinstance(parameter, click.Option):
            names = parameter.secondary_opts if value is False else parameter.opts
            values = value if isinstance(value, list | tuple) else [value]
            for text in values:
                options += [*names[:1], *([] if parameter.is_flag else [str(text)])]
    for plugin in IMPORTED:
        if plugin not in options:
            options += ["--plugin", plugin]
    return [os.path.relpath(".", folder), str(source), *options]


def find_places(
    verb: str,
    options: FileOptions,
    source: Path | None,
    kinds: Collection[Kind],
    kind: Kind,
    *,
    may_print: bool = False,
) -> Places:
    """Return where a run reads and writes; TIRA's environment replaces a path that is not given.

    The output of `--shard` is in the folder of the part; a dry run needs no output. What may print
    its lines needs none, either.
    """
    out = options.output
    if not out and options.dry_run:
        out = Path(os.devnull)
    if options.shard:
        if options.dry_run:
            raise OptionError("--dry-run is for the whole run: leave out --shard")
        if not out:
            raise OptionError("--shard is for a run with an output: add -o RUN")
        from touche_rad.files.records import refuse_links

        part = options.shard.folder(out)
        refuse_links(part.parent)
        out = part / out.name

    if not source:
        input_folder = os.environ.get("inputDataset")
        if not input_folder:
            or_say = ", or a message with --say TEXT" if verb == "respond" else ""
            raise UserError(
                f"{verb}: give an input file{or_say} (under TIRA, inputDataset names a folder)"
            )
        from touche_rad.tira.input import find_input

        try:
            source = find_input(Path(input_folder), kinds, may_link=True)
        except UserError as error:
            raise UserError(f"inputDataset names {error}, or give the input file itself") from None

    status = None
    if not out and not may_print:
        output_folder = os.environ.get("outputDir")
        if not output_folder:
            raise UserError(
                f"{verb}: say where the run goes: -o FILE (under TIRA, outputDir says it)"
            )
        out = Path(output_folder, f"{kind}.jsonl")
        status = Path(output_folder, "status.json")
    elif out:
        from touche_rad.files.records import STANDARD_OUTPUT

        if str(out) in STANDARD_OUTPUT or not out.name:
            raise UserError(f"-o {out}: a run needs a file of its own to be able to continue")
    return Places(source, out, kind, status)


def run_on_files(
    job: JobSpec,
    options: FileOptions,
    places: Places,
    *,
    backend: Backend | None = None,
    is_one_of_several: bool = False,
    print_finding: Callable[[Mapping[Path, Path]], None] | None = None,
) -> int:
    """Run a job from an input file to an output file; print its status, finding and next steps.

    Runs of several files share the backend of their model, and have one next step.
    """
    from touche_rad import files
    from touche_rad.files.outputs import STATUS, Setup, read_status
    from touche_rad.files.records import path_beside
    from touche_rad.runs.fallbacks import ERRORS
    from touche_rad.runs.jobs import index_in_words
    from touche_rad.runs.runner import STDOUT, run
    from touche_rad.runs.work import RunOptions

    need_file(job.source)
    if options.dry_run:
        return _estimate(job.for_estimate(), options)
    out = places.out
    tira = tira_takes(out)
    begun = datetime.now().astimezone()
    with open_session(
        options, *job.plugins, out=out, needs_index=job.needs_index, backend=backend
    ) as session:
        model = session.model
        work = job.open(session.services)
        demo, warnings = check_demo(options, session.index) if job.cites else (False, ())
        content = {} if session.criteria.official else session.criteria.model_dump(mode="json")
        folder = (options.output or out or job.source).parent
        setup: Setup = {
            "demo": demo,
            "criteria": content,
            "command": _words_of_call(job.source, folder),
        }
        if work.verb == "judge":
            with suppress(UserError):  # a damaged status is not needed
                judged = read_status(job.source)
                if judged:
                    setup["judged"] = judged
        settings = RunOptions(
            parallel(options, model=model is not None),
            bad=files.BadLines(skip=options.skip_bad),
            model=model,
            warnings=warnings,
            setup=setup,
            strict=options.strict,
            keep_finished=is_one_of_several,
        )
        if not out:
            status = run(work, STDOUT, settings)
        else:
            with progress(job.title, describe=partial(calls_so_far, model)) as report:
                # Under TIRA the run must finish: it replaces what is there, and goes on without its
                # model.
                settings = replace(
                    settings,
                    restart=options.restart,
                    replace=options.replace or tira,
                    progress=report,
                    status_path=places.status or path_beside(out, STATUS),
                    must_finish=tira,
                    errors=beside(out, ERRORS),
                )
                status = run(work, out, settings, options.shard)

    if not out:
        for warning in status.warnings:
            say(warning.detail, Label.WARNING)
        return end_of_run(status, None)
    # What is finished is not run again: its status is older than this call.
    is_earlier = status.finished < begun
    if is_earlier:
        say(f"{out} is finished already; --restart makes it again")
    show_status(status)
    words = index_in_words(status.identity)
    if words and work.verb == "judge":
        say(words)
    if not is_earlier:
        say(out, Label.WRITTEN)
    if options.shard:
        say(f"when all {options.shard.count} shards are finished:")
        next_step(["merge", out.parent.parent, "-o", options.output])
        return 0
    if print_finding:
        print_finding({out: places.source})
    code = end_of_run(status, out)
    if not places.status and not code and not is_one_of_several:
        steps = next_after(places.kind, out, places.source, options.index)
        if demo:
            say(ON_DEMO, Label.NOTE)
            steps = steps[-1:]  # what cites the demo's arguments is not checked for an upload
        next_step(*steps)
    return code


def _estimate(job: JobSpec, options: FileOptions) -> int:
    """Print the model calls and tokens of a run, estimated from a few of its units."""
    from touche_rad import files
    from touche_rad.models import Model
    from touche_rad.models.examples import Examples
    from touche_rad.runs.sample import sample
    from touche_rad.session import Session

    has_model = names_model(options)
    with Session(options.seed, options.criteria) as session:
        if options.index or job.needs_index:
            session.index = session.close_index_later(open_index_of(options))
        plugins = [configured.plugin for configured in job.plugins]
        if any("model" in plugin.needs or (has_model and plugin.uses_model) for plugin in plugins):
            settings, _ = model_settings(options.plugin_options["model"], options.seed)
            session.model = Model(Examples(varied=True), settings=settings)
        work = job.open(session.services)
        usage = session.model.usage if session.model else None
        result = session.run(
            partial(sample, work, usage, bad=files.BadLines(skip=options.skip_bad))
        )
    click.echo(f"{work.verb}: {result.units} debates, estimated from {result.sampled} of them")
    if round(result.calls):
        click.echo(
            f"calls: {result.calls:,.0f}\n"
            f"prompt tokens: {result.prompt_tokens:,.0f}\n"
            f"answer tokens: {result.answer_tokens:,.0f}"
        )
    else:
        click.echo("no model calls")
    if result.fallbacks:
        click.echo(
            f"warning: {result.fallbacks} results of the sample are a fallback's, because the "
            "example answers do not suit the plugin; the run may need more calls"
        )
    click.echo("dry run: nothing was written")
    return 0


def end_of_run(status: Status, out: Path | None) -> int:
    """Return the exit code: 1 if everything is a fallback, unless the output is uploaded anyway."""
    from touche_rad.files.outputs import all_replaced

    kinds = all_replaced(status.fallbacks, status.counts)
    if not kinds or tira_takes(out):
        return 0
    place = f" in {out}" if out else ""
    say(
        f"all {kinds[0]}{place} are fallbacks or missing: correct the cause that a "
        "warning above names (touche-rad doctor finds most), then run the same command again",
        Label.ERROR,
    )
    return 1
