/* SPDX-License-Identifier: Apache-2.0
 *
 * Description of this machine apart from its devices.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>

/* "cpu 3245 MHz, NVIDIA H200 1980 MHz (memory 3201 MHz)": the clocks that can be read now; empty if
 * none. */
void machine_clocks(char *text, size_t size);

/* "2026-11-15T14:02:12Z" */
void machine_date(char *text, size_t size);

#endif
