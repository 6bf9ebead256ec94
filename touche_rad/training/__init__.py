"""What all trainers share: recipe, training folder, training loop and model card.

Trainers are entry points of the group `touche_rad.trainers`. Only `loop` needs torch.
"""

__all__ = ["card", "folder", "loop", "recipe"]
