"""Regular expressions from outside, matched in linear time.

A `pattern` constraint comes with the template, and Python's backtracking matcher can be made to run for years by ten
characters. So a pattern is parsed by Python (same syntax, same errors) but run here as a set of states advanced one
character at a time: no backtracking, cost bounded by pattern size times text length. What needs backtracking
(back-references, look-around) is refused. A pattern must match the whole text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from re import _constants as codes
from re import _parser as parser
from typing import Any

_LARGEST = 2_000
_LONGEST = 500
_WORD = re.compile(r"\w")
_SPACE = re.compile(r"\s")
_DIGIT = re.compile(r"\d")


class PatternError(Exception):
    """Why a pattern cannot be used."""


@dataclass(slots=True)
class Pattern:
    """A compiled pattern: per state, either a test that consumes a character or free moves."""

    tests: list[Any] = field(default_factory=list)
    moves: list[list[tuple[int, str | None]]] = field(default_factory=list)
    start: int = 0
    end: int = 0
    repetitions: int = 0

    def matches(self, text: Any) -> bool:
        """Does the whole text match? Anything but a string does not."""
        if not isinstance(text, str):
            return False
        current = self._closure({self.start}, at_start=True, at_end=not text)
        for position, character in enumerate(text):
            following = {self.tests[state][1] for state in current if _accepts(self.tests[state], character)}
            if not following:
                return False
            current = self._closure(following, at_start=False, at_end=position == len(text) - 1)
        return self.end in current

    def _closure(self, states: set[int], *, at_start: bool, at_end: bool) -> set[int]:
        seen = set(states)
        todo = list(states)
        while todo:
            for target, where in self.moves[todo.pop()]:
                passable = where is None or (at_start if where == "start" else at_end)
                if passable and target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    def charge(self) -> None:
        """One more repetition: also one of nothing costs time, which states do not count."""
        self.repetitions += 1
        if self.repetitions > _LARGEST:
            raise PatternError("it is too large")

    def add(self) -> int:
        if len(self.tests) >= _LARGEST:
            raise PatternError("it is too large")
        self.tests.append(None)
        self.moves.append([])
        return len(self.tests) - 1


def compile_pattern(text: str) -> Pattern:
    """Parse and compile; PatternError says what is wrong in words."""
    if len(text) > _LONGEST:
        raise PatternError(f"it is longer than {_LONGEST} characters")
    try:
        tree = parser.parse(text)
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise PatternError(str(error)) from None
    if tree.state.flags & ~re.UNICODE:
        raise PatternError("inline flags are not supported")
    pattern = Pattern()
    pattern.start = pattern.add()
    try:
        pattern.end = _sequence(pattern, tree, pattern.start)
    except RecursionError:
        raise PatternError("it is nested too deeply") from None
    return pattern


def _sequence(pattern: Pattern, items: Any, state: int) -> int:
    for operator, argument in items:
        state = _item(pattern, operator, argument, state)
    return state


def _item(pattern: Pattern, operator: Any, argument: Any, state: int) -> int:
    if operator in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN):
        target = pattern.add()
        pattern.tests[state] = ((operator, argument), target)
        # a state holds one test, so what follows starts from a fresh one
        return target
    if operator is codes.BRANCH:
        end = pattern.add()
        for branch in argument[1]:
            begin = pattern.add()
            pattern.moves[state].append((begin, None))
            pattern.moves[_sequence(pattern, branch, begin)].append((end, None))
        return end
    if operator is codes.SUBPATTERN:
        if argument[1] or argument[2]:
            raise PatternError("inline flags are not supported")
        return _sequence(pattern, argument[3], state)
    if operator in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return _repeat(pattern, *argument, state=state)
    if operator is codes.AT and argument in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
        return _anchor(pattern, state, "start")
    if operator is codes.AT and argument in (codes.AT_END, codes.AT_END_STRING):
        return _anchor(pattern, state, "end")
    raise PatternError(f"{str(operator).lower().replace('_', ' ')} is not supported")


def _repeat(pattern: Pattern, least: int, most: Any, body: Any, *, state: int) -> int:
    for _ in range(int(least)):
        pattern.charge()
        state = _sequence(pattern, body, state)
    end = pattern.add()
    if most is codes.MAXREPEAT:
        begin = pattern.add()
        pattern.moves[state] += [(begin, None), (end, None)]
        pattern.moves[_sequence(pattern, body, begin)] += [(begin, None), (end, None)]
        return end
    pattern.moves[state].append((end, None))
    for _ in range(int(most) - int(least)):
        pattern.charge()
        begin = pattern.add()
        pattern.moves[state].append((begin, None))
        state = _sequence(pattern, body, begin)
        pattern.moves[state].append((end, None))
    return end


def _anchor(pattern: Pattern, state: int, where: str) -> int:
    target = pattern.add()
    pattern.moves[state].append((target, where))
    return target


def _accepts(test: Any, character: str) -> bool:
    if test is None:
        return False
    operator, argument = test[0]
    code = ord(character)
    if operator is codes.LITERAL:
        return bool(code == argument)
    if operator is codes.NOT_LITERAL:
        return bool(code != argument)
    if operator is codes.ANY:
        return character != "\n"
    negate = argument[0][0] is codes.NEGATE
    return negate != any(_in(kind, value, code, character) for kind, value in argument[negate:])


def _in(kind: Any, value: Any, code: int, character: str) -> bool:
    if kind is codes.LITERAL:
        return bool(code == value)
    if kind is codes.RANGE:
        return bool(value[0] <= code <= value[1])
    name = str(value)
    matcher = _WORD if "WORD" in name else _SPACE if "SPACE" in name else _DIGIT
    return (matcher.match(character) is not None) != ("NOT" in name)
