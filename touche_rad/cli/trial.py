"""The trial of a debater or a judge before it is submitted: its steps, and what to run next."""

from __future__ import annotations

import filecmp
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from touche_rad import files, processes
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import say
from touche_rad.demo import demo_file, is_demo
from touche_rad.errors import UserError, WorkError
from touche_rad.events import EventCount
from touche_rad.files.outputs import read_status, sha256_of
from touche_rad.files.records import copy_file, refuse_links, write_text
from touche_rad.models.checks import Check, checks
from touche_rad.plugins import Kind, Plugin, build_index, find, open_index
from touche_rad.plugins.registry import IMPORTED
from touche_rad.processes import git
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
        """Prepare the trial; nothing is written yet."""
        self.options = options
        self.collection = collection
        self.specs: dict[Kind, opt.PluginSpec] = {}
        if options.debater:
            self.specs["debater"] = options.debater
        if options.judge:
            self.specs["judge"] = options.judge
        self.plugins: dict[Kind, Plugin] = {}
        self.uses_model = False
        self.entries: dict[str, Software] = {}
        self.warnings: list[str] = []
        self.repository = options.file.parent
        # The repository of touche-rad has this folder; a project of `touche-rad new` has not.
        self.is_clone = (self.repository / "touche_rad").is_dir()
        self.index = options.output / "index"
        self.claims = options.output / "claims.tsv"
        self.simulations = options.output / "simulations.jsonl"
        self.evaluations = options.output / "evaluations.jsonl"

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
        if self.options.judge:
            yield "judge", self._judge
            yield "verdicts", partial(self._check, self.evaluations, self.simulations)
        yield "entry", self._copy_plugins
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
        self.plugins[kind] = selected.plugin
        if has_model and selected.plugin.uses_model:
            self.uses_model = True
        return f"{selected.tag}: installed, and its options are valid"

    def _read_files(self) -> str:
        """Read claims and tira.yml, and make the new entries, before what takes long."""
        options = self.options
        claims = files.read_claims(options.claims or demo_file("claims.tsv"))
        self.played = list(islice(claims, options.first))
        self.submission = load(options.file)
        model = options.model or ("environment" if self.uses_model else "")
        for kind, plugin in self.plugins.items():
            sub_task: SubTask = 1 if kind == "debater" else 2
            spec = self.specs[kind]
            file = plugin.file.name if plugin.file else ""
            entry = describe(sub_task, str(spec), model=model, official=options.official, file=file)
            if not options.save:
                name = spec.name if sub_task == 1 else f"judge-{spec.name}"
            else:
                name = f"{options.save}-judge" if self.entries else options.save
                old = self.submission.software.get(name)
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
        name = self.options.model or ""
        if not self.uses_model:
            if name:
                raise UserError("neither the debater nor the judge uses a model: leave out -m")
            return ""
        if name.startswith("scripted:"):
            raise UserError(f"-m {name}: this model exists on this machine only")
        check_host(name or os.environ.get("OPENAI_BASE_URL", ""))
        with Session() as session:
            model = session.close_later(prepare.make_model(replace(self.options, quiet=True)))
            first: Check = session.run(anext, checks(model))
        if not first.ok:
            raise WorkError(f"{first.found}: {first.fix}")
        return first.found

    def _build_index(self) -> str:
        """Build the index, unless it is there from the last trial of this collection."""
        folder = self.options.output
        folder.mkdir(parents=True, exist_ok=True)
        refuse_links(folder)
        mark = folder / "collection.sha256"
        digest = sha256_of(self.collection)
        if not (self.index.exists() and mark.exists() and mark.read_text("utf-8") == digest):
            mark.unlink(missing_ok=True)
            build_index(files.read_arguments(self.collection), str(self.index), replace=True)
            write_text(mark, digest)
        text = f"{self.index}: {len(open_index(str(self.index))):,} arguments"
        if self.demo:
            text += "; this is the demo collection: not fit to upload"
        return text

    def _play(self) -> str:
        """Play the first claims with our user, one debate after the other."""
        write_text(self.claims, files.claims_text(self.played))
        turns = self.options.turns
        debater = self.options.debater or "grounded"
        seconds = self._call(
            "simulate", self.claims, self.simulations, "-d", debater, "--turns", turns
        )
        pace = seconds / (len(self.played) * turns)
        if pace > LIMIT:
            raise WorkError(f"{pace:.0f} s per answer: the organisers' client waits {LIMIT} s")
        debates = count_of(len(self.played), "debate")
        return (
            f"{debates} of {count_of(turns, 'turn')} with our own user: "
            f"{pace:.2f} s per turn (the organisers' client waits {LIMIT} s)"
        )

    def _judge(self) -> str:
        seconds = self._call("judge", self.simulations, self.evaluations, "-j", self.options.judge)
        evaluations = files.read_evaluations(self.evaluations)
        turns = sum(len(evaluation.turns) for evaluation in evaluations)
        return f"{count_of(turns, 'turn')} on four maxims: {seconds / max(1, turns):.2f} s per turn"

    def _call(self, verb: str, source: Path, out: Path, *arguments: object) -> float:
        """Run a command with one debate at a time, and return its seconds."""
        from touche_rad.cli import touche_rad

        for old in out.parent.glob(f"{out.name}*"):
            old.unlink()
        words = [verb, source, "-o", out, *arguments, "-i", self.index, "--workers", 1, "--quiet"]
        if self.options.model and (verb == "judge" or self.options.debater):
            words += ["-m", self.options.model]
        line = [str(word) for word in words]
        begin = time.monotonic()
        code = touche_rad.main(args=line, prog_name="touche-rad", standalone_mode=False)
        if code:
            for file in IMPORTED:
                line += ["--plugin", file]
            raise WorkError(
                f"touche-rad {shlex.join(line)} ended with {code}: try touche-rad doctor"
            )
        return float(read_status(out).get("seconds") or time.monotonic() - begin)

    def _check(self, run: Path, source: Path) -> str:
        from touche_rad.score.validation import IssueTopic, check

        warnings = []
        for group in check(run, source=source, index=open_index(str(self.index))).groups:
            issue = group[0]
            if issue.level == "warning":
                warning = issue.message if len(group) == 1 else f"{issue.kind}: {len(group)}"
                warnings.append(warning)
                if issue.topic is IssueTopic.FALLBACKS:
                    self.warnings.append(f"{run}: {warning}")
            elif issue.topic is not IssueTopic.DEMO_INDEX:  # the trial says this in its own words
                text = f"{len(group)} faults: {issue.message}"
                events = read_status(run).get("events")
                if events:
                    text += f"; {EventCount.model_validate(events[0]).examples[0].text}"
                raise WorkError(f"{text}; more: touche-rad check {run} -i {self.index}")
        return f"{run}: valid ({'; '.join(warnings)})" if warnings else f"{run}: valid"

    def _copy_plugins(self) -> str:
        """Copy the plugins' files to where the image takes them from, and name the entries."""
        replaced = ""
        for plugin in self.plugins.values():
            if plugin.file is None:
                # The image of a project of `touche-rad new` has its package, that of a clone not.
                if plugin.source != "touche-rad" and self.is_clone:
                    raise UserError(
                        f"{plugin.name} is from the package {plugin.source}, which this image does "
                        "not have: run submit in the package's folder, whose Dockerfile installs it"
                    )
                continue
            copy = self.repository / PLUGINS / plugin.file.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            refuse_links(copy.parent)
            if copy.exists():
                if filecmp.cmp(copy, plugin.file, shallow=False):
                    continue
                for name, software in self.submission.software.items():
                    command = software.command
                    uses = f"plugins/{copy.name}" in command and plugin.name not in command
                    if uses and name.removesuffix("-judge") != self.options.save:
                        raise UserError(
                            f"{copy} is another file, of the entry {name}: rename the file"
                        )
                replaced += f"; replaced {copy}"
            copy_file(plugin.file, copy)
        text = "; ".join(self.entries)
        users = [f"{software.user} user" for software in self.entries.values() if software.user]
        if users:
            text += f" (under TIRA: {', '.join(users)})"
        return text + replaced

    def _save(self) -> str:
        names = []
        for name, software in self.entries.items():
            save(self.options.file, name, software)
            names.append(f"{name} (replaced)" if name in self.submission.software else name)
        return f"{', '.join(names)} in {self.options.file}"

    def _copy_of_collection(self) -> Path | None:
        """Return where the image takes the collection from; None if it is there or not needed."""
        copy = self.repository / COLLECTIONS / self.collection.name
        if copy.is_file() and filecmp.cmp(copy, self.collection, shallow=False):
            return None
        return copy if any(software.collection for software in self.entries.values()) else None

    def _build_image(self) -> str:
        """Build the image of each entry with the first engine that works; docker needs a daemon."""
        for engine in ENGINES:
            with suppress(OSError, subprocess.CalledProcessError):
                processes.output_of([engine, "info"])
                break
        else:
            raise UserError(f"none of {', '.join(ENGINES)} works here: start or install one")
        copy = self._copy_of_collection()
        if copy:
            refuse_links(copy.parent)
            copy_file(self.collection, copy)
        log = self.options.output / "build.log"
        log.unlink(missing_ok=True)  # it may be a link
        for name, software in self.entries.items():
            tag = f"touche-rad-{name.lower()}"
            build = shlex.split(software.build)
            words = [engine, "build", *build, "-t", tag, str(self.repository)]
            say(f"building {tag} with {engine}, which takes minutes; its output: {log}")
            with (
                log.open("w") as stream,
                processes.start(words, stdout=stream, stderr=stream) as build_process,
            ):
                failed = build_process.wait() != 0
            if failed:
                lines = log.read_text("utf-8", "replace").strip().splitlines()
                text = f"{shlex.join(words)} failed: {' '.join(lines[-1:])}; see {log}"
                if not self.is_clone:
                    text += f"; it needs the base image: {BASE_IMAGE}"
                raise WorkError(text)
        return f"{', '.join(self.entries)} built with {engine}"

    def preparations(self) -> Iterator[str]:
        """Yield the commands to run before TIRA's client."""
        if not self.is_clone:
            yield f"# {BASE_IMAGE}"
        copy = self._copy_of_collection()
        if copy:
            yield shlex.join(["cp", str(self.collection), f"{copy.parent}/"])
        yield from commit_commands(self.repository)
        if any(software.forward for software in self.entries.values()):
            url, _, model = (self.options.model or "").partition("#")
            if model:
                yield shlex.join(["export", f"OPENAI_BASE_URL={url}", f"OPENAI_MODEL={model}"])
            if "OPENAI_API_KEY" not in os.environ:
                self.warnings.append("OPENAI_API_KEY is not set: export it (EMPTY: no key)")
        if shutil.which("tira-cli") is None:
            yield from ("pip install tira", "tira-cli login --token TOKEN")


