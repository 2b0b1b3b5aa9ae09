/* SPDX-License-Identifier: Apache-2.0 */
/* What every public header of gpuc builds on: status, allocator, element types.
 *
 * Ownership grammar, used by all headers and repeated nowhere:
 *   create, load      the caller owns one reference of the result
 *   retain, release   add, drop one reference; release(NULL) does nothing
 *   init, deinit      for structs that the caller stores
 *   get, or a noun    borrows: valid as long as the owner is
 *   take              moves ownership out of its argument
 * Out parameters are set to NULL or zero before any work is done.
 *
 * Threads: an object may be used by one thread at a time unless its header says otherwise. */
#ifndef GPUC_BASE_H
#define GPUC_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the compiler knows of a function: exported, result must be used, takes a printf format, does not
 * return. */
#if defined(GPUC_STATIC) || !defined(__GNUC__)
#define GPUC_API
#else
#define GPUC_API __attribute__((visibility("default")))
#endif
#ifdef __GNUC__
#define GPUC_NODISCARD __attribute__((warn_unused_result))
#define GPUC_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define GPUC_NORETURN __attribute__((noreturn))
#else
#define GPUC_NODISCARD
#define GPUC_PRINTF(fmt, first)
#define GPUC_NORETURN
#endif

/* ---- Version ------------------------------------------------------------------------------ */

/* The number of the binary interface. It changes with every change of a public struct, constant or function that a
 * program or plug-in that was compiled before would notice. Plug-ins compare it (gpuc/plugin.h). */
#define GPUC_ABI_VERSION 4

/* ---- Status ------------------------------------------------------------------------------- */

/* Why a call failed. Programs branch on the code; the message is for people. */
typedef enum gpuc_code {
    GPUC_OK = 0,
    GPUC_INVALID_ARGUMENT,     /* the caller's argument: wrong name, dims, dtype, missing input */
    GPUC_INVALID_DATA,         /* a file or a byte string is damaged or not of its format */
    GPUC_NOT_FOUND,            /* no such file, function, device, kernel */
    GPUC_UNSUPPORTED,          /* valid, but not supported: operator, dtype, feature of the target */
    GPUC_OUT_OF_MEMORY,        /* host memory */
    GPUC_OUT_OF_DEVICE_MEMORY, /* of a device */
    GPUC_DEVICE_UNAVAILABLE,   /* driver missing, device lacks a requirement */
    GPUC_DEVICE_LOST,          /* the device failed; its objects can only be released */
    GPUC_IO,                   /* a system call failed; the message has its reason */
    GPUC_INTERNAL,             /* a broken invariant of gpuc itself */
    GPUC_CANCELLED,            /* the application's callback said so */
    GPUC_CODE_COUNT            /* no code */
} gpuc_code;

/* NULL means success. A status that is not NULL is owned by whoever holds it: return it, or
 * look at it and release it. Out of memory while making one gives a static object. */
typedef struct gpuc_error *gpuc_status;

/* Makes an error with a formatted message; callers use gpuc_fail. An unknown code, or GPUC_OK, becomes
 * GPUC_INTERNAL. The texts are copied. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_error_make(gpuc_code code, const char *file, int line,
                                                    const char *fmt, ...) GPUC_PRINTF(4, 5);
/* Puts "<text>: " in front of the message. Takes and returns the status; NULL stays NULL. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_error_prefix(gpuc_status status, const char *fmt, ...)
    GPUC_PRINTF(2, 3);
GPUC_API gpuc_code gpuc_status_code(gpuc_status status);      /* GPUC_OK for NULL */
GPUC_API const char *gpuc_status_message(gpuc_status status); /* "" for NULL; borrowed */
GPUC_API const char *gpuc_status_file(gpuc_status status);    /* source place of the failure */
/* The line of that place; 0 for NULL. */
GPUC_API int gpuc_status_line(gpuc_status status);
/* Frees an error. NULL does nothing. */
GPUC_API void gpuc_status_release(gpuc_status status);
GPUC_API const char *gpuc_code_name(gpuc_code code); /* "invalid argument", ... */

