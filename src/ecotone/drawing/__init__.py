"""Charts, tables and markup: what a report and a live page draw with."""
