"""The trial of a debater or a judge before it is submitted: its steps, and what to run next."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

import click

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import Label, line_of, print_text, say
from touche_rad.demo import demo_file, is_demo
from touche_rad.errors import ToucheRadError, UserError, WorkError
from touche_rad.files.outputs import read_status, sha256_of
from touche_rad.files.records import (
    copy_file,
    make_folder,
    read_file,
    refuse_links,
    write_text,
)
from touche_rad.models.checks import Check, checks
from touche_rad.plugins import Kind, Plugin, build_index, open_index
from touche_rad.plugins.registry import IMPORTED
from touche_rad.session import Session
from touche_rad.text import clean, printable
from touche_rad.tira.submission import (
    COLLECTIONS,
    PLUGINS,
    Software,
    Submission,
    check_host,
    describe,
    save,
)

CLAIMS: Final = 3
TURNS: Final = 2
LIMIT: Final = 300
"""Seconds after which the organisers' client gives up an answer."""
BASE_IMAGE: Final = "in the clone of touche-rad: docker build --target slim -t touche-rad ."


@opt.offering("model")
class TrialOptions(opt.Common):
    """The options of a trial."""

    collection: Path | None = opt.option(
        "Arguments that the image indexes; without NAME, start a trial."
    )
    debater: opt.PluginSpec | None = opt.option(
        "Debater to try: NAME or NAME(KEY=VALUE,...).", "-d --debater"
    )
    judge: opt.PluginSpec | None = opt.option(
        "Judge to try: NAME or NAME(KEY=VALUE,...).", "-j --judge"
    )
    official: bool = opt.flag("Submit with the organisers' client and simulated user.")
    output: Path = opt.output(
        "Folder for the files of the trial.", "DIR", default=Path("submission")
    )
    save: str | None = opt.option("Write the entry to tira.yml under this name.", metavar="ENTRY")
    upload: bool = opt.flag("Print the command that uploads; without it, only a trial run.")
    file: Path = opt.option("File with the submissions.", default=Path("tira.yml"))


