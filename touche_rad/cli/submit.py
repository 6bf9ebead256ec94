"""The command `submit`, and the trial of a plugin: each step is checked here before TIRA."""

from __future__ import annotations

import filecmp
import json
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import print_text, say
from touche_rad.errors import OptionError, ToucheRadError, UserError, WorkError
from touche_rad.text import clean, printable

if TYPE_CHECKING:
    from touche_rad.plugins import Kind
    from touche_rad.tira.submission import Software, Submission

LIMIT: Final = 300
"""Seconds after which the organisers' client gives up an answer."""
ENGINES: Final = ("docker", "podman", "buildah")


@dataclass(frozen=True, kw_only=True)
class SubmitOptions(opt.Common):
    """The options of `submit`."""

    name: str | None = opt.argument("[NAME]", required=False)
    collection: Path | None = opt.option(
        "Arguments that the image indexes; without NAME, start a trial."
    )
    debater: opt.PluginSpec | None = opt.plugin(
        "Debater to try: NAME or NAME(KEY=VALUE,...).", "-d --debater", kinds=("debater",)
    )
    judge: opt.PluginSpec | None = opt.plugin(
        "Judge to try: NAME or NAME(KEY=VALUE,...).", "-j --judge", kinds=("judge", "panel")
    )
    model: str | None = opt.MODEL
    official: bool = opt.flag("Submit with the organisers' client and simulated user.")
    claims: Path | None = opt.option("Claims to play in the trial. [default: the demo's claims]")
    first: int = opt.option("Number of claims that the trial plays.", default=3)
    turns: int = opt.option("User turns per debate in the trial.", default=2)
    output: Path = opt.output(
        "Folder for the files of the trial.", "DIR", default=Path("submission")
    )
    build: bool = opt.flag("Build the image with docker, podman or buildah.")
    save: str | None = opt.option("Write the entry to tira.yml under this name.", metavar="ENTRY")
    file: Path = opt.option("File with the submissions.", default=Path("tira.yml"))
    dataset: str | None = opt.option(
        "Dataset for the trial run. [default: the dataset of the sub-task]", metavar="ID"
    )
    upload: bool = opt.flag("Print the command that uploads; without it, only a trial run.")
    as_json: bool = opt.JSON


@opt.command(
    "submit",
    "submit grounded | sh",
    "submit --collection arguments.jsonl -d grounded",
    "submit --collection arguments.jsonl -d 'grounded(k=5)' --save ours",
)
def submit_command(options: SubmitOptions) -> int:
    """Try a plugin before it is submitted, and print the command line of tira-cli.

    With --collection and a debater or a judge: check the collection, the plugin and the model,
    build the index, play and judge the first claims, check the files, and print what to run next.
    The first step that fails ends the trial. It works without a network, and uploads nothing.

    With NAME, an entry of tira.yml: print its command line. Without both: list the entries. A
    debater speaks to our simulated user, or with --official to the organisers'.
    tira-cli builds the image, runs it on a small dataset and validates the output.
    """
    from touche_rad.tira import submission

    name, collection = options.name, options.collection
    has_plugin = options.debater is not None or options.judge is not None
    if has_plugin and (name is not None or collection is None):
        raise OptionError(
            "-d and -j are for a trial: submit --collection ARGUMENTS -d NAME (without an entry)"
        )
    if name is None and collection is not None:
        if not has_plugin:
            raise OptionError("submit --collection: name what to try, with -d NAME or -j NAME")
        return _try(options, collection)
    entries = submission.load(options.file)
    if name is None:
        return _list(entries, options)
    entry = entries.find(name)
    if collection is not None:
        entry = _with_collection(entry, collection, options.file.parent)
    elif options.upload and entry.sub_task == 1 and not entry.has_collection:
        raise UserError(
            f"{name} is not fit to upload: demo index; build the image with the task's "
            f"collection: submit {name} --upload --collection {submission.COLLECTIONS}/FILE"
        )
    entries = entries.add(name, entry)
    words = _words(entries, name, options, upload=options.upload)
    click.echo(json.dumps(words, indent=2) if options.as_json else shlex.join(words))
    return 0


def _words(entries: Submission, name: str, options: SubmitOptions, *, upload: bool) -> list[str]:
    """Return the words of the command line of TIRA's client for an entry."""
    path = str(options.file.parent)
    return entries.words(name, path=path, dataset=options.dataset, upload=upload)


def _with_collection(entry: Software, collection: Path, repository: Path) -> Software:
    """Return the entry with a collection, which must be where the image takes it from."""
    from touche_rad.tira.submission import COLLECTIONS

    place = repository / COLLECTIONS
    if not collection.is_file():
        raise UserError(f"{collection} does not exist: expected a file of arguments")
    if collection.resolve().parent != place.resolve():
        raise UserError(
            f"{collection}: the image takes collections from {place}: cp {collection} {place}/"
        )
    return entry.with_collection(collection.name)


