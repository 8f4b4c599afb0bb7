/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts device ticks to the host's clock. If the driver can read both clocks at once
 * (VK_EXT_calibrated_timestamps), it does so from time to time, because clocks drift. Otherwise one
 * stamp at open gives a rough offset. Either way, work lies between its submit and the moment it is
 * seen to be done, and the offset is corrected accordingly.
 */
#include "device/vulkan/commands.h"

#include "base/clock.h"
#include "base/os.h"

#define CALIBRATION_NS 100000000u

/* The clock of gx__now_ns, as Vulkan names it. */
#if defined(_WIN32)
#define HOST_DOMAIN VK_TIME_DOMAIN_QUERY_PERFORMANCE_COUNTER_EXT
#else
#define HOST_DOMAIN VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT
#endif

/* ---- reading both clocks ---- */

static bool can_calibrate(const struct vk_device *device)
{
    enum { DOMAINS_MAX = 16 };
    VkTimeDomainEXT domains[DOMAINS_MAX];
    uint32_t count = DOMAINS_MAX;
    bool ticks = false, host = false;
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT list =
        device->loader->fn.GetPhysicalDeviceCalibrateableTimeDomainsEXT;
    if (!device->has_calibration || !list || !device->fn.vkGetCalibratedTimestampsEXT)
        return false;
    VkResult r = list(device->physical->handle, &count, domains);
    for (uint32_t i = 0; (r == VK_SUCCESS || r == VK_INCOMPLETE) && i < count; i++) {
        ticks |= domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
        host |= domains[i] == HOST_DOMAIN;
    }
    return ticks && host;
}

void gx__vk_clock_calibrate(struct vk_device *device)
{
    const VkCalibratedTimestampInfoEXT infos[] = {
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
         .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = HOST_DOMAIN}};
    struct vk_clock *clock = &device->clock;
    uint64_t read[2], deviation, now = gx__now_ns();
    if (!clock->calibrates)
        return;
    pthread_mutex_lock(&clock->lock);
    bool due = now - clock->calibrated_at > CALIBRATION_NS;
    if (due)
        clock->calibrated_at = now;
    if (due && device->fn.vkGetCalibratedTimestampsEXT(device->handle, 2, infos, read,
                                                       &deviation) == VK_SUCCESS) {
        clock->ticks = read[0];
        clock->host_ns = gx__os_ticks_ns(read[1]);
    }
    pthread_mutex_unlock(&clock->lock);
}

/* ---- without that: one stamp ---- */

static gx_status stamp_once(struct vk_device *device)
{
    struct gx_cmd *cmd;
    struct gx_fence done;
    gx_status s = gx__gpu_begin(device->gpu.base, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    gx__gpu_stamp(cmd, 0);
    s = gx__gpu_submit(cmd, NULL, 0, &done);
    if (s == GX_OK)
        s = gx__gpu_wait(device->gpu.base, done, GX_WAIT_FOREVER);
    uint64_t ticks, now = gx__now_ns();
    if (s == GX_OK)
        s = gx__vk_status(
            device,
            device->fn.vkGetQueryPoolResults(device->handle, ((struct vk_cmd *)cmd)->queries, 0, 1,
                                             sizeof ticks, &ticks, sizeof ticks,
                                             VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
            "vkGetQueryPoolResults");
    if (s == GX_OK) {
        device->clock.ticks = ticks;
        device->clock.host_ns = now;
    }
    gx__gpu_recycle(cmd);
    return s;
}

gx_status gx__vk_clock_open(struct vk_device *device)
{
    device->clock.calibrates = can_calibrate(device);
    if (!device->gpu.base->facts.timestamps)
        return GX_OK;
    if (!device->clock.calibrates)
        return stamp_once(device);
    gx__vk_clock_calibrate(device);
    return GX_OK;
}

/* ---- conversion ---- */

/* Counters have as many bits as the mask and wrap around: the shorter distance is the right one. */
static uint64_t convert(const struct vk_device *device, uint64_t ticks, uint64_t mask)
{
    uint64_t from = device->clock.ticks, forth = (ticks - from) & mask,
             back = (from - ticks) & mask;
    int64_t way = forth <= back ? (int64_t)forth : -(int64_t)back;
    double tick = (double)device->limits.tick_ns;
    return device->clock.host_ns + (uint64_t)(tick == 1 ? way : (int64_t)((double)way * tick));
}

void gx__vk_clock_convert(struct vk_device *device, uint64_t mask, uint64_t submitted_ns,
                          uint64_t *stamps, uint32_t count)
{
    struct vk_clock *clock = &device->clock;
    if (!count)
        return;
    pthread_mutex_lock(&clock->lock);
    uint64_t now = gx__now_ns();
    uint64_t first = convert(device, stamps[0], mask);
    uint64_t last = convert(device, stamps[count - 1], mask);
    if (last > now)
        clock->host_ns -= last - now;
    else if (first < submitted_ns)
        clock->host_ns += submitted_ns - first < now - last ? submitted_ns - first : now - last;
    for (uint32_t i = 0; i < count; i++)
        stamps[i] = convert(device, stamps[i], mask);
    pthread_mutex_unlock(&clock->lock);
}
