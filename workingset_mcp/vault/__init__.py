"""What is on disk: the folder of notes, what is left out of it, files opened safely, and its git history."""
