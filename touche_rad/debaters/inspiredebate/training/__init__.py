"""InspireDebate's training: samples, preference pairs, SFT and DPO."""

__all__ = ["model", "preferences", "trainer"]
