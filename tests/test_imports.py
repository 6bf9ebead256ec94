"""Imports go one way: no cycles, no import of a higher layer, and plugins only by entry points."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import re
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from tests import ROOT

VOCABULARY = (
    "contest",
    "credentials",
    "criteria",
    "debate",
    "errors",
    "events",
    "frozen",
    "lists",
    "records",
    "samples",
    "text",
)
ROOT_MODULES = {*VOCABULARY, "frames", "http", "processes", "session"}
LAYERS = (
    tuple(f"touche_rad.{name}" for name in VOCABULARY),
    (
        "touche_rad.http",
        "touche_rad.processes",
        "touche_rad.files",
        "touche_rad.calls",
        "touche_rad.models",
        "touche_rad.evidence",
    ),
    ("touche_rad.plugins", "touche_rad.session"),
    ("touche_rad.training", "touche_rad.users", "touche_rad.demo", "touche_rad.pages"),
    ("touche_rad.runs",),
    ("retrieval", "touche_rad.debaters", "judges"),
    ("touche_rad.score", "touche_rad.testing", "touche_rad.pipelines"),
    ("touche_rad.contests",),
    ("touche_rad.report", "touche_rad.labelling"),
    ("touche_rad.bench", "touche_rad.frames", "touche_rad.papers"),
    ("touche_rad.tira", "touche_rad.serve", "touche_rad.cli", "touche_rad.__main__"),
)
PLUGINS = LAYERS[5]

PATHS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for top in ("touche_rad", "retrieval", "judges")
    for path in (ROOT / top).rglob("*.py")
}


@functools.cache
def nodes(name: str) -> tuple[ast.AST, ...]:
    """Return the syntax tree of a module as its nodes."""
    return tuple(ast.walk(ast.parse(PATHS[name].read_text("utf-8"))))


def imports(name: str) -> Iterator[str]:
    """Name the modules of ours that a module imports, also inside functions."""
    for node in nodes(name):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in PATHS)
        elif isinstance(node, ast.ImportFrom) and node.module in PATHS:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in PATHS else node.module


@functools.cache
def graph() -> dict[str, set[str]]:
    """Return what each module imports; not at import, where each process of the tests would do it."""
    return {name: set(imports(name)) - {name, "touche_rad"} for name in PATHS}


def layer(name: str) -> int:
    """Return the number of a module's layer."""
    return next(
        number
        for number, packages in enumerate(LAYERS)
        for package in packages
        if name == package or name.startswith(f"{package}.")
    )


def test_no_module_imports_itself_by_way_of_others() -> None:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(reversed(error.args[1]))) from None


def test_no_module_imports_a_higher_layer() -> None:
    upward = {
        f"{name} -> {other}"
        for name, others in graph().items()
        for other in others
        if name != "touche_rad" and layer(other) > layer(name)
    }
    assert upward == set()


def test_a_private_module_is_imported_by_its_package_only() -> None:
    strangers = {
        f"{name} -> {other}"
        for name, others in graph().items()
        for other in others
        for package, _, module in [other.rpartition(".")]
        if re.match(r"_[a-z]", module) and not f"{name}.".startswith(f"{package}.")
    }
    assert strangers == set()


def test_each_package_names_what_it_takes_from_its_modules() -> None:
    packages = {path: path.read_text("utf-8") for path in PATHS.values() if path.stem == "__init__"}
    assert len(packages) > 30
    silent = [
        path
        for path, text in packages.items()
        if re.search(rf"^from \S*{path.parent.name}\.\S+ import ", text, re.M)
        and "__all__" not in text
    ]
    assert silent == []


def test_each_public_name_can_be_imported() -> None:
    packages = [name for name, path in PATHS.items() if path.name == "__init__.py"]
    missing = []
    for name in packages:
        package = importlib.import_module(name)
        for public in getattr(package, "__all__", ()):
            is_module = importlib.util.find_spec(f"{name}.{public}") is not None
            if not is_module and not hasattr(package, public):
                missing.append(f"{name}.{public}")
    assert missing == []


def test_each_covered_module_exists() -> None:
    lines = (ROOT / "tests" / "covered_modules.txt").read_text("utf-8").splitlines()
    assert [line for line in lines if not list(ROOT.glob(line))] == []


def test_few_modules_are_at_the_root() -> None:
    modules = {path.stem for path in (ROOT / "touche_rad").glob("*.py")}
    packages = {"criteria"}  # it has files beside its module
    assert modules - {"__init__", "__main__"} == ROOT_MODULES - packages


def test_the_core_imports_no_plugin() -> None:
    core = [name for name in PATHS if not name.startswith(PLUGINS)]
    assert {name for name in core if any(o.startswith(PLUGINS) for o in graph()[name])} == set()


def test_only_the_command_line_and_the_demo_have_default_plugins() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    plugins = {n for kind in ("debaters", "judges", "panels") for n in groups[f"touche_rad.{kind}"]}
    plugins -= {"length", "random"}  # common values of other settings
    plugins -= {"always-yes"}  # the official baseline in a table of scores
    plugins -= {"grice"}  # also the name of the task's criteria
    free = (*PLUGINS, "touche_rad.cli", "touche_rad.demo")
    naming = {
        name
        for name in PATHS
        if not name.startswith(free)
        for node in nodes(name)
        if isinstance(node, ast.Constant) and node.value in plugins
    }
    assert naming == set()


def test_programs_are_started_in_one_place() -> None:
    """Elsewhere, only the errors and streams of `subprocess` are used; the server copies itself."""
    starting = re.compile(
        r"subprocess\.(run|call|check|getoutput|getstatus|Popen\()"
        r"|os\.(system|popen|exec|spawn|posix_spawn|fork)"
        r"|create_subprocess|pty\.spawn|import multiprocessing|ProcessPoolExecutor"
    )
    places = {
        name for name, path in PATHS.items() if starting.search(path.read_text(encoding="utf-8"))
    }
    assert places == {"touche_rad.processes", "touche_rad.serve.restarts"}
