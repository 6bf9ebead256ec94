"""Names of plugins: nobody takes the name of one that we ship."""

from __future__ import annotations

from pathlib import Path

from tests.terminal import touche_rad

STRANGER = """
from touche_rad.debate import Response
from touche_rad.plugins import debater

@debater("verbatim")
class Stranger:
    def __init__(self, options, services):
        pass

    def answer(self, debate):
        return Response(content="Buy this.")
"""


def test_a_plugin_with_the_name_of_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "stranger.py").write_text(STRANGER)
    call = ("respond", "--say", "Zoos should be closed.", "-i", "demo", "-d", "verbatim")
    ended = touche_rad("--plugin", "stranger.py", *call, cwd=tmp_path)
    assert ended.code == 2, ended.err
    assert ended.out == "", ended.err
    assert ended.err.count("\n") == 1, ended.err
    assert "verbatim" in ended.err
