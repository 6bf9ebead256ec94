"""The prompts of every profile are those of its golden file in `tests/prompts`.

After a deliberate change of a prompt, write the files anew and read their diff:

    WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/test_golden_prompts.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.screens import check_golden
from tests.terminal import touche_rad
from touche_rad.criteria import shipped_names
from touche_rad.plugins import registered

FOLDER = Path(__file__).parent / "prompts"


def profiles() -> Iterator[Any]:
    """Yield each plugin that calls a model, with each of its profiles; a solver is an extra."""
    for kind in ("debater", "judge", "panel"):
        for name, plugin in registered(kind).items():
            if plugin.uses_model and plugin.source == "touche-rad":
                for profile in [profile.name for profile in plugin.profiles()] or [""]:
                    marks = [pytest.mark.services] if profile.endswith("solver") else []
                    yield pytest.param(name, profile, marks=marks)


@pytest.mark.parametrize(("name", "profile"), profiles())
def test_the_prompts_of_a_profile_are_its_golden_file(name: str, profile: str) -> None:
    options = ("-O", f"profile={profile}") if profile else ()
    ended = touche_rad("prompts -i demo", name, *options, code=None)
    if ended.code and "no option" in ended.err:
        ended = touche_rad("prompts", name, *options)
    assert ended.code == 0, ended.err
    variant = f"{name}.{profile}" if profile else name
    check_golden(FOLDER / f"{variant}.txt", ended.out)


@pytest.mark.parametrize("criteria", [name for name in shipped_names() if name != "grice"])
def test_the_prompts_of_shipped_criteria_are_their_golden_files(criteria: str) -> None:
    ended = touche_rad("prompts zsl --criteria", criteria)
    check_golden(FOLDER / f"zsl.{criteria}.txt", ended.out)
