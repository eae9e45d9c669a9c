"""Keep the index in step with the disk: find what differs, apply it, follow changes."""
