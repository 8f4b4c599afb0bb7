/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures what a call does on the GPU with RenderDoc, whose library is in the process if RenderDoc
 * started it or is enabled as a Vulkan layer.
 */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include "gpuexec.h"

/* Opens the devices that the job would run on, and starts a capture. Returns an exit code: that
 * RenderDoc is not there is reported. */
int capture_start(gx_ctx *ctx, const gx_job *job);
/* Ends it and prints the name of the file. Returns an exit code. */
int capture_end(void);

#endif
