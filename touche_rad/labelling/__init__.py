"""Label responses by hand: a queue of turns, a log of answers, agreement, and a local page."""
