"""Files that are no files, bombs, and separators that only Python takes for line ends."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.cases import with_cases
from tests.terminal import touche_rad
from touche_rad.contests.foreign._reading import contests
from touche_rad.files.records import LONGEST_LINE, read_whole

SPEECH = {"speaker": "A", "text": "One.\u2028Two.\u0085Three.\x0bFour."}
CONTEST = {"motion": "M", "sides": {"A": "pro", "B": "con"}, "speeches": [SPEECH]}


def test_a_small_file_with_an_endless_line_is_refused() -> None:
    path = Path("bomb.jsonl.gz")
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"simulation": "')
        for _ in range(LONGEST_LINE // 2**20):
            file.write(bytes(2**20))
    ended = touche_rad("judge -o out", path, code=2)
    assert f"{path}:1: " in ended.error
    assert str(LONGEST_LINE) in ended.error


def test_separators_of_unicode_are_part_of_a_record() -> None:
    path = Path("contests.jsonl")
    path.write_text(f"{json.dumps(CONTEST, ensure_ascii=False)}\n" * 2, "utf-8")
    assert [contest.speeches[0].text for contest in contests(path)] == [SPEECH["text"]] * 2
    assert read_whole(path).count("\n") == 2
    sites = Path("sites.jsonl")
    site = {"title": "Zoos\u2028close", "arguments": [{"side": "pro", "text": SPEECH["text"]}]}
    sites.write_text(f"{json.dumps(site, ensure_ascii=False)}\n" * 2, "utf-8")
    assert [contest.speeches[0].text for contest in contests(sites)] == [SPEECH["text"]] * 2


@with_cases(("text", "times", "fact"), "files/large_settings.json")
def test_a_file_of_settings_that_takes_all_memory_is_refused(
    text: str, times: int, fact: str
) -> None:
    path = Path("bench.toml")
    with gzip.open(path, "wt") as stream:
        stream.write(f"{text * times}a = 1")
    assert fact in touche_rad("bench run -o out", path, code=2).error
