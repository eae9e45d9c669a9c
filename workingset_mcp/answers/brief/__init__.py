"""The brief of a branch: what is in it (`extract`), how it reads (`format`), how it fits (`fit`).

Which lines of the newest notes tell something: `telling`, `newest`. Briefs that are asked for again: `cache`.
"""

from workingset_mcp.answers.brief.extract import read_materials
from workingset_mcp.answers.brief.fit import Brief, SectionSpan, make_brief
from workingset_mcp.answers.brief.materials import Branch, BranchReader, Materials
from workingset_mcp.answers.brief.overview import BranchLine, Overview, make_overview

__all__ = [
    "Branch",
    "BranchLine",
    "BranchReader",
    "Brief",
    "Materials",
    "Overview",
    "SectionSpan",
    "make_brief",
    "make_overview",
    "read_materials",
]
