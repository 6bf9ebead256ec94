"""The files of the demo that tests use."""

from __future__ import annotations

from typing import Final

from touche_rad.demo import demo_file

ARGUMENTS: Final = demo_file("arguments.jsonl")
CLAIMS: Final = demo_file("claims.tsv")
CONTESTS: Final = demo_file("contests.jsonl")
DEBATES: Final = demo_file("debates.jsonl")
LABELS: Final = demo_file("labels.jsonl")
