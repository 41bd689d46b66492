"""Runs, statistics and reports: from a scenario and some policies to a table one can believe.

A run is a value: what goes in (scenario text, policy, trial, seed) determines what comes out, to the byte, wherever it is
executed. Everything here builds on that: runs are spread over processes or a Dask cluster, kept in files, and taken up
again after an interruption.
"""
