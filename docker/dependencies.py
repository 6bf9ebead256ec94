"""List the dependencies of the installed touche-rad: licences, an SBOM, and pinned versions.

    python docker/dependencies.py licences|sbom [EXTRA,...]
    python docker/dependencies.py pins REPORT

Licences and SBOM describe the environment in which this runs; REPORT is a report of pip.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement  # comes with the core

ROOT = "touche-rad"
_SHORT = 60
_TEXTS = {
    "Apache-2.0": re.compile(r"Apache License\s+Version 2\.0"),
    "MIT": re.compile(r"(The )?MIT License"),
}  # beginnings of licence texts
_NAMES = {  # names in package metadata, and their SPDX identifiers
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache-2.0 license": "Apache-2.0",
    "bsd": "BSD",
    "bsd license": "BSD",
    "dual license": "Apache-2.0 OR BSD-3-Clause",
    "gnu lesser general public license v3 or later (lgplv3+)": "LGPL-3.0-or-later",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
}


def normal(name: str) -> str:
    """Return a package's name as indexes compare them."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True)
class Package:
    """An installed package."""

    name: str
    version: str
    licence: str
    needs: tuple[str, ...]
    """The installed packages that it requires."""

    @property
    def purl(self) -> str:
        """The package URL."""
        return f"pkg:pypi/{self.name}@{self.version.replace('+', '%2B')}"


def closure(extras: Iterable[str] = ()) -> list[Package]:
    """Return touche-rad and its installed dependencies by name."""
    wanted = deque([(ROOT, frozenset(extras))])
    packages: dict[str, Package] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    while wanted:
        name, of = wanted.popleft()
        if (name, of) in seen or (installed := _installed(name)) is None:
            continue
        seen.add((name, of))
        required = [each for each in _required(installed, of) if _installed(each[0])]
        wanted.extend(required)
        known = packages[name].needs if name in packages else ()
        needs = tuple(sorted({*known, *(each for each, _ in required)}))
        packages[name] = Package(name, installed.version, licence_of(installed), needs)
    root = packages.pop(ROOT)
    return [root, *(packages[name] for name in sorted(packages))]


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _required(of: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for line in of.requires or ():
        one = Requirement(line)
        if one.marker is None or any(
            one.marker.evaluate({"extra": each}) for each in ("", *extras)
        ):
            yield normal(one.name), frozenset(one.extras)


def licence_of(of: Distribution) -> str:
    """Return a package's licence: its SPDX expression, classifier or short text."""
    about = of.metadata
    expression = about.get_all("License-Expression")
    if expression:
        return str(expression[0])
    said = [
        value.rpartition("::")[2].strip()
        for value in about.get_all("Classifier") or ()
        if value.startswith("License ::") and value.count("::") > 1
    ]
    text = "".join(about.get_all("License") or ())[: _SHORT + 200].strip()
    if not said:
        said = [name for name, begins in _TEXTS.items() if begins.match(text)]
    if not said and text and "\n" not in text and len(text) <= _SHORT:
        said = [text]
    return (
        " AND ".join(dict.fromkeys(_NAMES.get(each.lower(), each) for each in said)) or "not said"
    )


def licences(packages: list[Package]) -> str:
    """Return the table of docker/licences.md: the packages of each licence, without versions."""
    by_licence: dict[str, list[str]] = {}
    for each in packages[1:]:
        by_licence.setdefault(each.licence, []).append(each.name)
    rows = [f"| {licence} | {', '.join(by_licence[licence])} |" for licence in sorted(by_licence)]
    return "\n".join(["| licence | packages |", "| --- | --- |", *rows]) + "\n"


def sbom(packages: list[Package]) -> dict[str, Any]:
    """Return a CycloneDX bill of materials; the same packages give the same bytes."""
    root, *others = packages
    known = "\n".join(each.purl for each in packages)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, known)}",
        "version": 1,
        "metadata": {"component": {**_component(root), "type": "application"}},
        "components": [_component(each) for each in others],
        "dependencies": [
            {
                "ref": each.purl,
                "dependsOn": [one.purl for one in packages if one.name in each.needs],
            }
            for each in packages
        ],
    }


def _component(package: Package) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "licenses": [{"license": {"name": package.licence}}],
    }


def pins(report: Path) -> str:
    """Return the versions that pip would install, as constraints for an image's build."""
    packages = [each["metadata"] for each in json.loads(report.read_text("utf-8"))["install"]]
    versions = sorted((normal(each["name"]), each["version"]) for each in packages)
    lines = [f"{name}=={version}" for name, version in versions if name != ROOT]
    return "\n".join(["# The packages of the images. Written by: make pins", *lines]) + "\n"


def main(what: str, *extras: str) -> str:
    """Return the requested list."""
    if what == "pins":
        return pins(Path(extras[0]))
    packages = closure(part for each in extras for part in each.split(",") if part)
    if what == "sbom":
        return json.dumps(sbom(packages), indent=2) + "\n"
    if what == "licences":
        return licences(packages)
    raise SystemExit(f"dependencies.py {what}: expected pins, licences or sbom")


if __name__ == "__main__":
    print(main(*sys.argv[1:]), end="")
