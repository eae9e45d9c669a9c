"""From the disk to the index: what differs, applied, and noticed in time."""
