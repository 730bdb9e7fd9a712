import cyprof

cyprof.install()  # before the Cython modules are imported
import collatz  # noqa: E402

with cyprof.profile() as p:  # or @cyprof.profile() on a function
    collatz.longest(1000)

p.lines()  # the line table
p.stats()  # the function table
p.graph("graph.svg")
p.save("run.cyprof")