def _list(entries: Submission, options: SubmitOptions) -> int:
    if options.as_json:
        lines = {
            one: _words(entries, one, options, upload=options.upload) for one in entries.software
        }
        click.echo(json.dumps(lines, indent=2))
        return 0
    width = max(map(len, entries.software)) + 2
    click.secho(f"{'entry':{width}}sub-task  user      command", bold=True)
    for name, one in entries.software.items():
        first = f"{name:{width}}{one.sub_task:<10}{one.user or '':10}"
        print_text(one.command, first, " " * len(first))
    return 0


def _try(options: SubmitOptions, collection: Path) -> int:
    """Run the trial step by step, and print what to run next."""
    from touche_rad.tira import submission

    entries = submission.load(options.file)
    trial = Trial(options, collection)
    steps = []
    for step in trial.steps():
        steps.append(step)
        if not options.as_json:
            mark, colour = ("ok", "green") if step.ok else ("failed", "red")
            first, rest = f"{click.style(f'{mark:7}', fg=colour)}{step.name:11} ", " " * 19
            print_text(clean(printable(step.found)), first, rest)
            if step.fix and not step.ok:
                print_text(f"fix: {step.fix}", rest, rest)
    ok = all(step.ok for step in steps)
    upload = options.upload and not trial.demo
    following = trial.next_commands(
        lambda name, one: _words(entries.add(name, one), name, options, upload=upload)
    )
    if options.as_json:
        rows = [vars(step) for step in steps]
        click.echo(json.dumps({"ok": ok, "steps": rows, "next": following if ok else []}, indent=2))
    elif ok:
        click.secho("\nRun next:", bold=True)
        for line in following:
            click.echo(f"  {line}")
        if trial.demo:
            click.echo("\nThis is the demo collection: not fit to upload.")
        elif not upload:
            click.echo("\nThis builds the image and tries it; without --dry-run it submits.")
    return 0 if ok else 1


@dataclass(frozen=True)
class Step:
    """The result of one step."""

    name: str
    ok: bool
    found: str
    fix: str = ""
    """How to mend a failed step."""


