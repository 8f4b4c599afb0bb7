/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec: batch finite-field and vector arithmetic on the fastest device of this machine.
 * The whole public API, for C11, C++17 and binding generators. A program may include this header,
 * or those of its topics.
 *
 * Conventions that apply to every declaration of these headers:
 *   - zero means default: a struct initialised to {0} is always a valid argument;
 *   - the library never prints, exits or aborts; messages go to gx_config.log and
 *     gx_last_message (two drivers print on their own: see "Printing" in doc/design.md);
 *   - pointer arguments are borrowed for the duration of the call unless stated otherwise;
 *   - "any thread" means any number of threads concurrently, on the same context;
 *   - what a call or a job takes beside its operands is a struct gx_..._params; the settings of a
 *     context are a gx_config, whose members can also be set by name;
 *   - gx_..._destroy and gx_close clear the caller's pointer; they accept NULL and a pointer to
 *     NULL.
 *
 * Structs grow at the end. struct_size tells the library how much of a struct the caller was
 * compiled with: set it to sizeof. 0 always means the size in the first release, 0.1. A program
 * and a library of different versions work together, whichever is newer:
 *   - inputs: members that an older program lacks take their defaults; a newer program that sets
 *     a member the library does not know gets GX_ERR_INVALID;
 *   - outputs: the library writes no more than the program has room for, and zeroes any
 *     members it does not know;
 *   - arrays: struct_size of the first element applies to all of them. It must not be 0 if there
 *     is room for more than one element, because recompiling the same program against a newer
 *     header would change the element size.
 * Structs marked "frozen" never change. Members named reserved must be 0.
 */
#ifndef GPUEXEC_H
#define GPUEXEC_H

#include "gpuexec/core.h"
#include "gpuexec/async.h"
#include "gpuexec/ntt.h"
#include "gpuexec/msm.h"
#include "gpuexec/kernel.h"
#include "gpuexec/observe.h"
#include "gpuexec/cuda.h"

#endif
