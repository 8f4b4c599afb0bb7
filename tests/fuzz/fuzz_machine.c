/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a machine file. A rejected file must give its line; an accepted one must be a machine
 * whose clock moves forward.
 */
#include <stdlib.h>
#include <string.h>

#include "device/test/sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth)
        abort();
}

/* A little of each kind of work, on every queue. */
static void use(const struct gx_machine *machine)
{
    static struct gx_sim_clock clock;
    const struct gx_sim_work work[] = {
        {.kind = GX_SIM_COPY, .upload_bytes = 1 << 20, .download_bytes = 1 << 20},
        {.kind = GX_SIM_KERNEL, .local_bytes = 1 << 20, .products = {1 << 20, 1 << 20}}};
    uint64_t last[GX_SIM_QUEUES] = {0};
    clock = (struct gx_sim_clock){.machine = *machine};
    for (int i = 0; i < 3 * GX_SIM_QUEUES; i++) {
        enum gx_queue queue = (enum gx_queue)(i % GX_SIM_QUEUES);
        uint64_t end = queue >= GX_QUEUE_HOST_IN
                           ? gx__sim_host_copy(&clock, queue, NULL, 0, 1 << 20).end_ns
                           : gx__sim_submit(&clock, queue, NULL, 0, work, 2, NULL).end_ns;
        require(end > last[queue]);
        last[queue] = end;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gx_machine machine;
    struct gx_error error = {""};
    gx_status s = gx__machine_parse(&machine, (const char *)data, size, "f", &error);
    if (s == GX_OK)
        use(&machine);
    else
        require(s == GX_ERR_INVALID && !strncmp(error.text, "f:", 2));
    return 0;
}