def try_plugins(options: TrialOptions, submission: Submission, collection: Path) -> None:
    """Try a debater and a judge on a collection, and print what to run next."""
    specs: dict[Kind, opt.PluginSpec] = {}
    if options.debater:
        specs["debater"] = options.debater
    if options.judge:
        specs["judge"] = options.judge
    has_model = prepare.names_model(options)
    repository = options.file.parent
    # The repository of touche-rad has this folder; a project of `touche-rad new` has not.
    is_clone = (repository / "touche_rad").is_dir()
    folder = options.output
    refuse_links(folder)
    refuse_links(repository / COLLECTIONS.parent)

    with _step("collection") as results:
        count = sum(1 for _ in files.read_arguments(collection))
        is_of_demo = is_demo(collection)
        results.append(f"{collection}: {count:,} arguments")
        if is_of_demo:
            results.append("this is the demo collection: not fit to upload")
    plugins: dict[Kind, Plugin] = {}
    for kind, spec in specs.items():
        with _step(kind) as results:
            selected = spec.configure(kind)
            plugin = selected.plugin
            missing = plugin.missing(index=True, model=has_model)
            if missing:
                raise UserError(f"{kind} {spec.name} needs {'; '.join(missing)}")
            if is_clone and not plugin.file and plugin.source != "touche-rad":
                raise UserError(
                    f"{plugin.name} is from the package {plugin.source}, which this image does "
                    "not have: run submit in the package's folder, whose Dockerfile installs it"
                )
            plugins[kind] = plugin
            results.append(f"{selected.tag}: installed, and its options are valid")
    uses_model = has_model and any(plugin.uses_model for plugin in plugins.values())
    model = options.model or "environment" if uses_model else ""
    entries = {
        name: software.with_collection(collection)
        for name, software in _entries(options, submission, specs, plugins, model).items()
    }
    if options.model and not uses_model:
        with _step("model"):
            raise UserError("neither the debater nor the judge uses a model: leave out -m")
    if uses_model:
        with _step("model") as results:
            results.append(_ask_model(options))

    # The steps of a run on TIRA, on a few claims.
    index = folder / "index"
    claims = folder / "claims.tsv"
    simulations = folder / "simulations.jsonl"
    evaluations = folder / "evaluations.jsonl"
    with _step("index") as results:
        make_folder(folder)
        mark = folder / "collection.sha256"
        digest = sha256_of(collection)
        if not (index.exists() and mark.exists() and read_file(mark) == digest.encode()):
            mark.unlink(missing_ok=True)
            build_index(files.read_arguments(collection), str(index), replace=True)
            write_text(mark, digest)
        results.append(f"{index}: {len(open_index(str(index))):,} arguments")
    with _step("play") as results:
        first_claims = list(islice(files.read_claims(demo_file("claims.tsv")), CLAIMS))
        write_text(claims, files.claims_text(first_claims))
        debater = options.debater or "grounded"
        words = ["simulate", claims, "-o", simulations, "-d", debater, "--turns", TURNS]
        pace = _call(options, words, uses_model="debater" in plugins) / (CLAIMS * TURNS)
        if pace > LIMIT:
            raise WorkError(f"{pace:.0f} s per answer: the organisers' client waits {LIMIT} s")
        results.append(
            f"{CLAIMS} debates of {TURNS} turns with our own user: {pace:.2f} s per turn (the "
            f"organisers' client waits {LIMIT} s)"
        )
    with _step("answers") as results:
        results.append(_check(simulations, claims, index))
    if options.judge:
        with _step("judge") as results:
            words = ["judge", simulations, "-o", evaluations, "-j", options.judge]
            pace = _call(options, words, uses_model=True) / (CLAIMS * TURNS)
            results.append(f"{CLAIMS * TURNS} turns on four maxims: {pace:.2f} s per turn")
        with _step("verdicts") as results:
            results.append(_check(evaluations, simulations, index))

    # What the image takes is put where it takes it from.
    with _step("entry") as results:
        copies = {repository / software.collection: collection for software in entries.values()}
        for plugin in plugins.values():
            if plugin.file:
                copies[repository / PLUGINS / plugin.file.name] = plugin.file
        for copy, file in copies.items():
            copy_file(file, copy)
            results.append(f"copied to {copy}")
        if options.save:
            for name, software in entries.items():
                save(options.file, name, software)
                results.append(f"{name} in {options.file}")
        else:
            results.append(f"{options.file} is unchanged: --save ENTRY writes the entry")

    click.secho("\nnext (tira-cli builds the image, and submits without --dry-run):", bold=True)
    lines = list(_preparations(options, entries, is_clone=is_clone))
    for name, software in entries.items():
        tell_forwarded(software)
        client = submission.add(name, software).words(
            name, path=str(repository), upload=options.upload and not is_of_demo
        )
        lines.append(shlex.join(client))
    for line in lines:
        click.echo(f"  {printable(line)}")


def tell_forwarded(software: Software) -> None:
    """Say which variables of the shell the container gets: tira.yml may be a stranger's."""
    variables = ", ".join(filter(os.environ.get, software.forward))
    if variables:
        say(f"the container gets these variables of your shell: {variables}", Label.NOTE)


@contextmanager
def _step(name: str) -> Iterator[list[str]]:
    """Print what a step results in; an error ends the trial, and says how to mend it."""
    results: list[str] = []
    mark = click.style(f"{'ok':7}", fg="green")
    code = 0
    try:
        yield results
    except (click.ClickException, ToucheRadError, OSError) as error:
        mark = click.style(f"{'failed':7}", fg="red")
        results = [str(error)]
        code = 1
    if results:
        print_text(clean(printable("; ".join(results))), f"{mark}{name:11} ", " " * 19)
    if code:
        raise click.exceptions.Exit(code)


