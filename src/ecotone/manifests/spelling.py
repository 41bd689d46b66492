"""What a misspelt word was probably meant to be: half of a good error message."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST_WORD = 100


def nearest(word: str, valid: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The valid word closest to a misspelt one, or None when nothing is close."""
    folded: dict[str, str] = {}
    for candidate in valid:
        folded.setdefault(candidate.lower(), candidate)
    from difflib import get_close_matches  # when somebody has misspelt something

    found = get_close_matches(word[:_LONGEST_WORD].lower(), folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else None


def did_you_mean(word: str, valid: Iterable[str]) -> str | None:
    """The hint for a misspelt word; when nothing is close, the whole choice if it is short, else the nearest."""
    candidates = list(valid)
    found = nearest(word, candidates)
    if found is not None:
        return f"did you mean `{found}`?"
    if len(candidates) > 12:
        far = nearest(word, candidates, cutoff=0.0)
        return f"the nearest valid name is `{far}`"
    return "valid here: " + ", ".join(f"`{name}`" for name in sorted(candidates)) if candidates else None
