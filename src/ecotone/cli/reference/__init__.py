"""The reference pages of the documentation, printed from the code they are about.

What a page says stands where it is true: help texts of options, docstrings of plugins, the grammar of scenarios, the schemas of
resources. Nothing is written twice, so nothing can be forgotten in one place; a test holds the stored pages against these.

    python -m ecotone.cli.reference docs/reference
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ecotone.cli.reference import command_line, keys, outputs, plugin_api, policies, profiles, resolver, scenario

PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": command_line.page,
    "policies.md": policies.page,
    "scenario.md": scenario.page,
    "keys.md": keys.page,
    "profiles.md": profiles.page,
    "plugin-api.md": plugin_api.page,
    "outputs.md": outputs.page,
    "resolver.md": resolver.page,
}


def write_pages(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")
