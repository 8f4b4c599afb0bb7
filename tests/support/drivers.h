/* SPDX-License-Identifier: Apache-2.0
 *
 * Two Vulkan devices: lavapipe through two driver files, which count as two devices.
 */
#ifndef GX_TESTS_SUPPORT_DRIVERS_H
#define GX_TESTS_SUPPORT_DRIVERS_H

/* From now on "vulkan:0" and "vulkan:1" are the only devices; ends the program as skipped if there
 * can be no driver (GX_TEST_NO_VULKAN). Nonzero: it failed. */
int gxt_two_drivers(void);
/* Removes the files. */
int gxt_two_drivers_end(void);

#endif
