"""What all trainers share: recipe, training folder and model card.

Trainers are entry points of the group `touche_rad.trainers`.
"""
