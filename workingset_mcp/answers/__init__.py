"""Turn rows of the index into answers within a budget. Not here: keeping the index current (`workspace`)."""