def commit_commands(folder: Path) -> list[str]:
    """Return the commands that commit all below a folder; one that is not in git begins there.

    Compiled files (`*.pyc`) are ignored, because TIRA's client refuses untracked files.
    """
    try:
        root = git(["rev-parse", "--show-toplevel"], folder).rstrip("\n")
        query = "status --porcelain --no-renames --ignore-submodules=dirty -z -- . :!*.pyc"
        status = git(query.split(), folder)
        compiled = git("ls-files --others --exclude-standard *.pyc".split(), folder)
    except (OSError, subprocess.CalledProcessError):
        program = "git" if folder == Path() else shlex.join(["git", "-C", str(folder)])
        return [f"{program} {words}" for words in ("init", "add .", "commit -m Submission")]
    commands = []
    names = set()
    if compiled:
        ignore = os.path.relpath(folder / ".gitignore")
        commands.append(f"echo '*.pyc' >> {shlex.quote(ignore)}")
        names.add(ignore)
    for row in status.split("\0")[:-1]:
        if row[1] != " ":  # the others are staged
            name = os.path.relpath(Path(root, row[3:]))
            names.add(f"{name}/" if row.endswith("/") else name)
    if names:
        commands.append(shlex.join(["git", "add", *sorted(names)]))
    if status or compiled:
        commands.append("git commit -m Submission")
    return commands
