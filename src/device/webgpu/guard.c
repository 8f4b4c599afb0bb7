/* SPDX-License-Identifier: Apache-2.0
 *
 * A few functions of wgpu-native cannot return errors, a lost device among them: they panic, and an
 * uncaught panic ends the process. This file catches it. A panic is an exception of the platform's
 * C++ ABI. Before unwinding anything, the unwinder calls the personality routine of each frame, and
 * that of the frame below jumps back to the call. By then wgpu's work is over and its locks are
 * free: it panics where it would otherwise return. Unwinding instead would end the process: Rust
 * lets nothing unwind through wgpu's functions for C. The device is not used any more after that.
 *
 * Rust does not provide for this: as far as it knows the thread is still panicking, and wgpu
 * objects released by this thread from then on are not freed. Buffers are destroyed anyway
 * (memory.c).
 */
#include "device/webgpu/webgpu.h"

#include <setjmp.h>

static _Thread_local jmp_buf *escape;

/* Found by name through the frame's unwind table. */
#if defined(_WIN32)

#include <windows.h>

/* Without a frame to unwind to, longjmp restores the registers and calls no one. */
#define SET_ESCAPE(here) _setjmp(here, NULL)
#define PERSONALITY      ".seh_handler gx__wg_on_exception, @except"

enum { CPP_EXCEPTION = (int)0xe06d7363 };

/* This thread's list of handlers, which Windows does not use in 64-bit processes. Wine does: while
 * it calls a handler, the list begins with an entry on the stack. After a jump out of the handler
 * that memory is used for something else, and the next exception would call it. */
static _Thread_local void *handlers;

static NT_TIB *this_thread(void)
{
    NT_TIB *tib;
    __asm__("movq %%gs:0x30, %0" : "=r"(tib)); /* NtCurrentTeb(), of which gcc 12 warns */
    return tib;
}

static void keep_handlers(void)
{
    handlers = this_thread()->ExceptionList;
}

EXCEPTION_DISPOSITION gx__wg_on_exception(EXCEPTION_RECORD *record, void *frame, CONTEXT *context,
                                          void *dispatcher);

__attribute__((used)) EXCEPTION_DISPOSITION
gx__wg_on_exception(EXCEPTION_RECORD *record, void *frame, CONTEXT *context, void *dispatcher)
{
    (void)frame;
    (void)context;
    (void)dispatcher;
    if ((int)record->ExceptionCode == CPP_EXCEPTION && escape) {
        this_thread()->ExceptionList = handlers;
        longjmp(*escape, 1);
    }
    return ExceptionContinueSearch;
}

#else

#include <unwind.h>

#define SET_ESCAPE(here) setjmp(here)
#define PERSONALITY      ".cfi_personality 0x1b, gx__wg_personality" /* relative to here, four bytes */

static void keep_handlers(void)
{
}

_Unwind_Reason_Code gx__wg_personality(int version, _Unwind_Action actions,
                                       _Unwind_Exception_Class kind,
                                       struct _Unwind_Exception *exception,
                                       struct _Unwind_Context *context);

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

#endif

__attribute__((noinline)) static void frame(void (*call)(void *), void *argument)
{
    __asm__ volatile(PERSONALITY);
    call(argument);
    /* no tail call: the frame has to exist; and on Windows a frame that is about to return, with
     * nothing else after the call, counts as gone */
    __asm__ volatile("nop" : : : "memory");
}

bool gx__wg_guard(void (*call)(void *), void *argument)
{
    jmp_buf here;
    if (SET_ESCAPE(here)) {
        escape = NULL;
        return false;
    }
    escape = &here;
    keep_handlers();
    frame(call, argument);
    escape = NULL;
    return true;
}
