"""Everything cyprof knows about Cython: its directives, its generated names and code, and the hook that puts probes in."""
