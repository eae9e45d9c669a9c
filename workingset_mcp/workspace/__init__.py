"""The facade: composes an answer, checks it against the disk over its scope, and gives it."""