def _entries(
    options: TrialOptions,
    submission: Submission,
    specs: dict[Kind, opt.PluginSpec],
    plugins: dict[Kind, Plugin],
    model: str,
) -> dict[str, Software]:
    """Return the entries of tira.yml by name; those of this name keep their other keys."""
    entries: dict[str, Software] = {}
    for kind, plugin in plugins.items():
        software = describe(
            1 if kind == "debater" else 2,
            str(specs[kind]),
            model=model,
            official=options.official,
            file=plugin.file.name if plugin.file else "",
        )
        name = plugin.name if kind == "debater" else f"judge-{plugin.name}"
        if options.save:
            name = f"{options.save}-judge" if entries else options.save
            earlier = submission.software.get(name)
            if earlier and earlier.command == software.command:
                software = software.model_copy(update=earlier.model_dump(exclude_defaults=True))
        entries[name] = software
    return entries


def _ask_model(options: TrialOptions) -> str:
    """Ask the model once, and return what it is."""
    name = options.model or ""
    if name.startswith("scripted:"):
        raise UserError(f"-m {name}: this model exists on this machine only")
    check_host(name or os.environ.get("OPENAI_BASE_URL", ""))
    with Session() as session:
        model = session.close_later(prepare.make_model(replace(options, quiet=True)))
        first: Check = session.run(anext, checks(model))
    if not first.ok:
        raise WorkError(f"{first.found}: {first.fix}")
    return first.found


def _call(options: TrialOptions, words: list[object], *, uses_model: bool) -> float:
    """Run a command with one debate at a time, and return its seconds."""
    from touche_rad.cli import touche_rad

    line = [*map(str, words), "-i", str(options.output / "index"), "--workers", "1"]
    if options.model and uses_model:
        line += ["-m", options.model]
    code = touche_rad.main(
        args=[*line, "--restart", "--replace", "--quiet"],
        prog_name="touche-rad",
        standalone_mode=False,
    )
    status = read_status(Path(line[line.index("-o") + 1]))
    if code:
        for file in IMPORTED:
            line += ["--plugin", file]
        cause = "; ".join(warning["detail"] for warning in status.get("warnings", ()))
        cause = cause or "try touche-rad doctor"
        raise WorkError(f"{line_of(line)} ended with {code}: {cause}")
    return float(status["seconds"])


def _check(run: Path, source: Path, index: Path) -> str:
    """Check the file of a run; return what it is, with its warnings."""
    from touche_rad.score.findings import DEMO, times_of
    from touche_rad.score.validation import check

    warnings: list[str] = []
    result = check(run, source=source, index=open_index(str(index)))
    for group in result.groups:
        issue = group[0]
        text = f"{issue.kind} ({times_of(group)}): {issue.message}"
        if issue.level == "warning":
            warnings.append(text)
        elif issue.kind != DEMO:  # the first step says this
            raise WorkError(f"{text}; more: touche-rad check {run} -i {index}")
    return "; ".join([f"{run}: {result.verdict}", *warnings])


def _preparations(
    options: TrialOptions, entries: dict[str, Software], *, is_clone: bool
) -> Iterator[str]:
    """Yield the commands to run before TIRA's client, which takes what is committed."""
    repository = options.file.parent
    if not is_clone:
        yield f"# {BASE_IMAGE}"
    git = ["git"] if repository == Path() else ["git", "-C", str(repository)]
    root = repository.resolve()
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        yield shlex.join([*git, "init"])
    # The client wants a clean folder, and a new project has more than our copies to commit.
    yield shlex.join([*git, "status", "--short"]) + "  # first move runs away that it lists"
    yield shlex.join([*git, "add", "--all", "."]) + "  # the client wants a clean folder"
    yield shlex.join([*git, "commit", "-m", "Submission"])
    if any(software.forward for software in entries.values()):
        url, _, model = (options.model or "").partition("#")
        if model:
            yield shlex.join(["export", f"OPENAI_BASE_URL={url}", f"OPENAI_MODEL={model}"])
        if "OPENAI_API_KEY" not in os.environ:
            yield "export OPENAI_API_KEY=EMPTY  # or the key of the server"
    if shutil.which("tira-cli") is None:
        yield from ("pip install tira", "tira-cli login --token TOKEN")
