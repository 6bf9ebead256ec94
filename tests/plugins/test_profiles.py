"""Profiles: named sets of settings in TOML files, bundled with a plugin or a user's own."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from tests.cases import with_cases
from tests.profiles import with_settings
from tests.refusals import expect_error
from touche_rad.errors import OptionError
from touche_rad.plugins import KINDS, Options, Plugin, Services, Setting, registered
from touche_rad.plugins.profiles import is_setting
from touche_rad.plugins.registry import parse_plugin


class WithProfiles:
    """Have options, settings and profiles."""

    class Options(Options):
        profile: str = "lean"
        words: int = Field(60, ge=5, description="words")
        rounds: Setting[int] = Field(3, ge=1, description="rounds")
        wording: Setting[str] = Field("close", description="wording")
        share: Setting[float] = Field(0.5, le=1, description="share")
        repeat: Setting[bool] = Field(False, description="repeat")

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options


PLUGIN = Plugin("debater", "mine", "a test", lambda: WithProfiles)


@pytest.fixture(autouse=True)
def _bundled(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Bundle two profiles with the plugin, beside its module."""
    folder = Path("bundled/profiles")
    folder.mkdir(parents=True)
    (folder / "lean.toml").write_text('description = "Fewer calls."\n')
    (folder / "paper.toml").write_text(
        'description = "As published."\n[settings]\nrounds = 9\nrepeat = true\nwords = 80\n'
    )
    (folder / "paper-short.toml").write_text(
        'description = "One round."\nextends = "paper"\n[settings]\nrounds = 1\n'
    )
    monkeypatch.setattr(sys.modules[__name__], "__file__", str(folder.parent / "mine.py"))
    return folder


def _configured_values(texts: dict[str, str]) -> dict[str, Any]:
    return PLUGIN.configure(texts).options.model_dump()


DEFAULTS = {
    "profile": "lean",
    "words": 60,
    "rounds": 3,
    "wording": "close",
    "share": 0.5,
    "repeat": False,
}


def test_the_default_profile_is_the_defaults() -> None:
    assert _configured_values({}) == DEFAULTS


def test_a_profile_replaces_defaults_and_an_option_replaces_the_profile() -> None:
    paper = DEFAULTS | {"profile": "paper", "rounds": 9, "repeat": True, "words": 80}
    assert _configured_values({"profile": "paper"}) == paper
    assert _configured_values({"profile": "paper", "words": "70"}) == paper | {"words": 70}
    assert _configured_values({"profile": "paper-short"}) == paper | {
        "profile": "paper-short",
        "rounds": 1,
    }


def test_a_user_file_may_extend_a_bundled_profile_or_another_file() -> None:
    first = Path("first.toml")
    first.write_text('description = "x"\nextends = "paper"\n[settings]\nwording = "free"\n')
    second = Path("second.toml")
    second.write_text('description = "x"\nextends = "first.toml"\n[settings]\nshare = 1\n')
    values = _configured_values({"profile": str(second)})
    assert values["rounds"] == 9
    assert values["wording"] == "free"
    assert values["share"] == 1.0


def test_python_may_set_everything() -> None:
    options = WithProfiles.Options(profile="paper", rounds=2, wording="free")
    assert options.rounds == 2
    assert options.wording == "free"
    assert options.repeat


def test_the_command_line_sets_no_setting() -> None:
    with expect_error(r"'rounds'.*profile=FILE.toml.*list mine", OptionError):
        PLUGIN.configure({"rounds": "2"})
    with expect_error(r"'word'.*'words'", OptionError):
        PLUGIN.configure({"word": "2"})


def test_an_unknown_profile_is_answered_with_the_known_ones() -> None:
    with expect_error(r"debater mine: .*'papr'.*lean, paper, ", OptionError):
        PLUGIN.configure({"profile": "papr"})
    with expect_error(r"gone\.toml", OptionError):
        PLUGIN.configure({"profile": "gone.toml"})


@with_cases(("content", "problem"), "plugins/wrong_profiles.json")
def test_an_error_names_the_file_and_the_key(content: str, problem: str) -> None:
    path = Path("my.toml")
    path.write_text(content)
    with expect_error(re.escape(f"{path}: {problem}"), OptionError) as error:
        PLUGIN.configure({"profile": str(path)})
    assert "\n" not in str(error.value)


def test_the_identity_differs_with_the_effective_settings() -> None:
    def identity(**texts: str) -> str:
        return PLUGIN.configure(texts).tag

    assert identity() == "mine"
    assert identity(profile="paper") == "mine(profile=paper)"
    assert identity(profile="paper", words="80") == "mine(profile=paper)"
    assert identity(profile="paper", words="60") == "mine(profile=paper,words=60)"
    assert identity(**with_settings(rounds=5)) == "mine(rounds=5)"
    assert identity(**with_settings(rounds=3)) == "mine"


def test_profiles_are_listed_with_the_value_of_every_setting() -> None:
    profiles = {profile.name: profile for profile in PLUGIN.profiles()}
    assert list(profiles) == ["lean", "paper", "paper-short"]
    assert profiles["paper-short"].description == "One round."
    settings = {"rounds": 3, "wording": "close", "share": 0.5, "repeat": False}
    assert profiles["lean"].settings == settings
    assert profiles["paper-short"].settings == settings | {"rounds": 1, "repeat": True, "words": 80}


@with_cases(("text", "parsed"), "plugins/plugins_with_options.json")
def test_a_plugin_with_options_is_parsed(text: str, parsed: tuple[str, dict[str, str]]) -> None:
    assert parse_plugin(text) == tuple(parsed)


ALL = [plugin for kind in KINDS for plugin in registered(kind).values()]


@pytest.mark.parametrize("plugin", ALL, ids=lambda plugin: f"{plugin.kind}-{plugin.name}")
def test_a_plugin_of_ours_has_at_most_eight_options_and_valid_profiles(plugin: Plugin) -> None:
    fields = plugin.options.model_fields
    options = [key for key, field in fields.items() if not is_setting(field)]
    assert len(set(options) - {"prompts"}) <= 8, options
    profiles = plugin.profiles()
    assert profiles or len(options) == len(fields), "settings without a profile cannot be set"
    for profile in profiles:
        assert profile.description
        parsed = plugin.configure({"profile": profile.name}).options.model_dump()
        assert {key: parsed[key] for key in profile.settings} == dict(profile.settings)
        assert plugin.configure().options == plugin.options()