/* Makes an error of the place where it stands: return gpuc_fail(GPUC_NOT_FOUND, "no such file: %s", path); */
#define gpuc_fail(code, ...) gpuc_error_make((code), __FILE__, __LINE__, __VA_ARGS__)
/* Evaluates an expression of type gpuc_status, and returns from the calling function if it is an error. */
#define GPUC_TRY(expr)                                                                                       \
    do {                                                                                                     \
        gpuc_status try_status_ = (expr);                                                                    \
        if (try_status_) return try_status_;                                                                 \
    } while (0)

/* What the descriptions of calls start from (GPUC_RUNTIME_DESC_INIT, ...): zeros, and struct_size set.
 * By that the library knows which fields the program was compiled with.
 *
 * In C it is an object of the block that it stands in, in C++ a temporary. */
#ifdef __cplusplus
/* A T of zeros that knows its size. */
extern "C++" template <class T> inline T gpuc_sized_()
{
    T desc{};
    desc.struct_size = sizeof(T);
    return desc;
}
#define GPUC_SIZED(T) (gpuc_sized_<T>())
#else
#define GPUC_SIZED(T) ((T){.struct_size = sizeof(T)})
#endif

/* ---- Allocator ---------------------------------------------------------------------------- */

/* A zeroed struct is the C library's allocator. resize(user, NULL, 0, n) allocates,
 * resize(user, p, n, 0) frees and returns NULL. Blocks are aligned for any C type. Must be
 * callable from any thread that uses the library. */
typedef struct gpuc_allocator {
    /* Returns a block of new_size bytes that holds what the old one held, or NULL: then the old block
     * stays. */
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t new_size);
    void *user; /* passed to resize */
} gpuc_allocator;

/* ---- Element types ------------------------------------------------------------------------ */

/* Same bytes and codes as DLPack's DLDataType. */
typedef enum gpuc_dtype_code {
    GPUC_DTYPE_INT = 0,
    GPUC_DTYPE_UINT = 1,
    GPUC_DTYPE_FLOAT = 2,
    GPUC_DTYPE_HANDLE = 3,
    GPUC_DTYPE_BFLOAT = 4,
    GPUC_DTYPE_BOOL = 6
} gpuc_dtype_code;

typedef struct gpuc_dtype {
    uint8_t code;   /* gpuc_dtype_code */
    uint8_t bits;   /* of one lane; bool is stored in 8 bits */
    uint16_t lanes; /* 1 for a scalar */
} gpuc_dtype;

/* A scalar type of a code and a width in bits; the macros below name those that exist. */
#ifdef __cplusplus
#define GPUC_DT(c, b) (gpuc_dtype{(uint8_t)(c), (uint8_t)(b), 1})
#else
#define GPUC_DT(c, b) ((gpuc_dtype){.code = (c), .bits = (b), .lanes = 1})
#endif
#define GPUC_FLOAT16 GPUC_DT(GPUC_DTYPE_FLOAT, 16)
#define GPUC_FLOAT32 GPUC_DT(GPUC_DTYPE_FLOAT, 32)
#define GPUC_FLOAT64 GPUC_DT(GPUC_DTYPE_FLOAT, 64)
#define GPUC_BFLOAT16 GPUC_DT(GPUC_DTYPE_BFLOAT, 16)
#define GPUC_INT8 GPUC_DT(GPUC_DTYPE_INT, 8)
#define GPUC_INT16 GPUC_DT(GPUC_DTYPE_INT, 16)
#define GPUC_INT32 GPUC_DT(GPUC_DTYPE_INT, 32)
#define GPUC_INT64 GPUC_DT(GPUC_DTYPE_INT, 64)
#define GPUC_UINT8 GPUC_DT(GPUC_DTYPE_UINT, 8)
#define GPUC_UINT16 GPUC_DT(GPUC_DTYPE_UINT, 16)
#define GPUC_UINT32 GPUC_DT(GPUC_DTYPE_UINT, 32)
#define GPUC_UINT64 GPUC_DT(GPUC_DTYPE_UINT, 64)
#define GPUC_BOOL GPUC_DT(GPUC_DTYPE_BOOL, 8)

