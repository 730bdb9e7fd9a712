from . import collatz

print(collatz.longest(1000))
