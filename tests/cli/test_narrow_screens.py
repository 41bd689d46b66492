"""Tables on narrow screens: no line too long, no word broken, and what was left out is known."""

from __future__ import annotations

import pytest

from ecotone.cli.terminal.tables import drawn

PLAN = (
    ("ACTION", "POD", "NODE", "WHY"),
    [
        ["evict", "default/front-end-0", "cloud-1 -> fog-2", "costs 80.5 ms on cloud-1 and 39 ms on fog-2: 52% less"],
        ["bind", "default/catalogue-0", "edge-1", "best of 6 feasible nodes with 672: TaintToleration 100 x 3"],
    ],
    (),
)
EXPLAIN = (
    ("", "NODE", "TOTAL", "NodeResourcesFit x 1", "VERDICT"),
    [
        ["*", "fog-1", "670", "96 (96 % of CPU and memory left)", "fits"],
        ["", "edge-1", "-", "-", "Insufficient memory; node(s) had untolerated taints"],
    ],
    (2,),
)
FIGURES = (
    ("POLICY", "P95 MS", "MEAN MS", "FAILED", "MOVES", "VS BASELINE"),
    [["ecotone", "24.1", "12.9", "0.00 %", "13", "-88 %"], ["kube-default", "204.0", "99.1", "0.12 %", "0", "-"]],
    (1, 2, 3, 4, 5),
)


@pytest.mark.parametrize("width", [40, 60])
@pytest.mark.parametrize("table", [PLAN, EXPLAIN, FIGURES], ids=["plan", "explain", "figures"])
def test_columns_are_left_out_and_words_are_kept_whole(table, width):
    headers, rows, right = table
    text, hidden = drawn(headers, rows, right=right, width=width)
    lines = text.splitlines()
    assert all(len(line) <= width for line in lines)
    shown = [header for header in headers if header not in hidden]
    assert shown and list(headers[: len(shown)]) == shown, "columns go from the right"
    words = {word for row in rows for cell in row for word in cell.split()} | {w for h in headers for w in h.split()}
    assert {word for line in lines for word in line.split()} <= words
    for index, header in enumerate(shown):
        assert all(word in text.split() for word in header.split())
        assert all(word in text.split() for row in rows for word in row[index].split())


def test_what_has_room_is_all_there():
    headers, rows, right = PLAN
    assert drawn(headers, rows, right=right, width=200)[1] == []
    assert drawn(headers, rows, right=right, width=40)[1], "the tables above must not fit, or they show nothing"


def test_a_table_of_figures_keeps_as_many_columns_as_fit():
    headers, rows, right = FIGURES
    assert drawn(headers, rows, right=right, width=40)[1] == ["MOVES", "VS BASELINE"]
    assert drawn(headers, rows, right=right, width=60)[1] == []


def test_an_action_keeps_the_name_it_is_about() -> None:
    rows = [["bind", "shop/recommendation-4h9qj8hml4-2qnmp", "cloud-b-1"], ["wait", "shop/a", "-"]]
    text, hidden = drawn(["ACTION", "POD", "NODE"], rows, right=(), width=30)
    lines = text.splitlines()
    assert lines[1].startswith("bind    shop/recommendation-") and lines[1].endswith("…")
    assert lines[2].split() == ["wait", "shop/a"]
    assert hidden == ["NODE"] and max(map(len, lines)) <= 30
