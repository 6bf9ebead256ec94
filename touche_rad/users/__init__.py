"""Simulated users: by rules, by a language model, or by somebody else's endpoint.

What a user by rules says depends on nothing but the debate and its seed, so that a run that is
taken up again hears the same words. It stands in where another user fails.
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
