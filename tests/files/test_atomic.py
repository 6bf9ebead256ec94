"""A file that is written is there as a whole or not at all, and nothing is left beside it."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.refusals import expect_error
from touche_rad import files


def write(path: Path | str, text: str = "new\n") -> None:
    with files.atomic_write(path) as out:
        out.write(text)


def test_file_appears_when_it_is_complete() -> None:
    path = Path("a/b/out")
    with files.atomic_write(path) as out:
        out.write("é\n")
        out.flush()
        assert not path.exists()
        assert len(list(path.parent.iterdir())) == 1, "the unfinished file is beside it"
    assert path.read_bytes() == "é\n".encode()
    assert list(path.parent.iterdir()) == [path]


def _fail(path: Path, error: BaseException) -> None:
    with files.atomic_write(path) as out:
        out.write("half")
        raise error


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")]
)
def test_an_error_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(type(error)) as caught:
        _fail(path, error)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    if isinstance(caught.value, OSError):
        assert caught.value.filename == str(path)


def test_a_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own() -> None:
    plain, new, old = Path("plain"), Path("new"), Path("old")
    plain.touch()
    write(new)
    old.touch(mode=0o600)
    old.chmod(0o640)
    write(old)
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


def test_a_link_is_replaced_and_not_its_target() -> None:
    Path("real").write_text("old")
    Path("link").symlink_to("real")
    write(Path("link"))
    assert not Path("link").is_symlink()
    assert Path("link").read_text() == "new\n"
    assert Path("real").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("folder", "it is a folder"),
        ("file/below", "Not a directory|File exists"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_place_that_cannot_be_written_is_an_error_of_one_line(
    tmp_path: Path, name: str, reason: str
) -> None:
    Path("folder").mkdir()
    Path("file").touch()
    with expect_error(reason) as error:
        write(f"{tmp_path}/{name}")
    assert isinstance(error.value, OSError)
    assert str(error.value).startswith(f"{tmp_path}/{name}")
    assert "\n" not in str(error.value)
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "file"}


def test_a_pipe_is_written_directly() -> None:
    pipe = Path("pipe")
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write(pipe)
    reader.join(10)
    assert got == ["new\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
@pytest.mark.parametrize("to_file", [False, True])
def test_the_standard_output_keeps_the_text_before_and_after(name: str, to_file: bool) -> None:
    code = (
        "import sys\nfrom touche_rad import files\nprint('before')\n"
        "with files.atomic_write(sys.argv[1]) as out: out.write('é\\n')\nprint('after')"
    )
    command = [sys.executable, "-c", code, name]
    with Path("out").open("wb") as out:
        done = subprocess.run(command, stdout=out if to_file else subprocess.PIPE, check=True)
    got = Path("out").read_bytes() if to_file else done.stdout
    assert got == "before\né\nafter\n".encode()
