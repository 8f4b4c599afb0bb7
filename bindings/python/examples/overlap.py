# SPDX-License-Identifier: Apache-2.0
"""Transforms in the background: tickets that are awaited, while Python does something else."""

import asyncio

import gpuexec as gx

Fr = gx.BLS12_381_FR


async def main() -> None:
    with gx.Context(log=lambda level, message: print(level, message)) as ctx:
        domain = ctx.domain(Fr, 12)
        inputs = [Fr.random(1 << 12, seed=i) for i in range(4)]
        tickets = [ctx.submit(gx.Job.ntt(domain, a)) for a in inputs]
        for a, ticket in zip(inputs, tickets, strict=True):
            values = await ticket
            (report,) = ticket.wait()
            print(f"on {report.device} ({report.reason}), {report.total_ns / 1e6:.2f} ms")
            assert (ctx.ntt(domain, values, inverse=True) == a).all()


asyncio.run(main())
