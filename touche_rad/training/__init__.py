"""What all trainers share: recipe, training folder, training loop, metrics, model card, labels.

Trainers are entry points of the group `touche_rad.trainers`. Only `loop` needs torch.
"""
