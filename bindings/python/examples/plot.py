# SPDX-License-Identifier: Apache-2.0
"""Time of transforms and of multi-scalar multiplications by size, on every device that is found.

plot.py [LARGEST [IMAGE]]: up to 2^LARGEST elements (16), drawn to a file (gpuexec.png). Needs
matplotlib.
"""

import sys
import time
from collections.abc import Callable
from functools import partial

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import gpuexec as gx

largest = int(sys.argv[1]) if len(sys.argv) > 1 else 16
image = sys.argv[2] if len(sys.argv) > 2 else "gpuexec.png"
sizes = range(min(8, largest), largest + 1, 2)
Fr, G1 = gx.BLS12_381_FR, gx.BLS12_381_G1


def seconds(call: Callable[[], object]) -> float:
    """The median of five, after one that opens the device and makes its tables."""
    call()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


with gx.Context() as ctx:
    # WebGPU reaches the same devices again; ref is slow on purpose.
    kinds = ("cpu", "cuda", "vulkan")
    devices = [d for d in ctx.devices() if d.usable and d.kind in kinds]
    domain = ctx.domain(Fr, largest)
    scalars = Fr.random(1 << largest, seed=1)
    points = ctx.points(G1, ctx.multiply(G1, scalars), check="none")
    values = np.empty_like(scalars)

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    for device in devices:
        ntt, msm = [], []
        for log2_n in sizes:
            n = 1 << log2_n
            a, out, name = scalars[:n], values[:n], device.name
            ntt.append(1e3 * seconds(partial(ctx.ntt, domain, a, out=out, device=name)))
            msm.append(1e3 * seconds(partial(ctx.msm, points, a, device=name)))
            print(f"{name:10} 2^{log2_n}: NTT {ntt[-1]:9.3f} ms, MSM {msm[-1]:9.3f} ms", flush=True)
        label = f"{device.name}: {device.description.split(' (')[0].split(',')[0]}"
        left.plot(sizes, ntt, "o-", label=label)
        right.plot(sizes, msm, "o-", label=label)

    for axes, title in ((left, "NTT, BLS12-381 Fr"), (right, "MSM, BLS12-381 G1")):
        axes.set(title=title, xlabel="elements", yscale="log", xticks=list(sizes))
        axes.set_xticklabels([f"$2^{{{i}}}$" for i in sizes])
        axes.grid(alpha=0.3, which="both")
        axes.spines[["top", "right"]].set_visible(False)
    left.set_ylabel("ms, from and to host memory")
    left.legend(frameon=False)
    figure.savefig(image, dpi=120)
    print(image)
