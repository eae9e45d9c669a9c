"""The mark on a brief that was written to a file: a digest of all the rest, in its front matter.

By the digest a brief that nobody touched since is told apart from a file that a person wrote or edited.
"""

import hashlib

BRIEF_KIND = "workingset-brief"
_END_OF_BLOCK = "\n---\n"
_FIELD = "\ndigest: "


def signed(brief: str) -> str:
    """The text of a file for a brief: its front matter ends with the digest of the brief."""
    block, end, body = brief.partition(_END_OF_BLOCK)
    return f"{block}{_FIELD}{_digest(brief)}{end}{body}"


def unsigned(written: str) -> str | None:
    """The brief in a file; None unless it is as it was written. Line ends may be those of Windows."""
    block, end, body = written.replace("\r\n", "\n").partition(_END_OF_BLOCK)
    block, _, said = block.rpartition(_FIELD)
    brief = f"{block}{end}{body}"
    return brief if said == _digest(brief) else None


def _digest(brief: str) -> str:
    return hashlib.blake2b(brief.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
