"""Markup that cannot be forgotten to be escaped.

Everything on the page passes through `element`: text is escaped there and nowhere else, and only what `element` itself made
(`Markup`) goes in unescaped. A scenario may call a node `<script>`; it then says so on the page, and nothing runs. The page
is well-formed XML as well as HTML, so a test can check the whole of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Markup(str):
    """Text that is already HTML or SVG."""

    __slots__ = ()


_VOID = frozenset({"br", "col", "hr", "img", "input", "meta"})
_SVG_EMPTY = frozenset({"circle", "line", "path", "polygon", "rect", "use"})
_NOT_ALLOWED = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160), 0xFFFE, 0xFFFF) if code not in (9, 10)
}
_NOT_ALLOWED.update(dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"))


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """`class_` is `class`, `data_x` is `data-x`; an attribute that is None or False is left out, True has no value."""
    opening = tag + "".join(_attribute(name, value) for name, value in attributes.items())
    inside = join(children)
    if tag in _VOID or (tag in _SVG_EMPTY and not inside):
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{inside}</{tag}>")


def join(children: Iterable[object]) -> Markup:
    return Markup("".join(_text(child) for child in children))


def _text(child: object) -> str:
    if child is None or child is False:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, list | tuple):
        return join(child)
    return escape(_printable(_plain(child)), quote=False)


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f' {name}=""' if value is True else f' {name}="{escape(_printable(_plain(value)))}"'


def _plain(value: object) -> str:
    """Coordinates to a tenth of a unit: nobody sees more, and the page stays small."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def _printable(text: str) -> str:
    """Control characters and lone surrogates are no part of HTML or XML, however they are escaped."""
    return text.translate(_NOT_ALLOWED)
