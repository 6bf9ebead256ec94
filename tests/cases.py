"""Cases of tests in files, beside the tests."""

from __future__ import annotations

import pytest

from tests.records import read_cases, read_table


def with_cases(names: str | tuple[str, ...], file: str) -> pytest.MarkDecorator:
    """Run a test with the cases in a file of `tests`: JSON, or a table with tabs between cells."""
    read = read_table if file.endswith(".tsv") else read_cases
    return pytest.mark.parametrize(names, read(file))
