"""What the core stands on is told truly: the licences listed for images, and the bill of materials."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import requires, version
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests import ROOT

SCRIPT = ROOT / "docker" / "dependencies.py"


def run_script(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    bill: dict[str, Any] = json.loads(run_script("sbom"))
    return bill


def direct(extra: str = "") -> set[str]:
    """What pyproject.toml asks for, as it was installed."""
    requirements = [Requirement(line) for line in requires("touche-rad") or ()]
    return {
        re.sub(r"[-_.]+", "-", requirement.name).lower()
        for requirement in requirements
        if requirement.marker is None or (extra and requirement.marker.evaluate({"extra": extra}))
    }


def rows() -> tuple[str, dict[str, set[str]]]:
    """The text above the table of licences, and the packages of each licence."""
    above, _, table = (
        (ROOT / "docker" / "licences.md").read_text().partition("| licence | packages |")
    )
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", table, re.MULTILINE)[1:]
    return above, {licence: set(packages.split(", ")) for licence, packages in rows}


def test_the_docs_state_a_licence_for_each_requirement() -> None:
    _, packages = rows()
    assert direct() <= set().union(*packages.values())
    assert "not said" not in packages


def test_unusual_licences_are_named_above_the_table() -> None:
    above, packages = rows()
    unusual = [licence for licence in packages if re.search(r"GPL|MPL|Proprietary", licence)]
    odd = sorted(set().union(*(packages[licence] for licence in unusual)))
    assert len(odd) > 3
    assert [name for name in odd if f"`{name}`" not in above] == []


def test_the_bill_has_every_package_with_its_version_and_licence(bill: dict[str, Any]) -> None:
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["specVersion"] == "1.5"
    names = {component["name"] for component in bill["components"]}
    assert direct() <= names
    for component in bill["components"]:
        installed = version(component["name"])
        assert component["version"] == installed
        assert component["purl"].startswith(f"pkg:pypi/{component['name']}@")
        assert component["licenses"][0]["license"]["name"]
    main = bill["metadata"]["component"]
    assert main["name"] == "touche-rad"
    assert main["version"] == version("touche-rad")
    assert run_script("sbom") == json.dumps(bill, indent=2) + "\n"


def test_the_images_pin_a_version_of_each_requirement_that_it_accepts() -> None:
    lines = (ROOT / "docker" / "constraints.txt").read_text().splitlines()[1:]
    pinned = dict(line.split("==") for line in lines)
    for line in requires("touche-rad") or ():
        requirement = Requirement(line)
        if requirement.marker is None:
            name = re.sub(r"[-_.]+", "-", requirement.name).lower()
            assert requirement.specifier.contains(pinned[name]), "make pins"
