/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of memory, on Windows.
 */
#ifndef GXT_WINDOWS_MMAN_H
#define GXT_WINDOWS_MMAN_H

#include <stddef.h>

enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, MAP_PRIVATE = 1, MAP_ANONYMOUS = 2 };
#define MAP_FAILED ((void *)-1)

__declspec(dllimport) void *__stdcall VirtualAlloc(void *at, size_t bytes, unsigned long type,
                                                   unsigned long protect);
__declspec(dllimport) int __stdcall VirtualProtect(void *at, size_t bytes, unsigned long protect,
                                                   unsigned long *before);

/* PAGE_NOACCESS, PAGE_READONLY, PAGE_READWRITE */
static inline unsigned long gxt_page_protection(int prot)
{
    return prot & PROT_WRITE ? 4 : prot & PROT_READ ? 2 : 1;
}

static inline void *mmap(void *at, size_t bytes, int prot, int flags, int fd, long offset)
{
    (void)flags;
    (void)fd;
    (void)offset;
    void *memory = VirtualAlloc(at, bytes, 0x3000, gxt_page_protection(prot));
    return memory ? memory : MAP_FAILED;
}

static inline int mprotect(void *at, size_t bytes, int prot)
{
    unsigned long before;
    return VirtualProtect(at, bytes, gxt_page_protection(prot), &before) ? 0 : -1;
}

#endif
