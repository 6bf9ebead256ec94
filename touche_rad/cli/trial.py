"""The trial of a debater or a judge before it is submitted: its steps, and what to run next."""

from __future__ import annotations

import filecmp
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import say
from touche_rad.demo import demo_file, is_demo
from touche_rad.errors import UserError, WorkError
from touche_rad.events import EventCount
from touche_rad.files.outputs import read_status, sha256_of
from touche_rad.models.checks import Check, checks
from touche_rad.plugins import Kind, Plugin, build_index, find, open_index
from touche_rad.plugins.registry import IMPORTED
from touche_rad.session import Session
from touche_rad.text import count_of
from touche_rad.tira.submission import (
    COLLECTIONS,
    PLUGINS,
    Software,
    SubTask,
    check_host,
    describe,
    load,
    save,
)

LIMIT: Final = 300
"""Seconds after which the organisers' client gives up an answer."""
ENGINES: Final = ("docker", "podman", "buildah")
BASE_IMAGE: Final = "in the clone of touche-rad: docker build --target slim -t touche-rad ."


@opt.options
class TrialOptions(opt.Common):
    """The options of a trial."""

    collection: Path | None = opt.option(
        Path, "Arguments that the image indexes; without NAME, start a trial."
    )
    debater: opt.PluginSpec | None = opt.option(
        opt.PluginSpec, "Debater to try: NAME or NAME(KEY=VALUE,...).", "-d --debater"
    )
    judge: opt.PluginSpec | None = opt.option(
        opt.PluginSpec, "Judge to try: NAME or NAME(KEY=VALUE,...).", "-j --judge"
    )
    model: str | None = opt.MODEL
    official: bool = opt.flag("Submit with the organisers' client and simulated user.")
    claims: Path | None = opt.option(
        Path, "Claims to play in the trial. [default: the demo's claims]"
    )
    first: int = opt.option(int, "Number of claims that the trial plays.", default=3)
    turns: int = opt.option(int, "User turns per debate in the trial.", default=2)
    output: Path = opt.output(
        "Folder for the files of the trial.", "DIR", default=Path("submission")
    )
    build: bool = opt.flag("Build the image with docker, podman or buildah.")
    save: str | None = opt.option(
        str, "Write the entry to tira.yml under this name.", metavar="ENTRY"
    )
    file: Path = opt.option(Path, "File with the submissions.", default=Path("tira.yml"))