/* Whether two types have the same code, bits and lanes. */
static inline bool gpuc_dtype_equal(gpuc_dtype a, gpuc_dtype b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
/* The same type with another number of lanes. */
static inline gpuc_dtype gpuc_dtype_with_lanes(gpuc_dtype t, int lanes)
{
    t.lanes = (uint16_t)lanes;
    return t;
}
/* Bytes of one lane in memory. */
static inline size_t gpuc_dtype_bytes(gpuc_dtype t)
{
    return ((size_t)t.bits + 7) / 8;
}
/* Whether it holds floats, of any width. */
GPUC_API bool gpuc_dtype_is_float(gpuc_dtype t);
/* The value of an element of a float type in memory. */
GPUC_API double gpuc_float_load(gpuc_dtype t, const void *at);
/* Writes the value nearest to v that the type has, halves to even. */
GPUC_API void gpuc_float_store(gpuc_dtype t, void *at, double v);
/* Whether gpuc has this type, with one lane or more. */
GPUC_API bool gpuc_dtype_exists(gpuc_dtype t);
/* Writes "float32", "int8", "bool", "float32x4", ... (at most 24 bytes with the 0). Returns out. */
GPUC_API char *gpuc_dtype_name(gpuc_dtype t, char out[24]);
/* Parses such a name. Returns false if it names no type. */
GPUC_API bool gpuc_dtype_parse(const char *name, gpuc_dtype *out);

/* ---- Images ------------------------------------------------------------------------------- */

/* How the pixels of an image lie in memory: rows from the top, without gaps, the channels of a pixel together.
 * The names are those of Vulkan's formats. 8-bit channels are numbers of 0 to 1 in steps of 1/255. */
typedef enum gpuc_image_format {
    GPUC_IMAGE_NONE = 0,   /* a tensor that is no image */
    GPUC_IMAGE_RGBA8,      /* 4 of uint8: red, green, blue, alpha */
    GPUC_IMAGE_RGBA8_SRGB, /* the same; the colours are encoded by the formula of sRGB */
    GPUC_IMAGE_BGRA8,      /* 4 of uint8: blue, green, red, alpha */
    GPUC_IMAGE_BGRA8_SRGB, /* the same; the colours are encoded by the formula of sRGB */
    GPUC_IMAGE_RGBA16F,    /* 4 of float16: red, green, blue, alpha */
    GPUC_IMAGE_R32F,       /* 1 of float32 */
    GPUC_IMAGE_R8,         /* 1 of uint8 */
    GPUC_IMAGE_FORMAT_COUNT
} gpuc_image_format;
/* "rgba8", "bgra8_srgb", ...; "" of no image, and of what is no format. */
GPUC_API const char *gpuc_image_format_name(gpuc_image_format format);
/* The type of a channel; of 0 bits where there is no image. */
GPUC_API gpuc_dtype gpuc_image_format_dtype(gpuc_image_format format);
/* The channels of a pixel, 4 or 1; 0 where there is no image. */
GPUC_API int gpuc_image_format_channels(gpuc_image_format format);

/* ---- Names -------------------------------------------------------------------------------- */

/* For "did you mean": the name that is nearest to the word by edit distance, the first of equally near ones;
 * NULL if none is within about a third of the word's length. */
GPUC_API const char *gpuc_suggest(const char *word, const char *const *names, size_t count);

/* ---- Devices ------------------------------------------------------------------------------ */

/* A kind of device: DLPack's number for those that gpuc has, others by gpuc_device_type_named (gpuc/runtime.h). */
typedef int gpuc_device_type;
enum {
    GPUC_DEVICE_CPU = 1,
    GPUC_DEVICE_OPENCL = 4,
    GPUC_DEVICE_VULKAN = 7,
    GPUC_DEVICE_USER_FIRST = 1 << 16 /* numbers of devices of programs begin here */
};

#ifdef __cplusplus
}
#endif
#endif
