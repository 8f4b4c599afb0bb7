/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of the CUDA driver API that we use, declared here rather than taken from NVIDIA's
 * header: about forty functions with a stable ABI (a changed one gets a new name, which ends in
 * _v2), so a build needs nothing of CUDA. Types, functions and values have the names of the
 * driver's documentation, in which they are found.
 */
#ifndef GX_DEVICE_CUDA_DRIVER_H
#define GX_DEVICE_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult; /* an enum there */
typedef int CUdevice; /* an index */
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUuuid_st {
    unsigned char bytes[16];
} CUuuid;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_MAP_FAILED = 205,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
    CUDA_ERROR_CONTAINED = 226,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_PERMITTED = 800,
    CUDA_ERROR_NOT_SUPPORTED = 801
};

/* How to launch, with attributes. */
typedef struct CUlaunchAttribute_st {
    int id; /* CUlaunchAttributeID */
    union { /* CUlaunchAttributeValue */
        char pad[64];
        int programmaticStreamSerializationAllowed;
        uint64_t align;
    } value;
} CUlaunchAttribute;
typedef struct CUlaunchConfig_st {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;
enum { CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
_Static_assert(sizeof(CUlaunchAttribute) == 72 && offsetof(CUlaunchAttribute, value) == 8,
               "NVIDIA's cuda.h");

/* CUdevice_attribute */
enum {
    CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
    CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122
};

/* CUpointer_attribute, CUmemorytype */
enum {
    CU_POINTER_ATTRIBUTE_CONTEXT = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
};
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };

/* CUDA_MEMCPY2D: `height` rows of `width` bytes. With CU_MEMORYTYPE_UNIFIED addresses say what is
 * where; no pitch may be above CU_PITCH_MAX. */
#define CU_MEMORYTYPE_UNIFIED 4u
#define CU_PITCH_MAX          0x7fffffffu
typedef struct CUmemcpy2D {
    size_t from_x, from_y;
    unsigned from_type;
    const void *from_host;
    CUdeviceptr from;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    unsigned to_type;
    void *to_host;
    CUdeviceptr to;
    void *to_array;
    size_t to_pitch;
    size_t width, height;
} CUmemcpy2D;

/* CUjit_option, CUjitInputType */
enum { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };
enum { CU_JIT_INPUT_PTX = 1 };

#define CU_STREAM_NON_BLOCKING        1u /* with the default stream */
#define CU_EVENT_DEFAULT              0u
#define CU_EVENT_DISABLE_TIMING       2u
#define CU_MEMHOSTALLOC_PORTABLE      1u
#define CU_MEMHOSTALLOC_DEVICEMAP     2u
#define CU_MEMHOSTREGISTER_PORTABLE   1u
#define CU_MEMHOSTREGISTER_DEVICEMAP  2u
#define CU_STREAM_WRITE_VALUE_DEFAULT 0u

/* X(our name, symbol, arguments). All return a CUresult. */
#define CU_FUNCTIONS(X)                                                                            \
    X(Init, cuInit, (unsigned flags))                                                              \
    X(DriverGetVersion, cuDriverGetVersion, (int *version))                                        \
    X(GetErrorName, cuGetErrorName, (CUresult error, const char **name))                           \
    X(DeviceGetCount, cuDeviceGetCount, (int *count))                                              \
    X(DeviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                                    \
    X(DeviceGetName, cuDeviceGetName, (char *name, int size, CUdevice device))                     \
    X(DeviceGetUuid, cuDeviceGetUuid, (CUuuid * uuid, CUdevice device))                            \
    X(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                      \
    X(DeviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))      \
    X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))    \
    X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                    \
    X(CtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext context))                                    \
    X(CtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext * context))                                    \
    X(MemAlloc, cuMemAlloc_v2, (CUdeviceptr * memory, size_t bytes))                               \
    X(MemFree, cuMemFree_v2, (CUdeviceptr memory))                                                 \
    X(MemHostAlloc, cuMemHostAlloc, (void **host, size_t bytes, unsigned flags))                   \
    X(MemFreeHost, cuMemFreeHost, (void *host))                                                    \
    X(MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                                       \
      (CUdeviceptr * memory, void *host, unsigned flags))                                          \
    X(MemHostRegister, cuMemHostRegister_v2, (void *host, size_t bytes, unsigned flags))           \
    X(MemHostUnregister, cuMemHostUnregister, (void *host))                                        \
    X(MemGetAddressRange, cuMemGetAddressRange_v2,                                                 \
      (CUdeviceptr * base, size_t * bytes, CUdeviceptr memory))                                    \
    X(PointerGetAttribute, cuPointerGetAttribute,                                                  \
      (void *value, int attribute, CUdeviceptr memory))                                            \
    X(MemcpyAsync, cuMemcpyAsync,                                                                  \
      (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                           \
    X(Memcpy2DAsync, cuMemcpy2DAsync_v2, (const CUmemcpy2D *copy, CUstream stream))                \
    X(StreamCreate, cuStreamCreate, (CUstream * stream, unsigned flags))                           \
    X(StreamDestroy, cuStreamDestroy_v2, (CUstream stream))                                        \
    X(StreamQuery, cuStreamQuery, (CUstream stream))                                               \
    X(StreamWaitEvent, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))        \
    X(EventCreate, cuEventCreate, (CUevent * event, unsigned flags))                               \
    X(EventDestroy, cuEventDestroy_v2, (CUevent event))                                            \
    X(EventRecord, cuEventRecord, (CUevent event, CUstream stream))                                \
    X(EventQuery, cuEventQuery, (CUevent event))                                                   \
    X(EventElapsedTime, cuEventElapsedTime, (float *ms, CUevent from, CUevent to))                 \
    X(LinkCreate, cuLinkCreate_v2,                                                                 \
      (unsigned count, int *options, void **values, CUlinkState *state))                           \
    X(LinkAddData, cuLinkAddData_v2,                                                               \
      (CUlinkState state, int type, void *data, size_t bytes, const char *name, unsigned count,    \
       int *options, void **values))                                                               \
    X(LinkComplete, cuLinkComplete, (CUlinkState state, void **cubin, size_t *bytes))              \
    X(LinkDestroy, cuLinkDestroy, (CUlinkState state))                                             \
    X(ModuleLoadData, cuModuleLoadData, (CUmodule * module, const void *image))                    \
    X(ModuleUnload, cuModuleUnload, (CUmodule module))                                             \
    X(ModuleGetFunction, cuModuleGetFunction,                                                      \
      (CUfunction * function, CUmodule module, const char *name))                                  \
    X(LaunchKernel, cuLaunchKernel,                                                                \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **params,  \
       void **extra))

/* NULL if the driver lacks them: since CUDA 11.7, 11.8. */
#define CU_OPTIONAL_FUNCTIONS(X)                                                                   \
    X(StreamWriteValue64, cuStreamWriteValue64_v2,                                                 \
      (CUstream stream, CUdeviceptr memory, uint64_t value, unsigned flags))                       \
    X(LaunchKernelEx, cuLaunchKernelEx,                                                            \
      (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))

struct cu_fn {
#define X(name, symbol, arguments) CUresult(*name) arguments;
    CU_FUNCTIONS(X)
    CU_OPTIONAL_FUNCTIONS(X)
#undef X
};

#endif
