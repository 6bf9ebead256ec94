"""InspireDebate's training: samples, preference pairs, SFT and DPO."""
