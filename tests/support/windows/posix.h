/* SPDX-License-Identifier: Apache-2.0
 *
 * The little of POSIX that the tests use and MinGW lacks; included into every test on Windows.
 */
#ifndef GXT_WINDOWS_POSIX_H
#define GXT_WINDOWS_POSIX_H

#include <direct.h>
#include <io.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

#define tell              gxt_tell /* a name that is theirs */
#define _SC_PAGESIZE      1
#define O_CLOEXEC         O_NOINHERIT
#define mkdir(path, mode) _mkdir(path)

__declspec(dllimport) int __stdcall SetEnvironmentVariableA(const char *name, const char *value);

static inline int setenv(const char *name, const char *value, int replace)
{
    (void)replace;
    _putenv_s(name, value); /* the C library has a copy */
    return SetEnvironmentVariableA(name, value) ? 0 : -1;
}

static inline int unsetenv(const char *name)
{
    _putenv_s(name, "");
    SetEnvironmentVariableA(name, NULL);
    return 0;
}

static inline long sysconf(int name)
{
    (void)name;
    return 4096;
}

__declspec(dllimport) unsigned long __stdcall GetCurrentThreadId(void);

static inline int gettid(void)
{
    return (int)GetCurrentThreadId();
}

static inline char *mkdtemp(char *name)
{
    return _mktemp(name) && !_mkdir(name) ? name : NULL;
}

/* Text in memory, one at a time: what was written is there after fclose. */
static struct gx_os_text gxt_text;
static char **gxt_text_to;
static size_t *gxt_text_size;

static inline FILE *open_memstream(char **text, size_t *size)
{
    gxt_text_to = text;
    gxt_text_size = size;
    return gx__os_text_open(&gxt_text) ? gxt_text.file : NULL;
}

static inline int gxt_fclose(FILE *file)
{
    if (!gxt_text_to || file != gxt_text.file)
        return fclose(file);
    bool ok = gx__os_text_close(&gxt_text);
    *gxt_text_to = gxt_text.text;
    *gxt_text_size = gxt_text.size;
    gxt_text_to = NULL;
    return ok ? 0 : EOF;
}
#define fclose gxt_fclose

#endif
