"""Text from outside, made safe to show: nothing in it moves a cursor, rings a bell or turns the direction of reading.

Names in files, answers of servers and messages about them may hold escape sequences; a terminal obeys those. They are
written out by number instead, so that they are seen and do nothing.
"""

from __future__ import annotations

_STEERING = (*range(9), *range(11, 32), *range(127, 160))
_TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_WRITTEN_OUT = {code: f"\\x{code:02x}" for code in _STEERING} | {code: f"\\u{code:04x}" for code in _TURNING}
_IN_JSON = {code: f"\\u{code:04x}" for code in (*range(127, 160), *_TURNING)}


def printable(text: str) -> str:
    """The text with every character that steers a terminal written out; lines and tabs stay."""
    return text if text.isascii() and text.isprintable() else text.translate(_WRITTEN_OUT)


def printable_json(text: str) -> str:
    """The same for a JSON text, whose strings have escapes of their own and means the same afterwards."""
    return text if text.isascii() and "\x7f" not in text else text.translate(_IN_JSON)
