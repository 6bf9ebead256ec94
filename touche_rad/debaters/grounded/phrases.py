"""What the features of candidates mean, as parts of a sentence that begins with "it"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "matter": "is about the subject of the debate",
    "main": "attacks a claim with the words of your main clause",
    "target": "attacks a claim like those of the debate",
    "claim": "opposes a claim with the words of your main clause",
    "nearest": "opposes the claim that is nearest to your message",
    "denied": "opposes a claim that is negated",
    "tone": "opposes a claim of the same tone as yours",
    "side": "is on the other side than arguments like your message",
    "against": "is against you according to the stance model",
    "said_text": "has a text near to your message",
    "said_attacks": "attacks a claim near to your message",
    "said_supports": "supports a claim near to your message",
    "part_attacks": "attacks a claim near to a part of your message",
    "part_supports": "supports a claim near to a part of your message",
    "claim_text": "has a text near to the claim of the debate",
    "claim_attacks": "attacks a claim near to the claim of the debate",
    "claim_supports": "supports a claim near to the claim of the debate",
    "answered_text": "continues the last answer",
}
