"""The brief of a branch: its contents (`extract`), its layout (`format`), its budget (`fit`).

`telling` and `newest` choose lines of the newest notes; `cache` holds finished briefs.
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
