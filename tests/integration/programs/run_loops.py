import contextlib

import loops


@contextlib.contextmanager
def context():
    yield 1


loops.over_range(10)
loops.over_object(range(7))
loops.over_dict({"a": 1, "b": 2, "c": 3})
loops.over_list([1, 2, 3, 4, 5])
loops.left_by_break([0, 1, 2, 3, 4])
loops.left_by_break_range(10)
loops.for_else([1, 2, 3])
loops.while_loop(5)
loops.while_true(3)
loops.nested(3)
loops.returned_from([0, 1, 2])
loops.from_to(5)
loops.down(6)
loops.comprehension([1, 2, 3])
loops.spread([1, 2, 3])
loops.without_gil(4)
loops.managed(context())
loops.parallel(100)
sum(loops.generator(10))
loops.several(1, 2)
loops.element_beside_its_loop([1, 2, 3])
loops.never_entered(1)
for raising in (loops.through_what_raises, lambda: loops.fetching_raises([1, 0]), lambda: loops.a_bound_raises(1)):
    with contextlib.suppress(ZeroDivisionError, TypeError):
        raising()
