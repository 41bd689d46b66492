"""Every page of the documentation can be reached from its first one, and every link between pages leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FILE = re.compile(
    r"(?<![\w./*-])(?:src|tests|docs|examples|deploy|scripts|benchmarks|[a-z]+)/[\w/-]+\.(?:py|md|json|svg)\b"
)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def links(page: Path) -> list[Path]:
    found = [link for link in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    return [(page.parent / link).resolve() for link in found]


def test_every_page_is_reached_from_the_first() -> None:
    waiting, seen = [ROOT / "docs" / "README.md"], set[Path]()
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        waiting += links(page)
    assert set((ROOT / "docs").rglob("*.md")) <= seen


def test_no_link_leads_nowhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert [(page.name, str(link)) for page in pages for link in links(page) if not link.exists()] == []


def test_no_page_names_a_file_that_is_not_there() -> None:
    roots = (ROOT, ROOT / "src" / "ecotone", ROOT / "src")
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = [(page, name) for page in pages for name in _FILE.findall(page.read_text(encoding="utf-8"))]
    assert len(named) > 20
    missing = [
        (page.name, name) for page, name in named if not any((root / name).exists() for root in (*roots, page.parent))
    ]
    assert missing == []
