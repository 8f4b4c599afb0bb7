# SPDX-License-Identifier: Apache-2.0
"""gpuexec: batches of finite-field arithmetic, NTT and MSM on CPU vector units and GPUs.

    import gpuexec as gx

    with gx.Context() as ctx:
        a = gx.BLS12_381_FR.encode([1, 2, 3])
        print(gx.BLS12_381_FR.decode(ctx.mul(gx.BLS12_381_FR, a, 5)))  # [5, 10, 15]

Elements are rows of numpy arrays of uint64, in Montgomery form; the library works on them in place.
"""

from ._context import Context
from ._errors import (
    CancelledError,
    ClosedError,
    Error,
    InUseError,
    InvalidError,
    NoMemoryError,
    NotCanonicalError,
    Status,
)
from ._jobs import Job
from ._lib import lib as _lib
from ._lib import text as _text
from ._objects import Buffer, BufferView, Domain, Points
from ._reports import Candidate, Device, Estimate, Report
from ._tickets import Ticket, wait_any
from ._values import (
    BLS12_381_FQ,
    BLS12_381_FR,
    BLS12_381_G1,
    BLS12_381_G2,
    BN254_FQ,
    BN254_FR,
    BN254_G1,
    BN254_G2,
    CURVES,
    F32,
    FIELDS,
    U32,
    Curve,
    Field,
)

__version__ = _text(_lib.gx_version())

__all__ = [
    "BLS12_381_FQ",
    "BLS12_381_FR",
    "BLS12_381_G1",
    "BLS12_381_G2",
    "BN254_FQ",
    "BN254_FR",
    "BN254_G1",
    "BN254_G2",
    "Buffer",
    "BufferView",
    "CURVES",
    "CancelledError",
    "Candidate",
    "ClosedError",
    "Context",
    "Curve",
    "Device",
    "Domain",
    "Error",
    "Estimate",
    "F32",
    "FIELDS",
    "Field",
    "InUseError",
    "InvalidError",
    "Job",
    "NoMemoryError",
    "NotCanonicalError",
    "Points",
    "Report",
    "Status",
    "Ticket",
    "U32",
    "wait_any",
]
