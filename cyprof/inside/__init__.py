"""What runs inside the program's own processes. Imports next to nothing: a program finds only what it imports itself."""

VARIABLE = "CYPROF_PROCESSES"
"""The environment variable that names the folder of a run to the processes that its program starts."""
