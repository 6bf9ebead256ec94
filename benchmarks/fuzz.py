"""Feed the readers of files with hostile bytes: coverage-guided, or the corpus only.

    pip install atheris
    python benchmarks/fuzz.py                     # all readers, 180 seconds each
    python benchmarks/fuzz.py arguments --seconds 1800
    python benchmarks/fuzz.py --replay            # the corpus only; works without atheris

A reader may return, or raise one of our errors with at most `LONGEST` letters. Any other error is a
finding: the bytes are written into tests/files/corpus, which the tests replay.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

CORPUS: Final = Path(__file__).parents[1] / "tests" / "files" / "corpus"
LONGEST: Final = 20_000
"""Letters of an error message, before the command shortens it."""

Reader = Callable[[Path, Any], Iterable[object]]


def readers() -> Mapping[str, Reader]:
    """Return every reader of files by name."""
    from touche_rad import files
    from touche_rad.contests.foreign.reading import contests
    from touche_rad.files.formats import detect_kind
    from touche_rad.files.transcripts import read_transcript

    return {
        "kind": lambda path, _: [detect_kind(path)],
        "debates": files.read_debates,
        "claims": files.read_claims,
        "contests": files.read_contests,
        "outcomes": files.read_outcomes,
        "evaluations": files.read_evaluations,
        "labels": files.read_labels,
        "annotations": files.read_annotations,
        "arguments": files.read_arguments,
        "queries": files.read_queries,
        "run": files.read_run,
        "qrels": files.read_qrels,
        "foreign": contests,
        "transcript": lambda path, _: read_transcript(path),
    }


def check(reader: Reader, path: Path) -> None:
    """Read a file strictly and with `--skip-bad`; raise whatever is not one of our errors."""
    from touche_rad.errors import ToucheRadError
    from touche_rad.files import BadLines

    for skip in (False, True):
        try:
            for _ in reader(path, BadLines(skip=skip)):
                pass
        except ToucheRadError as error:
            if len(str(error)) > LONGEST:
                raise AssertionError(f"a message of {len(str(error))} letters") from error


def replay(names: Iterable[str]) -> int:
    """Read the corpus with these readers, and return the number of pairs."""
    count = 0
    for name in names:
        for path in sorted(CORPUS.iterdir()):
            check(readers()[name], path)
            count += 1
    return count


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one reader in this process; libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["touche_rad"]):
        reader = readers()[name]
    scratch = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    path = scratch / "input"

    def one(data: bytes) -> None:
        path.write_bytes(data)
        try:
            check(reader, path)
        except Exception:
            CORPUS.joinpath(f"found-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)
            raise

    grown = scratch / "corpus"
    grown.mkdir()
    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={seconds}",
            "-max_len=4096",
            "-timeout=20",
            "-print_final_stats=1",
            f"-artifact_prefix={scratch}/",
            str(grown),
            str(CORPUS),
        ],
        one,
    )
    atheris.Fuzz()


def main() -> None:
    """Run the readers one after the other, each in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reader", nargs="*", metavar="READER", help=", ".join(readers()))
    parser.add_argument("--seconds", type=int, default=180, help="for each reader [180]")
    parser.add_argument("--replay", action="store_true", help="read the corpus only")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.reader or list(readers())
    if unknown := set(names) - set(readers()):
        parser.error(f"unknown readers: {', '.join(sorted(unknown))}")
    if options.replay:
        print(f"{replay(names)} pairs of a reader and a file: nothing found")
    elif options.here:
        fuzz(names[0], options.seconds)
    else:
        sys.exit(max(_in_process(name, options.seconds) for name in names))


def _in_process(name: str, seconds: int) -> int:
    call = [sys.executable, __file__, name, "--here", f"--seconds={seconds}"]
    done = subprocess.run(call, capture_output=True, text=True, errors="replace", check=False)
    ran = [
        line.split()[-1]
        for line in done.stderr.splitlines()
        if "stat::number_of_executed_units" in line
    ]
    result = "nothing found" if not done.returncode else done.stdout[-600:] + done.stderr[-600:]
    print(f"{name:12} {ran[0] if ran else '?':>9} executions, {result}", flush=True)
    return int(bool(done.returncode))


if __name__ == "__main__":
    main()
