"""Full context: the verbatim text of every note in a window, in lossless pages."""
