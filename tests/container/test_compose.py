"""The bench's compose file as a reader sees it, and what it sets as the package reads it.

There is no Docker engine here: that the services start together is not shown.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.core import ParameterSource

from tests import ROOT
from tests.cli.test_examples import parse_call
from touche_rad.models.endpoint import parse_address

GIVEN = {"MODEL": "owner/name"}
_VARIABLE = re.compile(r"\$\{(\w+)(?:(:-|:\?)([^}]*))?\}")


def _filled(value: Any) -> Any:
    """What Compose makes of `${NAME}`, `${NAME:-default}` and `${NAME:?needed}`."""
    if isinstance(value, dict):
        return {key: _filled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner) for inner in value]

    def fill(match: re.Match[str]) -> str:
        name, how, word = match.groups()
        if name not in GIVEN and how != ":-":
            raise AssertionError(f"{name} must be given")
        return GIVEN.get(name, word)

    return _VARIABLE.sub(fill, value) if isinstance(value, str) else value


def _read(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = _filled(yaml.safe_load(path.read_text("utf-8")))
    for name, service in read["services"].items():
        if "extends" in service:
            extended = _read(path.parent / service["extends"]["file"])["services"]
            service_keys = {key: value for key, value in service.items() if key != "extends"}
            read["services"][name] = {**extended[service["extends"]["service"]], **service_keys}
    return read


BENCH = _read(ROOT / "compose.yaml")
SERVICES: dict[str, dict[str, Any]] = BENCH["services"]


def test_compose_starts_a_model_elasticsearch_and_the_server() -> None:
    assert set(SERVICES) == {"vllm", "elasticsearch", "load", "touche-rad"}
    (device,) = SERVICES["vllm"]["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]
    named = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
    }
    assert {name for name in named if re.fullmatch(r"\w+", name)} == set(BENCH["volumes"])


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_pinned_no_registry_is_named_and_ports_are_local(name: str) -> None:
    repository, _, tag = SERVICES[name]["image"].rpartition(":")
    assert re.fullmatch(r"v?\d+(\.\d+)+", tag), tag
    assert "." not in repository.split("/")[0]
    assert "pypi" not in (ROOT / "compose.yaml").read_text()
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


def test_the_model_server_is_the_one_of_the_dockerfile() -> None:
    assert f"GPU_BASE={SERVICES['vllm']['image']}\n" in (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize("name", SERVICES)
def test_each_server_has_a_health_check_and_waits_for_those_it_needs(name: str) -> None:
    service = SERVICES[name]
    if name != "load":
        check = service["healthcheck"]
        assert check["test"][0] in ("CMD", "CMD-SHELL")
        assert {"interval", "timeout", "retries"} <= set(check)
    for dependency, how in service.get("depends_on", {}).items():
        wanted = "service_completed_successfully" if dependency == "load" else "service_healthy"
        assert how == {"condition": wanted}
    needs = {"touche-rad": {"vllm", "load"}, "load": {"elasticsearch"}}
    assert set(service.get("depends_on", {})) == needs.get(name, set())


def test_the_package_reads_every_variable_that_compose_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = SERVICES["touche-rad"]["environment"]
    ours = {name for name in environment if name.startswith("TOUCHE_RAD_")}
    assert set(environment) == ours | {"OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for verb in ("serve", "simulate"):
        context = parse_call(verb)
        sources = {name: context.get_parameter_source(name) for name in context.params}
        read = {name for name, source in sources.items() if source is ParameterSource.ENVIRONMENT}
        wanted = {name.removeprefix("TOUCHE_RAD_").lower() for name in ours}
        assert read == wanted - ({"judge"} if verb == "simulate" else set())
    address = parse_address("")
    assert address.url == "http://vllm:8000/v1"
    assert address.model == "owner/name"


def test_the_command_of_the_loader_is_valid() -> None:
    program, *words = shlex.split(SERVICES["load"]["command"])
    assert program == "touche-rad"
    index = SERVICES["touche-rad"]["environment"]["TOUCHE_RAD_INDEX"]
    assert parse_call(shlex.join(words)).params["to"] == index
    (volume,) = SERVICES["load"]["volumes"]
    collection, place, _ = volume.split(":")
    assert place == words[1]
    assert (ROOT / collection).is_file()
