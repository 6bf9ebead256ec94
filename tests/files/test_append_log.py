"""Logs of killed processes and of damaged disks give back complete records, or one line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cases import with_cases
from tests.records import read_cases, with_flipped_bits
from tests.refusals import expect_error
from touche_rad.files.append_log import AppendLog, LogKind, read_at, read_log

RUN: Final = LogKind("run", 2, fix="start again", damaged="done again")
LABELS: Final = LogKind("labels", 1, fix="keep it", damaged="not used", lasting=True, synced=True)
HEADER: Final = {"identity": {"seed": 1, "debater": "grounded"}}
RECORDS: Final[list[Mapping[str, Any]]] = read_cases("files/logged_records.json")


@pytest.fixture
def path() -> Path:
    return Path("new folder/run.part")


def write(path: Path, *records: Mapping[str, Any], kind: LogKind = RUN, **more: Any) -> None:
    log = AppendLog(path, kind, {**HEADER, **more})
    for record in records:
        log.append(record)
    log.close()


def reopen(path: Path, kind: LogKind = RUN) -> list[Mapping[str, Any]]:
    log = AppendLog(path, kind, HEADER)
    records = [entry.record for entry in log.entries()]
    log.close()
    return records


def test_records_are_read_as_they_were_written(path: Path) -> None:
    write(path, *RECORDS[:2])
    write(path, RECORDS[2])
    assert reopen(path) == RECORDS
    header, *entries = read_log(path, RUN)
    assert header.record == {"format": 2, "kind": "run", **HEADER}
    offsets = [entry.offset for entry in entries]
    assert [*read_at(path, reversed(offsets))] == [*reversed(RECORDS)]


def test_log_cut_at_any_byte_keeps_the_whole_records_before(path: Path) -> None:
    write(path, *RECORDS)
    complete = path.read_bytes()
    for length in range(len(complete)):
        path.write_bytes(complete[:length])
        records = reopen(path)
        assert len(records) == max(0, complete[:length].count(b"\n") - 1)
        write(path, *RECORDS[len(records) :])
        assert path.read_bytes() == complete


def test_no_flipped_bit_changes_a_record(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(path, *RECORDS)
    complete = path.read_bytes()
    lines = complete.splitlines(keepends=True)
    for place, changed in with_flipped_bits(complete, 3):
        caplog.clear()
        path.write_bytes(changed)
        number = complete[:place].count(b"\n")
        if number == 0:
            with expect_error(r"run\.part.*(start again|choose another output)"):
                reopen(path)
            assert path.read_bytes() == changed, "nothing is lost"
            continue
        records = reopen(path)
        is_line_break = place + 1 == len(b"".join(lines[: number + 1]))
        damaged = {number - 1, number} if is_line_break else {number - 1}
        assert records == [record for unit, record in enumerate(RECORDS) if unit not in damaged]
        is_cut = is_line_break and number == len(RECORDS)
        assert is_cut or f"{path}:{number + 1} is damaged: {RUN.damaged}" in caplog.text


def test_lasting_log_reads_lines_without_a_checksum(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"format":1,"kind":"labels","identity":{"seed":1,"debater":"grounded"}}\n')
    with path.open("a") as stream:
        stream.write('{"by": "ana"}\n{"by": "b')
    write(path, {"by": "cyd"}, kind=LABELS)
    assert reopen(path, LABELS) == [{"by": "ana"}, {"by": "cyd"}]
    assert b'{"by": "b\n' in path.read_bytes()
    write(path.with_name("other"), {"by": "cyd"})
    path.write_bytes(path.read_bytes().replace(b'"labels"', b'"run"'))
    with expect_error(f"first line .*{RUN.fix}"):
        reopen(path)


@with_cases(("identity", "change"), "files/other_identities.json")
def test_another_identity_is_refused(path: Path, identity: object, change: str) -> None:
    write(path, *RECORDS)
    path.write_bytes(path.read_bytes()[:-9])
    before = path.read_bytes()
    with expect_error(change):
        AppendLog(path, RUN, {"identity": identity})
    assert path.read_bytes() == before
    log = AppendLog(path, RUN, {"identity": identity}, restart=True)
    assert not list(log.entries())
    log.close()
    assert next(read_log(path, RUN)).record["identity"] == identity


def test_identity_of_a_log_without_records_holds_only_in_a_lasting_log(path: Path) -> None:
    header = {"identity": {"seed": 2}}
    write(path)
    AppendLog(path, RUN, header).close()
    path.unlink()
    write(path, kind=LABELS)
    with expect_error(r"seed was 1 .* 2"):
        AppendLog(path, LABELS, header)


def test_newer_log_is_refused(path: Path) -> None:
    write(path, kind=LogKind("run", 3, fix="", damaged=""))
    with expect_error(r"run\.part.*\(format 3; .* 2\)"):
        reopen(path)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("content", [b"notes\n", b"x", b"{}\n", b'{"format":2,"kind":"other"}\n'])
def test_file_of_another_program_is_not_changed(path: Path, content: bytes, restart: bool) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with expect_error(r"run\.part "):
        AppendLog(path, RUN, HEADER, restart=restart)
    assert path.read_bytes() == content


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    Path("file").write_text("precious")
    Path("link").symlink_to("file")
    os.mkfifo("pipe")
    for name in ("link", "pipe", "."):
        with expect_error(str(tmp_path / name)):
            AppendLog(tmp_path / name, RUN)
    assert Path("file").read_text() == "precious"


def test_log_has_one_process(path: Path) -> None:
    log = AppendLog(path, RUN, HEADER)
    with expect_error("another process"):
        AppendLog(path, RUN, HEADER)
    log.finish()
    log.close()
    assert not path.exists()
