"""TIRA's client as it is, with a fallback for the platform and for the Docker engine.

Run as a process of its own (`python -m tests.tira.client code-submission ...`): the client changes
its environment. What stands in: the platform's list of datasets, `docker build` (its words are
written down) and `docker run` of software and evaluators (the command runs here, or in an image
that buildah has). Reading the command line and a dataset's README, the order of the steps, what is
forwarded and mounted, the format checks and the repetition from the cache are the client's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import ROOT

if TYPE_CHECKING:
    from tests.container.building import Image

INPUT, LOG, IMAGE, FORMATS = "STANDIN_INPUT", "STANDIN_LOG", "STANDIN_IMAGE", "STANDIN_FORMATS"


@dataclass(frozen=True)
class ClientRun:
    """What the client did with an image and a command."""

    code: int
    text: str
    builds: list[list[str]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)

    def output(self, run: int = -1) -> Path:
        return Path(self.runs[run]["output_dir"])


def call_client(
    words: list[str],
    dataset_folder: Path,
    log: Path,
    env: Mapping[str, str] | None = None,
    *,
    formats: tuple[str, ...] = ("GenIR-Simulation",),
    image: str = "",
) -> ClientRun:
    """Call the client with `tira-cli WORDS...`; its software reads the dataset in `given`."""
    assert words[0] == "tira-cli"
    environment = {
        **os.environ,
        **(env or {}),
        INPUT: str(dataset_folder),
        LOG: str(log),
        IMAGE: image,
        FORMATS: json.dumps(formats),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TMPDIR": str(log.parent),
    }
    process = subprocess.run(
        [sys.executable, "-m", "tests.tira.client", *words[1:]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=ROOT,
    )
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    builds = [row["build"] for row in rows if "build" in row]
    runs = [row["run"] for row in rows if "run" in row]
    evaluations = [row["evaluated"] for row in rows if "evaluated" in row]
    return ClientRun(process.returncode, process.stdout + process.stderr, builds, runs, evaluations)


def _write_down(row: Mapping[str, Any]) -> None:
    with Path(os.environ[LOG]).open("a") as out:
        out.write(json.dumps(row, default=str) + "\n")


def _fallback() -> None:
    from tira.io_utils import environment_variables_to_forward
    from tira.local_execution_integration import LocalExecutionIntegration
    from tira.rest_api_client import Client

    def get_dataset(self: Any, dataset: str) -> dict[str, Any]:
        return {"mirrors": {"inputs": {}}, "format": json.loads(os.environ[FORMATS])}

    def download_dataset(self: Any, task: str, dataset: str, *args: Any, **options: Any) -> Path:
        return Path(os.environ[INPUT])

    def build(
        self: Any,
        path: Any,
        tag: str,
        dockerfile: Any,
        build_args: str | None = None,
        platform: str = "linux/amd64",
    ) -> None:
        _write_down({"build": (build_args or "").split()})

    def run(self: Any, **settings: Any) -> None:
        forward: Any = environment_variables_to_forward
        forwarded = forward(settings.get("forward_environment_variables"))
        mounted = {
            name: str(place["path"] if isinstance(place, dict) else place)
            for name, place in (settings.get("mount_directory") or {}).items()
        }
        taken = ("command", "output_dir", "allow_network", "additional_volumes")
        options = {name: settings.get(name) for name in taken}
        _write_down({"run": {**options, "environment": forwarded, "mounted": mounted}})
        _Run(
            settings["command"],
            Path(settings["input_dir"]),
            Path(settings["output_dir"]),
            mounted,
            forwarded,
        ).start()

    def evaluate(self: Any, out: Path, outputs: Path, allow_network: bool, **settings: Any) -> None:
        evaluator = settings["evaluate"]
        image = evaluator["evaluator_git_runner_image"]
        command = evaluator["evaluator_git_runner_command"]
        truths = Path(evaluator["truth_directory"])
        _write_down({"evaluated": {"image": image, "command": command, "out": out}})
        _Run(command, truths, out, {}, {}, outputs).start()

    client: Any = Client
    client.get_dataset, client.download_dataset = get_dataset, download_dataset
    docker: Any = LocalExecutionIntegration
    docker.build_docker_image, docker.run, docker.evaluate = build, run, evaluate
    docker.docker_is_installed_failsave = lambda self: True
    docker.ensure_image_available_locally = lambda self, image, client=None: None


@dataclass(frozen=True)
class _Run:
    """`docker run`, as the client words it; it drops the exit code, and so do we."""

    command: str
    dataset_folder: Path
    out: Path
    mounted: Mapping[str, str]
    forwarded: Mapping[str, str]
    evaluated: Path | None = None
    """Of an evaluator: the folder of the evaluated run."""

    def _shell(self, input_folder: str, out: str, evaluated: str = "") -> list[str]:
        command = self.command.replace("$inputDataset", input_folder).replace("$outputDir", out)
        return ["sh", "-c", f"sleep .1; {command.replace('$inputRun', evaluated)}"]

    def start(self) -> None:
        name = os.environ[IMAGE]
        if name:
            self.in_image(name)
        else:
            self.here()

    def here(self) -> None:
        ours = {
            name: os.environ[name]
            for name in ("PATH", "HOME", "XDG_CACHE_HOME")
            if name in os.environ
        }
        places = {"inputDataset": str(self.dataset_folder), "outputDir": str(self.out)}
        environment = {**ours, **places, **self.mounted, **self.forwarded}
        words = self._shell(str(self.dataset_folder), str(self.out), str(self.evaluated))
        subprocess.run(words, env=environment, check=False)

    def in_image(self, name: str) -> None:
        """In the image, within the tracker that the client mounts and puts around the command."""
        from tira.tirex_tracker import tirex_tracker_mounts_or_none

        from tests.container.building import Image

        if self.evaluated is not None:
            self._evaluate_in(Image(name, ""))
            return
        input_folder, out = "/tira-data/input", "/tira-data/output"
        mounted: Any = tirex_tracker_mounts_or_none
        ((tracker, settings),) = mounted().items()
        mounts = {
            Path(tracker): f"{settings['bind']}:ro",
            self.dataset_folder: f"{input_folder}:ro",
            self.out: out,
        }
        environment = {"inputDataset": input_folder, "outputDir": out, **self.forwarded}
        for number, (variable, place) in enumerate(self.mounted.items()):
            mounts[Path(place)] = environment[variable] = f"/tira-data/mounted/{number}"
        words = self._shell(input_folder, out)[-1]
        tracked = [
            settings["bind"],
            "-o",
            f"{out}/.tracking-results.yml",
            "-f",
            "irmetadata",
            words,
        ]
        ran = Image(name, "").run(*tracked, mounts=mounts, env=environment)
        print(ran.out, ran.err)

    def _evaluate_in(self, image: Image) -> None:
        input_folder, run, out = (
            "/tira-data/input_truth",
            "/tira-data/input-run",
            "/tira-data/eval_output",
        )
        assert self.evaluated is not None
        mounts = {
            self.dataset_folder: f"{input_folder}:ro",
            self.evaluated: f"{run}:ro",
            self.out: out,
        }
        ran = image.run(*self._shell(input_folder, out, run), mounts=mounts)
        print(ran.out, ran.err)


if __name__ == "__main__":
    from tira import tira_cli

    _fallback()
    sys.argv[0] = "tira-cli"
    sys.exit(tira_cli.main())
