"""The C side of cyprof: the probes compiled into scratch builds, and the runtime they record into. No Python logic."""