class Trial:
    """Tries a debater and a judge on a collection, one step after the other."""

    def __init__(self, options: TrialOptions, collection: Path) -> None:
        """Prepare the trial; nothing is read or written yet."""
        self.options, self.collection, self.folder = options, collection, options.output
        specs: list[tuple[Kind, Any]] = [("debater", options.debater), ("judge", options.judge)]
        self.specs: dict[Kind, opt.PluginSpec] = {kind: spec for kind, spec in specs if spec}
        self.repository = options.file.parent
        self.index = self.folder / "index"
        self.claims = self.folder / "claims.tsv"
        self.simulations = self.folder / "simulations.jsonl"
        self.evaluations = self.folder / "evaluations.jsonl"
        self.uses_model = False
        self.entries: dict[str, Software] = {}
        self.replaced = ""
        self.warnings: list[str] = []

    def steps(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yield the name of each step and what it does; its errors say how to mend them."""
        yield "collection", self._read_collection
        for kind, spec in self.specs.items():
            yield kind, partial(self._find_plugin, kind, spec)
        yield "files", self._read_files
        yield "model", self._ask_model
        yield "index", self._build_index
        yield "play", self._play
        yield "answers", partial(self._check, self.simulations, self.claims)
        if self.options.judge is not None:
            yield "judge", self._judge
            yield "verdicts", partial(self._check, self.evaluations, self.simulations)
        yield "entry", self._describe
        if self.options.save:
            yield "saved", self._save
        if self.options.build:
            yield "image", self._build_image

    def _read_collection(self) -> str:
        kind = files.detect_kind(self.collection)
        if kind is not files.Kind.ARGUMENTS:
            raise UserError(f"{self.collection}: expected arguments, got {kind.value}")
        self.demo = is_demo(self.collection)
        count = sum(1 for _ in files.read_arguments(self.collection))
        return f"{self.collection}: {count:,} arguments"

    def _find_plugin(self, kind: Kind, spec: opt.PluginSpec) -> str:
        selected = find(kind, spec.name).configure(spec.options)
        has_model = prepare.names_model(self.options)
        missing = selected.plugin.missing(index=True, model=has_model)
        if missing:
            raise UserError(f"{kind} {spec.name} needs {'; '.join(missing)}")
        self.uses_model |= has_model and selected.uses_model
        return f"{selected.tag}: installed, and its options are valid"

    def _read_files(self) -> str:
        source = self.options.claims or demo_file("claims.tsv")
        self.played = list(islice(files.read_claims(source), self.options.first))
        options = self.options
        self.submission = load(options.file)
        model = options.model or ("environment" if self.uses_model else "")
        for kind, spec in self.specs.items():
            name = options.save or "judge-" * (kind == "judge") + spec.name
            name += "-judge" * bool(options.save and self.entries)
            plugin = find(kind, spec.name)
            sub_task: SubTask = 1 if kind == "debater" else 2
            file = plugin.file.name if plugin.file else ""
            entry = describe(sub_task, str(spec), model=model, official=options.official, file=file)
            old = self.submission.software.get(name) if options.save else None
            if old is not None and old.command == entry.command:  # its other keys stay
                entry = entry.model_copy(update=old.model_dump(exclude_defaults=True))
            if not self.demo and (sub_task == 1 or "index" in plugin.needs):
                entry = entry.with_collection(self.collection.name)
            self.entries[name] = entry
            if options.save:
                save(options.file, name, entry, write=False)
        return ""

    def _ask_model(self) -> str:
        """Ask the model once; a plugin without a model needs no answer."""
        if not self.uses_model:
            if self.options.model:
                raise UserError("neither the debater nor the judge uses a model: leave out -m")
            return ""
        name = self.options.model or ""
        if name.startswith("scripted:"):
            raise UserError(f"-m {name}: this model exists on this machine only")
        check_host(name or os.environ.get("OPENAI_BASE_URL", ""))
        with Session() as session:
            model = session.own(prepare.make_model(replace(self.options, quiet=True)))
            first: Check = session.run(anext, checks(model))
        if not first.ok:
            raise WorkError(f"{first.found}: {first.fix}")
        return first.found

    def _build_index(self) -> str:
        """Build the index, unless it is there from the last trial of this collection."""
        self.folder.mkdir(parents=True, exist_ok=True)
        mark, digest = self.folder / "collection.sha256", sha256_of(self.collection)
        if not (self.index.exists() and mark.exists() and mark.read_text("utf-8") == digest):
            mark.unlink(missing_ok=True)
            build_index(files.read_arguments(self.collection), str(self.index), replace=True)
            mark.write_text(digest, "utf-8")
        opened = open_index(str(self.index))
        note = "; this is the demo collection: not fit to upload" if self.demo else ""
        return f"{self.index}: {len(opened):,} arguments{note}"

    def _play(self) -> str:
        """Play the first claims with our user, one debate after the other."""
        claims, turns = self.played, self.options.turns
        with files.atomic_write(self.claims) as stream:
            stream.write(files.claims_text(claims))
        words = ("-d", self.options.debater or "grounded", "--turns", turns)
        seconds = self._call("simulate", self.claims, self.simulations, *words)
        pace = seconds / (len(claims) * turns)
        if pace > LIMIT:
            raise WorkError(f"{pace:.0f} s per answer: the organisers' client waits {LIMIT} s")
        text = f"{count_of(len(claims), 'debate')} of {count_of(turns, 'turn')} with our own user"
        return f"{text}: {pace:.2f} s per turn (the organisers' client waits {LIMIT} s)"

    def _judge(self) -> str:
        seconds = self._call("judge", self.simulations, self.evaluations, "-j", self.options.judge)
        turns = sum(len(one.turns) for one in files.read_evaluations(self.evaluations))
        return f"{count_of(turns, 'turn')} on four maxims: {seconds / max(1, turns):.2f} s per turn"

    def _call(self, verb: str, source: Path, out: Path, *words: object) -> float:
        """Run a command with one debate at a time, and return its seconds."""
        from touche_rad.cli import touche_rad

        for old in out.parent.glob(f"{out.name}*"):
            old.unlink()
        words = (verb, source, "-o", out, *words, "-i", self.index, "--workers", 1, "--quiet")
        line = [str(word) for word in words]
        if self.options.model and (verb == "judge" or self.options.debater is not None):
            line += ["-m", self.options.model]
        begun = time.monotonic()
        code = touche_rad.main(args=line, prog_name="touche-rad", standalone_mode=False)
        if code:
            line += [word for file in IMPORTED for word in ("--plugin", file)]
            raise WorkError(
                f"touche-rad {shlex.join(line)} ended with {code}: try touche-rad doctor"
            )
        return float(read_status(out).get("seconds") or time.monotonic() - begun)

    def _check(self, run: Path, source: Path) -> str:
        from touche_rad.score.validation import IssueTopic, check

        groups = check(run, source=source, index=open_index(str(self.index))).groups
        faults = [group for group in groups if group[0].level == "fault"]
        for group in faults:
            if group[0].topic is not IssueTopic.DEMO_INDEX:
                counts = map(EventCount.model_validate, read_status(run).get("events") or ())
                first = [f"; {events.examples[0].text}" for events in counts][:1]
                see = f"; more: touche-rad check {run} -i {self.index}"
                raise WorkError("".join([f"{len(group)} faults: {group[0].message}", *first, see]))
        warnings: list[str] = []
        for group in groups:
            if group not in faults:
                issue = group[0]
                line = issue.message if len(group) == 1 else f"{issue.kind}: {len(group)}"
                warnings.append(line)
                if issue.topic is IssueTopic.FALLBACKS:
                    self.warnings.append(f"{run}: {line}")
        return f"{run}: valid ({'; '.join(warnings)})" if warnings else f"{run}: valid"

    def _describe(self) -> str:
        """Copy the plugins' files, and name the entries."""
        for kind, spec in self.specs.items():
            self._copy_plugin(find(kind, spec.name))
        whose = ", ".join(f"{one.user} user" for one in self.entries.values() if one.user)
        return "; ".join(self.entries) + (f" (under TIRA: {whose})" * bool(whose)) + self.replaced

    def _copy_plugin(self, plugin: Plugin) -> None:
        """Copy the file of a plugin to where the image takes it from."""
        if plugin.file is None:
            # The repository of touche-rad has its folder; a project of `touche-rad new` has not.
            if plugin.source != "touche-rad" and self._is_clone():
                raise UserError(
                    f"{plugin.name} is from the package {plugin.source}, which this image does not "
                    "have: run submit in the package's folder, whose Dockerfile installs it"
                )
            return
        copy = self.repository / PLUGINS / plugin.file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not (copy.exists() and filecmp.cmp(copy, plugin.file, shallow=False)):
            for name, one in self.submission.software.items() if copy.exists() else ():
                uses = f"plugins/{copy.name}" in one.command and plugin.name not in one.command
                if uses and name.removesuffix("-judge") != self.options.save:
                    raise UserError(f"{copy} is another file, of the entry {name}: rename the file")
            self.replaced += f"; replaced {copy}" * copy.exists()
            shutil.copy(plugin.file, copy)

    def _save(self) -> str:
        for name, one in self.entries.items():
            save(self.options.file, name, one)
        names = [one + " (replaced)" * (one in self.submission.software) for one in self.entries]
        return f"{', '.join(names)} in {self.options.file}"

    def _copy(self) -> Path | None:
        """Return where the image takes the collection from; None if it is there or not needed."""
        copy = self.repository / COLLECTIONS / self.collection.name
        there = copy.is_file() and filecmp.cmp(copy, self.collection, shallow=False)
        return None if there or not any(one.collection for one in self.entries.values()) else copy

    def _is_clone(self) -> bool:
        """Whether the repository is touche-rad's, not a project of `touche-rad new`."""
        return (self.repository / "touche_rad").is_dir()

    def _build_image(self) -> str:
        """Build the image of each entry with the first engine that works; docker needs a daemon."""
        works = (one for one in ENGINES if subprocess.getstatusoutput(f"{one} info")[0] == 0)
        if (engine := next(works, None)) is None:
            raise UserError(f"none of {', '.join(ENGINES)} works here: start or install one")
        if copy := self._copy():
            shutil.copy(self.collection, copy)
        for name, one in self.entries.items():
            tag = f"touche-rad-{name.lower()}"
            words = [engine, "build", *shlex.split(one.build), "-t", tag, str(self.repository)]
            log = self.folder / "build.log"
            say(f"building {tag} with {engine}, which takes minutes; its output: {log}")
            with log.open("w") as stream:
                done = subprocess.run(words, stdout=stream, stderr=stream, check=False)
            if done.returncode:
                last = log.read_text("utf-8", "replace").strip().splitlines()[-1:]
                first = "" if self._is_clone() else f"; it needs the base image: {BASE_IMAGE}"
                raise WorkError(f"{shlex.join(words)} failed: {' '.join(last)}; see {log}{first}")
        return f"{', '.join(self.entries)} built with {engine}"

    def preparations(self) -> Iterator[str]:
        """Yield the commands to run before TIRA's client."""
        if not self._is_clone():
            yield f"# {BASE_IMAGE}"
        if copy := self._copy():
            yield shlex.join(["cp", str(self.collection), f"{copy.parent}/"])
        yield from commit_commands(self.repository)
        url, _, model = (self.options.model or "").partition("#")
        if any(one.forward for one in self.entries.values()):
            if model:
                yield f"export {shlex.join([f'OPENAI_BASE_URL={url}', f'OPENAI_MODEL={model}'])}"
            if "OPENAI_API_KEY" not in os.environ:
                self.warnings.append("OPENAI_API_KEY is not set: export it (EMPTY: no key)")
        if shutil.which("tira-cli") is None:
            yield from ("pip install tira", "tira-cli login --token TOKEN")


def commit_commands(folder: Path) -> list[str]:
    """Return the commands that commit all below a folder; one that is not in git begins there.

    Compiled files (`*.pyc`) are ignored, because TIRA's client refuses untracked files.
    """
    quiet = {"cwd": folder, "stderr": subprocess.DEVNULL}
    git = partial(subprocess.check_output, **quiet, encoding="utf-8", errors="replace")
    try:
        root = git("git rev-parse --show-toplevel".split()).rstrip("\n")
        rows = git("git status --porcelain --no-renames -z -- . :!*.pyc".split()).split("\0")[:-1]
        compiled = git("git ls-files --others --exclude-standard *.pyc".split())
    except (OSError, subprocess.CalledProcessError):
        git_there = shlex.join(["git", *["-C", str(folder)] * (folder != Path())])
        return [f"{git_there} {words}" for words in ("init", "add .", "commit -m Submission")]
    changed = [row[3:] for row in rows if row[1] != " "]  # the others are staged
    names = {os.path.relpath(Path(root, one)) + "/" * one.endswith("/") for one in changed}
    commands = []
    if compiled:
        ignore = os.path.relpath(folder / ".gitignore")
        commands.append(f"echo '*.pyc' >> {shlex.quote(ignore)}")
        names.add(ignore)
    if names:
        commands.append(shlex.join(["git", "add", *sorted(names)]))
    return commands + ["git commit -m Submission"] * bool(rows or compiled)
