"""Markup that cannot be forgotten to be escaped.

Everything on the page passes through `element`: text is escaped there and nowhere else, and only what `element` itself made
(`Markup`) goes in unescaped. A scenario may call a node `<script>`; it then says so on the page, and nothing runs. The page
is well-formed XML as well as HTML, so a test can check the whole of it.

A name may also hold characters that turn the direction of what follows (U+202E and its relatives). They are written out
by number, and text with letters that run from right to left is isolated, so that neither changes how its neighbours read.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from unicodedata import bidirectional


class Markup(str):
    """Text that is already HTML or SVG."""

    __slots__ = ()


_VOID = frozenset({"br", "col", "hr", "img", "input", "meta"})
_SVG_EMPTY = frozenset({"circle", "line", "path", "polygon", "rect", "use"})
_NOT_ALLOWED = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160), 0xFFFE, 0xFFFF) if code not in (9, 10)
}
_NOT_ALLOWED.update(dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"))
_NOT_ALLOWED.update(
    {code: f"[U+{code:04X}]" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
)
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})


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
    return escape(_isolated(_printable(_plain(child))), quote=False)


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f' {name}=""' if value is True else f' {name}="{escape(_printable(_plain(value)))}"'


def _plain(value: object) -> str:
    """Coordinates to a tenth of a unit: nobody sees more, and the page stays small."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def _isolated(text: str) -> str:
    """Text that runs from right to left keeps its direction to itself."""
    if text.isascii() or not any(bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return text
    return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"


def _printable(text: str) -> str:
    """Control characters and lone surrogates are no part of HTML or XML; those of direction are shown by number."""
    return text.translate(_NOT_ALLOWED)
