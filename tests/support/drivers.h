/* SPDX-License-Identifier: Apache-2.0
 *
 * Two Vulkan devices: lavapipe by two driver files, which are two devices for us.
 */
#ifndef GX_TESTS_SUPPORT_DRIVERS_H
#define GX_TESTS_SUPPORT_DRIVERS_H

/* From now on "vulkan:0" and "vulkan:1" are all there is; ends the program as skipped where
 * there cannot be a driver (GX_TEST_NO_VULKAN). Not 0: it failed. */
int gxt_two_drivers(void);
/* Removes the files. */
int gxt_two_drivers_end(void);

#endif
