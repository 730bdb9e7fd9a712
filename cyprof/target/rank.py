"""Which part of a program on many machines this process is, and where that part writes."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",)),
    ("MV2_COMM_WORLD_RANK", ("MV2_COMM_WORLD_SIZE",)),
    ("PMI_RANK", ("PMI_SIZE",)),
    ("SLURM_PROCID", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")),
    ("PMIX_RANK", ()),
)
"""What tells a process its rank, and the number of ranks: Open MPI, MVAPICH, MPICH and Intel MPI, Slurm's srun, PMIx."""

RANK, PID, HOST = "{rank}", "{pid}", "{host}"
"""What stands in a file's name for the rank, the process and the machine."""


@dataclass(frozen=True, slots=True)
class Rank:
    """One of the processes that a launcher such as mpirun has started. `size` is how many there are, None if it is not told."""

    number: int
    size: int | None = None

    @property
    def title(self) -> str:
        """`rank 3`."""
        return f"rank {self.number}"

    @property
    def is_first(self) -> bool:
        """Whether it speaks for all where one is enough."""
        return self.number == 0


def own_rank(environ: Mapping[str, str] = os.environ) -> Rank | None:
    """The rank of this process; None where it was started alone."""
    for name, sizes in _VARIABLES:
        number = environ.get(name, "")
        if not number.isdecimal():
            continue
        size = next((int(environ[other]) for other in sizes if environ.get(other, "").isdecimal()), None)
        if size != 1:
            return Rank(int(number), size)
    return None


def host() -> str:
    """The name of this machine."""
    return socket.gethostname()


def path_of(path: Path, rank: Rank | None, suffixes: Sequence[str] = ()) -> Path:
    """Where a rank writes that was told to write to `path`, as every other rank was: `out.png` becomes `out.rank3.png`.

    `{rank}`, `{pid}` and `{host}` in it are replaced; where the rank or the process is in the name already, and for what is
    no file but a device or a pipe, nothing is added. Without a rank it is 0. `suffixes` are those that have dots in them.
    """
    return _named(path, "0" if rank is None else str(rank.number), rank is not None, suffixes)


def pattern_of(path: Path, suffixes: Sequence[str] = ()) -> str:
    """A pattern that fits what all ranks write."""
    return str(_named(path, "*", True, suffixes))


def _named(path: Path, number: str, distinct: bool, suffixes: Sequence[str]) -> Path:
    text = str(path)
    process = "*" if number == "*" else str(os.getpid())
    machine = "*" if number == "*" else host()
    named = Path(text.replace(RANK, number).replace(PID, process).replace(HOST, machine))
    if not distinct or RANK in text or PID in text or (path.exists() and not path.is_file() and not path.is_dir()):
        return named
    name = named.name
    suffix = max((one for one in suffixes if name.lower().endswith(one)), key=len, default=named.suffix)
    stem = name[: len(name) - len(suffix)]
    return named.with_name(f"{stem}.rank{number}{suffix}")
