"""From rows of the index to the text of an answer, within its budget. Not here: whether it is current (`workspace`)."""
