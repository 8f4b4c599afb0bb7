/* SPDX-License-Identifier: Apache-2.0
 *
 * live.html, put into the program while building (cmake/embed.cmake).
 */
#ifndef LIVE_PAGE_H
#define LIVE_PAGE_H

#include <stddef.h>

extern const unsigned char live_page[];
extern const size_t live_page_bytes;

#endif
