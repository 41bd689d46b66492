"""The parts of the page, one file each: what a part says, and the chart and table that say it.

A section is a function that returns its markup, or None when the figures it needs are not there.
"""
