"""A sample of the campaign's cells; `make faults` runs all of them."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

import pytest

from tests.faults import index_faults, kills, machine_faults, model_faults
from tests.faults.cells import Group

pytestmark = pytest.mark.long

SAMPLE = [
    (model_faults.GROUP, "connection refused", ("judge", "panel")),
    (model_faults.GROUP, "wrong schema, once", ("judge",)),
    (model_faults.GROUP, "truncated JSON", ("judge",)),
    (model_faults.GROUP, "wrong schema", ("panel",)),
    (model_faults.GROUP, "refusal", ("simulated user",)),
    (index_faults.LOCAL, "file truncated", ("debater",)),
    (index_faults.LOCAL, "one byte changed", ("retriever",)),
    (index_faults.SERVER, "no field responses", ("retriever",)),
    (index_faults.SERVER, "status 401", ("debater", "simulated user")),
]


@pytest.mark.parametrize(
    ("group", "kind", "places"), SAMPLE, ids=[f"{group.name}, {kind}" for group, kind, _ in SAMPLE]
)
def test_a_fault_does_what_is_promised(
    group: Group, kind: str, places: tuple[str, ...], tmp_path: Path
) -> None:
    with group.observing(tmp_path) as observe:
        happened = {place: observe(kind, place) for place in places}
    assert happened == {place: group.promises[kind][place] for place in places}


def test_a_command_with_running_threads_keeps_the_folder_of_the_campaign() -> None:
    def prepare() -> None:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()

    with tempfile.TemporaryDirectory() as folder:
        assert machine_faults.start(["--version"], prepare).ended().code == 0
        assert Path(folder).exists()


@pytest.mark.parametrize("verb", ["judge", "panel", "index"])
def test_a_killed_command_goes_on_to_the_same_bytes(verb: str, tmp_path: Path) -> None:
    assert "all files equal" in kills.kill(verb, 3, 1, tmp_path)