class Trial:
    """Tries a debater and a judge on a collection, one step after the other."""

    def __init__(self, options: SubmitOptions, collection: Path) -> None:
        """Prepare the trial; nothing is read or written yet."""
        self.options, self.collection = options, collection
        specs: list[tuple[Kind, Any]] = [("debater", options.debater), ("judge", options.judge)]
        self.specs: dict[Kind, opt.PluginSpec] = {kind: spec for kind, spec in specs if spec}
        # The folder with tira.yml and the Dockerfile.
        self.repository = options.file.parent
        self.folder = options.output
        self.index = self.folder / "index"
        self.claims = self.folder / "claims.tsv"
        self.simulations = self.folder / "simulations.jsonl"
        self.evaluations = self.folder / "evaluations.jsonl"
        self.model = options.model or ""
        self.demo = False
        self.entries: dict[str, Software] = {}

    def steps(self) -> Iterator[Step]:
        """Yield each step when it is done; the first failed step is the last one."""
        for name, do, fix in self._plan():
            try:
                result = do()
            except (click.ClickException, ToucheRadError, OSError) as error:
                yield Step(name, False, " ".join(str(error).split()), fix)
                return
            if result:
                yield Step(name, True, result)

    def _plan(self) -> Iterator[tuple[str, Callable[[], str], str]]:
        """Yield the name of each step, what it does, and how to mend it."""
        fix = "give a file of arguments: JSON Lines with `id` and `text`"
        yield "collection", self._read_collection, fix
        for kind, spec in self.specs.items():
            fix = f"touche-rad list {spec.name} shows what it needs and its options"
            yield kind, partial(self._find_plugin, kind, spec), fix
        fix = "start the server, or name another one with -m URL#MODEL"
        yield "model", self._ask_model, fix
        fix = f"remove {self.folder} and try again, or choose another folder with -o"
        yield "index", self._build_index, fix
        play = "touche-rad doctor checks the plugin, the index and the model"
        yield "play", self._play, play
        fix = f"touche-rad check {self.simulations} -i {self.index} --all"
        yield "answers", partial(self._check, self.simulations, self.claims), fix
        if self.options.judge is not None:
            yield "judge", self._judge, play
            fix = f"touche-rad check {self.evaluations} --all"
            yield "verdicts", partial(self._check, self.evaluations, self.simulations), fix
        fix = "upload with -m URL#MODEL, -m vllm:MODEL, or without a model"
        yield "entry", self._describe, fix
        if self.options.build:
            fix = "start docker, or install podman or buildah; see build.log"
            yield "image", self._build_image, fix
        if self.options.save:
            yield "saved", self._save, "choose another name with --save NAME"

    def _read_collection(self) -> str:
        from touche_rad import files

        kind = files.detect_kind(self.collection)
        if kind is not files.Kind.ARGUMENTS:
            raise UserError(f"{self.collection}: expected arguments, got {kind.value}")
        count = sum(1 for _ in files.read_arguments(self.collection))
        return f"{self.collection}: {count:,} arguments"

    def _find_plugin(self, kind: Kind, spec: opt.PluginSpec) -> str:
        selected = prepare.select(kind, spec)
        named = prepare.names_model(self.options)
        missing = selected.plugin.missing(index=True, model=named)
        if missing:
            raise UserError(f"{kind} {spec.name} needs {'; '.join(missing)}")
        return f"{selected.tag}: installed, and its options are valid"

    def _uses_model(self) -> bool:
        plugins = [prepare.select(kind, one).plugin for kind, one in self.specs.items()]
        return prepare.names_model(self.options) and any(one.uses_model for one in plugins)

    def _ask_model(self) -> str:
        """Ask the model once; a plugin without a model needs no answer."""
        if not self._uses_model():
            if self.model:
                raise UserError("neither the debater nor the judge uses a model: leave out -m")
            return ""
        from touche_rad.models.checks import checks

        model = prepare.make_model(replace(self.options, quiet=True))
        first = prepare.run_and_close(anext(checks(model)), model)
        if not first.ok:
            raise WorkError(first.found)
        return first.found

    def _build_index(self) -> str:
        """Build the index, unless it is there from the last trial of this collection."""
        from touche_rad import files
        from touche_rad.demo import is_demo
        from touche_rad.files.outputs import sha256_of
        from touche_rad.plugins import build_index, open_index

        self.folder.mkdir(parents=True, exist_ok=True)
        mark, digest = self.folder / "collection.sha256", sha256_of(self.collection)
        if not (self.index.exists() and mark.exists() and mark.read_text("utf-8") == digest):
            mark.unlink(missing_ok=True)
            build_index(files.read_arguments(self.collection), str(self.index), replace=True)
            mark.write_text(digest, "utf-8")
        opened = open_index(str(self.index))
        self.demo = is_demo(opened)
        note = "; this is the demo collection: not fit to upload" if self.demo else ""
        return f"{self.index}: {len(opened):,} arguments{note}"

    def _play(self) -> str:
        """Play the first claims with our user, one debate after the other."""
        from itertools import islice

        from touche_rad import files
        from touche_rad.demo import demo_file

        source = self.options.claims or demo_file("claims.tsv")
        claims = list(islice(files.read_claims(source), self.options.first))
        with files.atomic_write(self.claims) as stream:
            stream.write(files.claims_text(claims))
        more = ("-d", self.options.debater or "grounded", "--turns", self.options.turns)
        seconds = self._call("simulate", self.claims, self.simulations, *more)
        turns = len(claims) * self.options.turns
        pace = seconds / turns
        if pace > LIMIT:
            raise WorkError(f"{pace:.0f} s per answer: the organisers' client waits {LIMIT} s")
        text = f"{len(claims)} debates of {self.options.turns} turns with our own user"
        return f"{text}: {pace:.2f} s per turn (the organisers' client waits {LIMIT} s)"

    def _judge(self) -> str:
        seconds = self._call("judge", self.simulations, self.evaluations, "-j", self.options.judge)
        turns = sum(
            len(json.loads(line)["userTurnsEvaluations"])
            for line in self.evaluations.open(encoding="utf-8")
        )
        return f"{turns} turns on four maxims: {seconds / max(1, turns):.2f} s per turn"

    def _call(self, verb: str, source: Path, out: Path, *words: Any) -> float:
        """Run a command with one debate at a time, and return its seconds."""
        from touche_rad.cli import touche_rad
        from touche_rad.files.outputs import read_status

        for old in out.parent.glob(f"{out.name}*"):
            old.unlink()
        words = (verb, source, "-o", out, *words, "-i", self.index, "--workers", 1, "--quiet")
        line = [str(word) for word in words]
        if self.model and (verb == "judge" or self.options.debater is not None):
            line += ["-m", self.model]
        begun = time.monotonic()
        code = touche_rad.main(args=line, prog_name="touche-rad", standalone_mode=False)
        if code:
            raise WorkError(f"touche-rad {shlex.join(line)} ended with exit code {code}")
        return float(read_status(out).get("seconds") or time.monotonic() - begun)

    def _check(self, run: Path, source: Path) -> str:
        from touche_rad.files.outputs import read_status
        from touche_rad.plugins import open_index
        from touche_rad.score.validation import check

        result = check(run, source=source, index=open_index(str(self.index)), status=False)
        made = check(run)
        faults = [one for one in result.findings if one.level == "fault"]
        if faults:
            raise WorkError(f"{len(faults)} faults; the first: {faults[0].message}")
        others = [reason for reason in made.unfit if reason != "demo index"]
        if others:
            examples = (read_status(run).get("examples") or {}).items()
            first = [f": {kind}: {few[0]}" for kind, few in examples if few][:1]
            raise WorkError("".join([others[0], *first]))
        warnings = "; ".join(
            f"{group[0].kind}: {len(group)}" for group in made.groups if group[0].level == "warning"
        )
        return f"{run}: valid{warnings and f' ({warnings})'}"

    def _describe(self) -> str:
        """Make the entries that upload the plugins."""
        from touche_rad.plugins import find
        from touche_rad.tira.submission import describe

        if self.model.startswith("scripted:"):
            raise UserError(f"-m {self.model}: this model exists on this machine only")
        model = self.model or ("environment" if self._uses_model() else "")
        options, name = self.options, self.options.save or ""
        if options.debater is not None:
            one = describe(1, str(options.debater), model=model, official=options.official)
            self.entries[name or options.debater.name] = self._with_collection(one)
        if options.judge is not None:
            one = describe(2, str(options.judge), model=model, official=options.official)
            if "index" in find("judge", options.judge.name).needs:
                one = self._with_collection(one)
            both = f"{name}-judge" if options.debater is not None else name
            self.entries[both if name else f"judge-{options.judge.name}"] = one
        users = {one.user for one in self.entries.values()} - {None}
        whose = ", ".join(f"{user} user" for user in users)
        return "; ".join(self.entries) + (f" ({whose})" if whose else "")

    def _with_collection(self, one: Software) -> Software:
        return one if self.demo else one.with_collection(self.collection.name)

    def _save(self) -> str:
        from touche_rad.tira.submission import save

        file = self.options.file
        for name, one in self.entries.items():
            save(file, name, one)
        return f"{', '.join(self.entries)} in {file}"

    def copy_commands(self) -> list[list[str]]:
        """Return the commands that put the collection where the image takes it from."""
        from touche_rad.tira.submission import COLLECTIONS

        place = self.repository / COLLECTIONS
        copy = place / self.collection.name
        if self.demo or (copy.is_file() and filecmp.cmp(copy, self.collection, shallow=False)):
            return []
        return [["cp", str(self.collection), f"{place}/"]]

    def _build_image(self) -> str:
        """Build the image of each entry with the first engine that is installed."""
        engine = _find_engine()
        for words in self.copy_commands():
            subprocess.run(words, check=True)
        names = []
        for name, one in self.entries.items():
            tag = f"touche-rad-{name.lower()}"
            words = [engine, "build", *shlex.split(one.build), "-t", tag, str(self.repository)]
            log = self.folder / "build.log"
            say(f"building {tag} with {engine}, which takes minutes; its output: {log}")
            with log.open("w") as stream:
                done = subprocess.run(words, stdout=stream, stderr=stream, check=False)
            if done.returncode:
                last = log.read_text("utf-8", "replace").strip().splitlines()[-1:]
                raise WorkError(f"{shlex.join(words)} failed: {' '.join(last)}; see {log}")
            names.append(tag)
        return f"{', '.join(names)} built with {engine}"

    def next_commands(self, client: Callable[[str, Software], list[str]]) -> list[str]:
        """Return what to run next; `client` returns the words of TIRA's client for an entry."""
        lines = [shlex.join(words) for words in self.copy_commands()]
        if self.options.save:
            lines.append(shlex.join(["git", "commit", "-m", "Submission", str(self.options.file)]))
        url, _, model = self.model.partition("#")
        if model and any(one.forward for one in self.entries.values()):
            values = shlex.join(
                [f"OPENAI_BASE_URL={url}", "OPENAI_API_KEY=KEY", f"OPENAI_MODEL={model}"]
            )
            lines.append(f"export {values}")
        if shutil.which("tira-cli") is None:
            lines += ["pip install tira", "tira-cli login --token TOKEN"]
        return lines + [shlex.join(client(name, one)) for name, one in self.entries.items()]


def _find_engine() -> str:
    """Return the first container engine that works: a client without its server does not."""
    broken = []
    for engine in filter(shutil.which, ENGINES):
        words = [engine, "info"]
        info = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60)
        if info.returncode == 0:
            return engine
        reason = (info.stderr.strip().splitlines() or [f"exit code {info.returncode}"])[-1]
        broken.append(f"{engine} info: {reason}")
    if broken:
        raise WorkError("; ".join(broken))
    raise UserError(f"there is none of {', '.join(ENGINES)} here")
