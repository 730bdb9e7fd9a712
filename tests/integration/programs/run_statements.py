import array
import asyncio
import contextlib

import statements as s

s.after_return(5)
s.after_break(2)
s.after_raise()
s.returning_finally()
list(s.generator_finally(9))
s.nested_finally()
for kind in (0, 1, 2):
    s.clauses(kind)
s.over_text("text")
s.over_bytes(b"abc", bytearray(b"abc"))
s.over_view(array.array("i", [1, 2, 3, 4]))
s.over_pairs([1, 2, 3], [1, 2, 3])
s.over_set({1, 2}, {1: 2, 3: 4})
s.over_array()
s.one_line_loops([1, 2, 3], 3)
s.condition(1, 1, 0)
s.condition(1, 0, 1)
s.condition(0, 0, 0)
s.smallest(1, 2)
s.smallest(4, 3)
s.several_lines(1)
for n in (1, 2, 3, 4, 5, 6):
    s.switched(n)
for n in (1, 2, 3):
    s.switched_open(n)
for text in "abc":
    s.chained(text)


class Square(s.Shape):
    def size(self):
        return 5


s.Shape().ask()
s.Shape().size()
square = Square()
square.ask()

s.left_prange(10)
s.with_else(10)
s.spread_generator([1, 2, 3])
s.one_line_generators([1, 2, 3])
s.comprehensions([1, 2, 3])
s.filtered([1, 2, 3])
s.managers(contextlib.nullcontext())
s.raising_manager(contextlib.nullcontext())
s.without_gil(3)
s.without_gil(-1)
s.assertions(1)
s.closures(1)
s.empty()
list(s.generator_passing())
s.Passing().get()
s.passing(4)
sketch = s.Sketch()
sketch.size(), sketch.wide(), sketch.told()
s.without_effect(1, None)
for raising in (s.raising_items, s.raising_keys, s.raising_enumerate):
    with contextlib.suppress(TypeError, AttributeError):
        raising(None)
for value in (1, 3, [1], [1, 2], {"k": 1}, "text", 5.5):
    s.matched(value)
for n in (1, 2, 3):
    s.matched_ints(n)
asyncio.run(s.awaited(3))
list(s.delegating(3))
