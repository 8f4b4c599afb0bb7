/* SPDX-License-Identifier: Apache-2.0
 *
 * wgpu-native has no way to return the errors of a few of its functions, a lost device among
 * them: it panics, and a panic that finds nobody to catch it ends the process. Here is who
 * catches it. A panic is an exception of the platform's C++ ABI. Before anything is unwound,
 * the unwinder asks the personality routine of each frame, and the one of the frame below
 * jumps back to where the call was made. wgpu's own work is over and its locks are free by
 * then: it panics where it would otherwise return. The device is not used any more after that.
 *
 * Rust has no word for this: to it the thread goes on panicking, and what the thread releases of
 * wgpu from then on is not freed. Buffers are destroyed all the same (memory.c).
 */
#include "device/webgpu/webgpu.h"

#include <setjmp.h>
#include <unwind.h>

static _Thread_local jmp_buf *escape;

_Unwind_Reason_Code gx__wg_personality(int version, _Unwind_Action actions,
                                       _Unwind_Exception_Class kind,
                                       struct _Unwind_Exception *exception,
                                       struct _Unwind_Context *context);

/* Found by name, from the unwind table of the frame. */
__attribute__((used, visibility("hidden"))) _Unwind_Reason_Code
gx__wg_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                   struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
    (void)version;
    (void)kind;
    (void)exception;
    (void)context;
    if (actions & _UA_SEARCH_PHASE && escape)
        longjmp(*escape, 1);
    return _URC_CONTINUE_UNWIND;
}

__attribute__((noinline)) static void frame(void (*call)(void *), void *argument)
{
    /* 0x1b: relative to here, four bytes. */
    __asm__ volatile(".cfi_personality 0x1b, gx__wg_personality");
    call(argument);
    __asm__ volatile("" : : : "memory"); /* no tail call: the frame has to be there */
}

bool gx__wg_guard(void (*call)(void *), void *argument)
{
    jmp_buf here;
    if (setjmp(here)) {
        escape = NULL;
        return false;
    }
    escape = &here;
    frame(call, argument);
    escape = NULL;
    return true;
}
