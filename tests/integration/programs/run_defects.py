import sys

import defects

print(list(defects.Countdown(3)))
for _ in range(3):
    defects.double(4)
defects.Derived().size()
defects.caller()
defects.excluded(2)
print(defects.closed_early())
if "settrace" in sys.argv:
    seen = []

    def tracer(frame, event, argument):
        seen.append((frame.f_code.co_name, event))
        return tracer if sys.argv[2] == "all" else None

    sys.settrace(tracer)
    answers = defects.double(5), defects.plain(6), defects.Derived().size()
    alive = sys.gettrace() is tracer
    sys.settrace(None)
    print(answers, alive, [event for name, event in seen if name == "plain"])
