/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory shared with the caller's own CUDA code.
 */
#ifndef GPUEXEC_CUDA_H
#define GPUEXEC_CUDA_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- CUDA ------------------------------------------------------------------ */

/* Makes a buffer of memory that the caller has allocated on a CUDA device, for jobs to use in
 * place: `bytes` bytes, more than 0, from this device pointer on, a multiple of 16, inside one
 * allocation of the device's primary context, which is that of the CUDA runtime (cudaMalloc,
 * cuMemAlloc). The memory stays the caller's: it must outlive the buffer, which does not free it,
 * and counts neither for gx_config.device_memory nor in gx_counter. The library works on streams of
 * its own: gx_buf_cuda_wait and gx_buf_cuda_wait_event put them behind work of the caller. Calls
 * that wait for a job or copy return when its work on the memory is done. device as for
 * gx_buf_create, but NULL only if gx_config.device is one device. Returns GX_ERR_UNSUPPORTED if it
 * is no CUDA device, and GX_ERR_INVALID for other addresses; the message says why. Any thread; may
 * block while the device is opened. */
GX_API gx_status gx_buf_from_cuda(gx_ctx *ctx, const char *device, uint64_t address, size_t bytes,
                                  gx_buf **buf);

/* Device pointer of a buffer on a CUDA device, in its primary context, for the caller's own kernels
 * and copies; 0 on other devices and for NULL. Valid until the buffer is destroyed or the device is
 * lost. No job or copy may use the buffer at the same time: the next two put them behind the
 * caller's work, and the caller's work goes behind them once gx_run, gx_wait or gx_done_fn has said
 * that they are done. Any thread; does not block. */
GX_API uint64_t gx_buf_cuda_address(const gx_buf *buf);

/* Orders the library's work behind the caller's: jobs and copies that are run or submitted after
 * this call, on the buffer's device, begin there when what `stream` has now is done. The host does
 * not wait. stream: a CUstream or cudaStream_t of the device's primary context; NULL: the default
 * stream. It must not be capturing: that is not noticed, and the device is lost. Without this call,
 * what the caller has begun on the memory must be done (cudaStreamSynchronize) before a call that
 * uses it. What the stream has counts as time of the jobs behind it: after a minute they fail with
 * GX_ERR_TIMEOUT. What the host reads and writes itself is not ordered: host memory, and buffers
 * with GX_BUF_MAPPABLE, of which any may be copied or mapped by the host. Returns
 * GX_ERR_UNSUPPORTED if the buffer is on no CUDA device, and GX_ERR_INVALID for a mappable buffer
 * and for other streams. Any thread; does not block. */
GX_API gx_status gx_buf_cuda_wait(gx_buf *buf, void *stream);

/* The same for what comes before an event, a CUevent or cudaEvent_t that is not NULL, in the stream
 * where it was recorded last, which may be of another device. One that was never recorded is not
 * waited for. It may be recorded anew or destroyed after this call. */
GX_API gx_status gx_buf_cuda_wait_event(gx_buf *buf, void *event);

#ifdef __cplusplus
}
#endif

#endif
