"""Files of other evaluation software, written from our runs and read back."""
