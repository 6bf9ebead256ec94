"""A plugin may leave the working folder, also while another one is being made."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from touche_rad.debate import Debate, Response
from touche_rad.plugins import Configured, Options, Services, debater, find, make

LEFT = threading.Event()
READ = threading.Event()


@pytest.fixture(autouse=True)
def _plugins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("Zoos save species.")

    @debater("leaves")
    class Leaves:
        """Leaves the folder, and stays away until the other plugin is made."""

        def __init__(self, options: Options, services: Services) -> None:
            os.chdir("/")
            LEFT.set()
            assert READ.wait(30)

        def answer(self, debate: Debate) -> Response:
            return Response(content="No.")

    @debater("reads")
    class Reads:
        """Reads a file when it is made."""

        class Options(Options):
            words: Path

        def __init__(self, options: Options, services: Services) -> None:
            self.text = options.words.read_text()
            READ.set()

        def answer(self, debate: Debate) -> Response:
            return Response(content=self.text)


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_plugin_that_leaves_the_folder_moves_no_path_of_another(
    when: str, tmp_path: Path
) -> None:
    LEFT.clear()
    READ.clear()
    debate = Debate().with_utterance("Zoos should be closed.")

    def configure() -> Configured:
        return find("debater", "reads").configure({"words": "words.txt"})

    with ThreadPoolExecutor(2) as pool:
        early = configure() if when == "before" else None
        leaving = pool.submit(make, "debater", "leaves", Services())
        assert LEFT.wait(30)
        reading = pool.submit((early or configure()).make, Services())
        try:
            assert reading.result(30).answer(debate).content == "Zoos save species."
        finally:
            READ.set()
        leaving.result(30)
    assert Path.cwd() == tmp_path
    assert (early or configure()).tag == "reads(words=words.txt)"
