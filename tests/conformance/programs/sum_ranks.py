"""Adds the ranks of an MPI job with MPI_Allreduce: ``mpirun python sum_ranks.py``.

With ``print NAME…`` each process prints these variables too. With ``fail RANK`` one ends with 7 after
MPI_Finalize, with ``die RANK`` before it. It calls the C library of the MPI that started it, so it needs
no compiler. The handles below are those of the headers mpi.h: addresses of objects in Open MPI, numbers in
MPICH and Intel MPI.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from typing import Any


def main(words: list[str]) -> int:
    mpi, world, integer, addition = _open_mpi() if "OMPI_COMM_WORLD_RANK" in os.environ else _hydra()
    mpi.MPI_Init(None, None)
    rank, size, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    mpi.MPI_Comm_rank(world, ctypes.byref(rank))
    mpi.MPI_Comm_size(world, ctypes.byref(size))
    mpi.MPI_Allreduce(ctypes.byref(rank), ctypes.byref(total), 1, integer, addition, world)
    assert total.value == sum(range(size.value)), total
    lines = [f"trained rank={rank.value} world={size.value} on={socket.gethostname()} sum={total.value}"]
    if words[:1] == ["print"]:
        lines += [f"{name}={os.environ.get(name)} on={socket.gethostname()}" for name in words[1:]]
    os.write(1, "".join(f"{line}\n" for line in lines).encode())
    if words == ["die", str(rank.value)]:
        os._exit(7)
    mpi.MPI_Finalize()
    return 7 if words == ["fail", str(rank.value)] else 0


def _open_mpi() -> tuple[Any, Any, Any, Any]:
    library = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
    names = ("ompi_mpi_comm_world", "ompi_mpi_int", "ompi_mpi_op_sum")
    world, integer, addition = (
        ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, name))) for name in names
    )
    return library, world, integer, addition


def _hydra() -> tuple[Any, Any, Any, Any]:
    name = "libmpi.so.12" if "I_MPI_ROOT" in os.environ else "libmpich.so.12"
    library = ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
    return library, ctypes.c_int(0x44000000), ctypes.c_int(0x4C000405), ctypes.c_int(0x58000003)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
