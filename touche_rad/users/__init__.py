"""Simulated users: by rules, by a language model, or by an endpoint such as the organisers'.

A user by rules depends only on the debate and the random seed, so that a continued run gets the
same utterances. It is the fallback of the other users.
"""

from touche_rad.users.model_user import ModelUser
from touche_rad.users.official import OfficialUser
from touche_rad.users.rules import ASKING_ABOUT_ALL, OPENING_ON_NOTHING, RuleUser
from touche_rad.users.simulator import Speaker, UserChoice, UserSimulator, describe_user, parse_user

__all__ = [
    "ASKING_ABOUT_ALL",
    "OPENING_ON_NOTHING",
    "ModelUser",
    "OfficialUser",
    "RuleUser",
    "Speaker",
    "UserChoice",
    "UserSimulator",
    "describe_user",
    "parse_user",
]  # fmt: skip
