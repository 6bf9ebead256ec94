"""Simulated users: by rules, by a language model, or by an endpoint such as the organisers'.

The user by rules depends only on the debate and the random seed, so that a resumed run gets the
same utterances. It is the fallback of the other users.
"""

from touche_rad.users._choice import USERS, UserChoice, parse_user
from touche_rad.users._model_user import ModelUser
from touche_rad.users._official import OfficialUser
from touche_rad.users._rules import ASKING_ABOUT_ALL, OPENING_ON_NOTHING, RuleUser
from touche_rad.users._simulator import Speaker, UserSimulator, describe_user

__all__ = [
    "ASKING_ABOUT_ALL",
    "OPENING_ON_NOTHING",
    "USERS",
    "ModelUser",
    "OfficialUser",
    "RuleUser",
    "Speaker",
    "UserChoice",
    "UserSimulator",
    "describe_user",
    "parse_user",
]
