"""Full context: every verbatim text that belongs to a window, in lossless pages."""
