import json

from ecotone.cli.terminal.output import as_json, notes


def test_figures_that_are_no_numbers_are_null():
    document = {"a": [1.5, float("nan")], "b": {"c": float("inf")}, "d": "x"}
    assert json.loads(as_json(document)) == {"a": [1.5, None], "b": {"c": None}, "d": "x"}


def test_many_notes_are_cut_short(capfd):
    notes([f"number {each}" for each in range(7)], most=2)
    assert capfd.readouterr().err.splitlines() == ["note: number 0", "note: number 1", "note: and 5 more like these"]
