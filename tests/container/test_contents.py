"""What is in the image beyond its base: no file that gives more rights, no secret, no registry."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.container.building import Image, buildah, indexes, mounted

pytestmark = pytest.mark.images

SECRETS = {
    "a private key": rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\\?\s+[A-Za-z0-9+/=]{20}",
    "a GitHub token": rb"gh[pousr]_(?<=\b....)[A-Za-z0-9]{36}\b|github_pat_(?<=\b.{11})\w{50,}\b",
    "a Hugging Face token": rb"hf_(?<=\b...)[A-Za-z]{34}\b",
    "a key of a model's API": rb"sk-(?<=\b...)(?:[a-z]+-)?[A-Za-z0-9_-]{32,}\b",
    "a key of a package index": rb"pypi-AgE(?<=\b.{8})[\w-]{50,}",
    "an AWS key": rb"AKIA(?<=\b....)[0-9A-Z]{16}\b",
}
"""Each begins with letters, which `re` finds fast; `(?<=...)` says that a word begins with them."""
PASSWORD_IN_AN_ADDRESS = rb"https?://[^\s/:@\"'<>{}]+:[^\s/@\"'<>{}]+@[\w.-]+"
PRIVATE_NAMES = re.compile(
    r"^(\.env(\..*)?|\.netrc|\.pypirc|pip\.conf|\.git|\.git-credentials|\.ssh|id_(rsa|ed25519|ecdsa)"
    r"|\.docker|\.aws|\.huggingface|\.tira|.*\.(key|p12|pfx))$"
)


def found_in(data: bytes) -> list[str]:
    return [what for what, pattern in SECRETS.items() if re.search(pattern, data)]


def entries(root: Path) -> Iterator[Path]:
    """Everything in a file tree, by its place in it; links are not followed."""
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            yield (Path(folder) / name).relative_to(root)


@pytest.fixture(scope="module")
def added(image: Image) -> Iterator[tuple[Path, list[Path]]]:
    """The image's tree, and what its base does not have, or has otherwise."""
    with mounted(image.base) as base, mounted(image.name) as root:
        yield root, [place for place in entries(root) if not _same(base / place, root / place)]


def _same(first: Path, second: Path) -> bool:
    try:
        before, after = first.lstat(), second.lstat()
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(after.st_mode):
        return True
    return (before.st_size, before.st_mtime) == (after.st_size, after.st_mtime)


def _is_empty(place: Path) -> bool:
    """What was lent to the build leaves the place where it was mounted, and nothing in it."""
    return not any(place.iterdir()) if place.is_dir() else place.stat().st_size == 0


def test_no_secret_is_in_any_file_of_it(added: tuple[Path, list[Path]]) -> None:
    root, places = added
    files = [
        place for place in places if (root / place).is_file() and not (root / place).is_symlink()
    ]
    assert len(files) > 1000
    named = [place for place in places if PRIVATE_NAMES.match(place.name)]
    assert [str(place) for place in named if not _is_empty(root / place)] == []
    assert [
        (str(place), what) for place in files for what in found_in((root / place).read_bytes())
    ] == []


def _is_ours(place: Path) -> bool:
    text = str(place)
    parts = ("touche_rad", "retrieval", "judges")
    return text.startswith(("app/", "opt/index/", "opt/touche-rad/bin/")) or any(
        f"site-packages/{part}" in text for part in parts
    )


def test_none_of_ours_names_a_registry_or_an_address_with_a_password(
    added: tuple[Path, list[Path]],
) -> None:
    root, places = added
    ours = [place for place in places if _is_ours(place) and (root / place).is_file()]
    assert len(ours) > 100
    for place in ours:
        data = (root / place).read_bytes()
        assert not re.search(PASSWORD_IN_AN_ADDRESS, data), place
        assert [host for host in indexes() if host.encode() in data] == [], place


def test_nothing_of_the_machine_that_built_it_is_left(
    image: Image, added: tuple[Path, list[Path]]
) -> None:
    _, places = added
    tops = {place.parts[0] for place in places}
    assert tops <= {"opt", "app", "etc", "tmp", "run", "dev", "proc", "sys", "usr", "var"}, tops
    assert "src" not in tops
    assert not [place for place in places if place.is_relative_to("root")]
    description = buildah("inspect", "--type", "image", image.name)
    assert [
        word for word in ("PIP_CERT", "PIP_INDEX", "find-links", *indexes()) if word in description
    ] == []
