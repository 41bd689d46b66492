"""The figures of a simulation as one HTML page that needs nothing else: no server, no network, no other file.

`write_report` takes what `ecotone simulate -o json` prints and, when there is one, the scenario it came from. Every part of
the page is drawn from what is there and left out when it is not, so that a single run, a comparison and a sweep over users
all make a page. The same input makes the same bytes: there is no clock and no machine on it.
"""

from ecotone.experiments.report.page import write_report

__all__ = ["write_report"]
