"""`python -m touche_rad` is `touche-rad`."""

from touche_rad.cli import main

main()
