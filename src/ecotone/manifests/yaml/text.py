"""YAML that reads back as it was meant.

PyYAML quotes what YAML 1.1 would misread; readers of today, ours included, also take `1e3` for a number. Text that any of
them could take for something else is quoted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from ecotone.manifests.yaml.positions import resolve

_BASE: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


# A dumper of our own, since representers are registered on the class; equal parts are written out, not aliased.
_Dumper: Any = type("_Dumper", (_BASE,), {"ignore_aliases": lambda *_: True})


def _text(dumper: Any, value: str) -> Any:
    style = '"' if value and not isinstance(resolve(value), str) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(documents: Iterable[Any]) -> str:
    """The documents as one YAML stream."""
    several = list(documents)
    text: str = yaml.dump_all(
        several, Dumper=_Dumper, sort_keys=False, allow_unicode=True, explicit_start=len(several) > 1, width=120
    )
    return text
