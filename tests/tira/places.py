"""What TIRA's client is given to look at: a repository, and a toy dataset."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests import ROOT
from tests.demo import CLAIMS
from tests.records import write_lines

FILE = ROOT / "tira.yml"


def repository(place: Path) -> Path:
    """A repository with what the client asks for: a commit, a branch and a remote."""
    place.mkdir()
    shutil.copy(FILE, place)
    shutil.copy(ROOT / "Dockerfile", place)
    return committed(place)


def committed(place: Path) -> Path:
    """Make a folder a repository, with all its files in the first commit."""
    import git

    repository_of_git = git.Repo.init(place, initial_branch="main")
    repository_of_git.git.add(all=True)
    who = git.Actor("a", "a@example.org")
    repository_of_git.index.commit("all", author=who, committer=who)
    repository_of_git.create_remote("origin", "https://example.org/team/repository.git")
    return place


def toy_dataset(place: Path) -> Path:
    """Sub-task 1's toy dataset: the client's configuration and a TSV of claims."""
    place.mkdir()
    head, *claims = CLAIMS.read_text().splitlines()
    write_lines(place / "parameters.tsv", [head, *claims[:2]])
    official = {"simulation": {"topic": {"description": "{{TOPIC_DESCRIPTION}}"}, "maxTurns": 2}}
    (place / "touche25-rad.json").write_text(json.dumps(official))
    return place
