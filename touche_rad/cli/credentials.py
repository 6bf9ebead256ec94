"""Who gets a key: an address that a file names gets one only if the user chose this file.

Keys and passwords come from the environment. A settings file in the current folder, or the plan of
a bench, may be a stranger's, so its addresses get them only if the environment has the same host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from touche_rad.errors import UserError
from touche_rad.text import KEY

_HOST: Final = re.compile(r"https?://(?:[^/@\s]*@)?([^/\s#?,]+)", re.IGNORECASE)
_OF_INDEXES: Final = ("TOUCHE_RAD_ES_API_KEY", "TOUCHE_RAD_ES_PASSWORD")
CREDENTIALS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("model", "judge_model", "debater", "judge", "retriever", "options"), (KEY,)),
    **dict.fromkeys(("index", "fallback_index"), _OF_INDEXES),
}
"""The variables with the credentials for the address of a setting."""
_ADDRESSES: Final = ("OPENAI_BASE_URL", "TOUCHE_RAD_MODEL", "TOUCHE_RAD_INDEX")


def refuse_stranger(setting: str, value: object, where: str, fix: str) -> None:
    """Stop before a credential is sent to an address that the user did not choose.

    `setting` is a key of CREDENTIALS, `value` may contain addresses, `where` is who names them, and
    `fix` is how the user confirms it.
    """
    variable = next((one for one in CREDENTIALS[setting] if os.environ.get(one)), None)
    hosts = {host for one in _ADDRESSES for host in _HOST.findall(os.environ.get(one, ""))}
    strangers = [host for host in _HOST.findall(str(value)) if host not in hosts]
    if variable and strangers:
        raise UserError(
            f"{where} names the {setting.replace('_', ' ')} at {strangers[0]}, which would get "
            f"your {variable}: {fix}"
        )
