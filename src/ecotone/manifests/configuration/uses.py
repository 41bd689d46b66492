"""Lists of plugins in a configuration: `[{name: NetworkAware, weight: 0.5}]`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ecotone.manifests.configuration.expecting import expect, only, word
from ecotone.manifests.spelling import did_you_mean
from ecotone.manifests.yaml.positions import Node
from ecotone.scheduling.framework import lacks_point
from ecotone.scheduling.plugin import SEAMS, points_of
from ecotone.scheduling.profiles import plugin_files, registry
from ecotone.scheduling.profiles.profile import Use

# Plugins of kube-scheduler whose work is the executors' here: named in many files, and passed over.
EXECUTORS_PLUGINS = ("DefaultBinder", "GangScheduling", "DeferredPodScheduling")


def read_uses(node: Node | None, *, star: bool = False, at: str | None = None) -> tuple[Use, ...]:
    """`at`: the point they must implement."""
    if node is None or node.is_null:
        return ()
    expect(node, "sequence", "a list of plugins")
    found = []
    for each in node.elements():
        expect(each, "mapping", "a plugin with its name")
        only(each, ("name", "weight"))
        name = word(each, "name")
        if name is None:
            raise each.error("a plugin without name")
        if not (star and name == "*") and name not in EXECUTORS_PLUGINS:
            known_plugin(each.get("name") or each, at=at)
        if name not in EXECUTORS_PLUGINS:
            found.append(Use(plugin_name(each.get("name") or each), _weight(each)))
    return tuple(found)


def _weight(node: Node) -> float:
    weight = node.get("weight")
    if weight is None or weight.is_null:
        return 1.0
    if isinstance(weight.value, bool) or not isinstance(weight.value, int | float) or not 0 < weight.value < 1e9:
        raise weight.error(f"weight must be a number above 0, not {weight.describe()}", hint="or disable the plugin")
    return float(weight.value)


def plugin_name(node: Node) -> str:
    """The plugin's name; one in a file by its absolute path, a relative path being below the configuration's folder."""
    return plugin_files.absolute(node.text, folder=Path(node.file).parent)


def known_plugin(node: Node, *, at: str | None = None) -> None:
    names = registry.plugin_names()
    if node.text not in names and not plugin_files.names_file(node.text):
        hint = did_you_mean(node.text, names) or "a plugin of your own is named by its file, ./my_plugin.py:Class"
        raise node.error(f"unknown plugin {node.text!r}", hint=hint)
    factory = registry.find_plugin(plugin_name(node))
    # A factory that is no class shows its points only once it has made something.
    if at is not None and isinstance(factory, type) and not SEAMS[at].offered_by(factory):
        wrong = lacks_point(node.text, at, points_of(factory))
        raise node.error(wrong.message, hint=wrong.hint)


def uses_document(uses: Iterable[Use]) -> list[dict[str, Any]]:
    return [
        {
            "name": use.name,
            **({} if use.weight == 1 else {"weight": int(use.weight) if use.weight % 1 == 0 else use.weight}),
        }
        for use in uses
    ]
