"""Errors of ours that a test expects."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from touche_rad.errors import ToucheRadError, UserError


def expect_error(
    pattern: str, kind: type[ToucheRadError] = UserError
) -> AbstractContextManager[pytest.ExceptionInfo[ToucheRadError]]:
    """Fail unless the block raises an error of this kind whose text has the pattern."""
    return pytest.raises(kind, match=pattern)
