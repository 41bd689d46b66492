"""Sections that draw response times as curves: over the run and its phases, over users or a parameter, as a distribution."""
