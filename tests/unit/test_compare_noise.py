"""The statistics of `cyprof diff`, held against simulated runs: false alarms, small changes found, one slow run."""

from __future__ import annotations

import math
import random

import pytest

from cyprof.view.compare.noise import Series, judge

FUNCTIONS, RUNS, TRIES = 20, 5, 40


def simulated(seed: int, slower: float = 1.0, pace: float = 0.03, whole: float = 1.0) -> list[Series]:
    """Runs of one program, twice: each run has a pace, each function its own noise, one in ten times is disturbed. The first
    function takes `slower` times as long in the second group, all of them `whole` times."""
    chance = random.Random(seed)
    paces = [chance.gauss(0, pace) + (chance.expovariate(4) if chance.random() < 0.2 else 0) for _ in range(2 * RUNS)]
    found = []
    for function in range(FUNCTIONS):
        noise = 0.01 if not function else chance.choice((0.007, 0.015, 0.03))
        level = chance.uniform(10, 20)
        logs = [
            level + own + chance.gauss(0, noise) + (0.2 * chance.random() if chance.random() < 0.05 else 0) for own in paces
        ]
        for run in range(RUNS, 2 * RUNS):
            logs[run] += math.log(whole) + (math.log(slower) if not function else 0)
        found.append(Series(tuple(logs[:RUNS]), tuple(logs[RUNS:])))
    return found


def test_a_program_against_itself_names_nothing_in_19_of_20_tries() -> None:
    quiet = 0
    for seed in range(TRIES):
        judgement = judge(simulated(seed))
        assert judgement.shuffled
        quiet += not any(change.changed for change in (*judgement.changes, judgement.pace) if change)
    assert quiet >= TRIES * 19 / 20


def test_a_tenth_more_is_found_in_most_tries_and_named_alone() -> None:
    found = alone = 0
    for seed in range(TRIES):
        changes = judge(simulated(seed, slower=1.10)).changes
        found += changes[0].changed
        alone += [change.changed for change in changes] == [True] + [False] * (FUNCTIONS - 1)
    assert found >= TRIES * 18 / 20
    assert alone >= TRIES * 16 / 20


def test_the_interval_holds_the_true_ratio() -> None:
    inside = 0
    for seed in range(TRIES):
        change = judge(simulated(seed, slower=1.3)).changes[0]
        assert change.changed
        inside += abs(change.log_ratio - math.log(1.3)) <= change.half_width
    assert inside >= TRIES * 19 / 20


def test_when_everything_is_slower_the_whole_program_is() -> None:
    judgement = judge(simulated(1, whole=1.5, pace=0.01))
    assert judgement.pace is not None and judgement.pace.changed
    assert all(change.log_ratio == pytest.approx(math.log(1.5), abs=0.2) for change in judgement.changes)
    assert sum(change.changed for change in judgement.changes) > FUNCTIONS / 2


def test_one_slow_run_changes_nothing() -> None:
    series = [Series((10.0 + f / 10,) * 5, (10.0 + f / 10,) * 4 + (11.0 + f / 10,)) for f in range(8)]
    judgement = judge(series)
    assert not any(change.changed for change in judgement.changes)
    assert judgement.paces_after[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_few_runs_name_only_what_stands_out(runs: int) -> None:
    chance = random.Random(runs)

    def logs(level: float) -> tuple[float, ...]:
        return tuple(level + chance.gauss(0, 0.01) for _ in range(runs))

    series = [Series(logs(10), logs(10)) for _ in range(9)] + [Series(logs(10), logs(10 + math.log(3)))]
    judgement = judge(series)
    assert not judgement.shuffled
    assert [change.changed for change in judgement.changes] == [False] * 9 + [True]
    assert judgement.pace is None or not judgement.pace.changed


def uneven(seed: int, slower: float) -> list[Series]:
    """A real table: small functions with a spread of a third, and a machine whose pace only every second large one follows. The
    first function, one that does not, takes `slower` times as long."""
    chance = random.Random(seed)
    paces = [chance.gauss(0, 0.06) for _ in range(2 * RUNS)]
    found = []
    for function in range(16):
        large = function < 9
        noise = chance.uniform(0.005, 0.01) if large else 0.3
        logs = [20 + chance.gauss(0, noise) + (pace if function % 2 or not large else 0.0) for pace in paces]
        for run in range(RUNS, 2 * RUNS):
            logs[run] += 0.0 if function else math.log(slower)
        found.append(Series(tuple(logs[:RUNS]), tuple(logs[RUNS:]), paces=large))
    return found


def test_a_tenth_is_found_among_small_and_restless_functions() -> None:
    found = alarms = 0
    for seed in range(TRIES):
        found += judge(uneven(seed, slower=1.1)).changes[0].changed
        judgement = judge(uneven(seed, slower=1.0))
        alarms += any(change.changed for change in (*judgement.changes, judgement.pace) if change)
    assert found >= TRIES * 19 / 20
    assert alarms <= TRIES / 20


def test_the_pace_is_divided_out_where_it_evens_the_runs() -> None:
    changes = judge(uneven(1, slower=1.0)).changes
    assert sum(change.paced == bool(function % 2) for function, change in enumerate(changes[:9])) >= 8


def test_what_sampling_leaves_open_is_no_change() -> None:
    known = [Series((10.0,) * 5, (10.02 + f / 1000,) * 5, known=0.3, paces=False) for f in range(3)]
    assert not any(change.changed for change in judge(known).changes)


def test_nothing_to_compare() -> None:
    assert judge([]).changes == ()
