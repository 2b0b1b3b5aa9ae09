/* SPDX-License-Identifier: Apache-2.0 */
/* Implements gpuc_status: an error with code, message and place. */
#include <gpuc/base.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gpuc_error {
    gpuc_code code;
    int line;
    const char *file;
    bool is_static;
    char *message;
};

static const char *const code_names[GPUC_CODE_COUNT] = {
    [GPUC_OK] = "ok",
    [GPUC_INVALID_ARGUMENT] = "invalid argument",
    [GPUC_INVALID_DATA] = "invalid data",
    [GPUC_NOT_FOUND] = "not found",
    [GPUC_UNSUPPORTED] = "unsupported",
    [GPUC_OUT_OF_MEMORY] = "out of memory",
    [GPUC_OUT_OF_DEVICE_MEMORY] = "out of device memory",
    [GPUC_DEVICE_UNAVAILABLE] = "device unavailable",
    [GPUC_DEVICE_LOST] = "device lost",
    [GPUC_IO] = "input/output error",
    [GPUC_INTERNAL] = "internal error",
    [GPUC_CANCELLED] = "cancelled",
};

/* What is returned when there is no memory left for a message: the code stays right. */
#define STATIC_ERROR(c, text) [c] = {.code = (c), .file = "", .is_static = true, .message = (char *)(text)}
#define NO_TEXT " (and no memory was left to say more)"
static struct gpuc_error static_errors[GPUC_CODE_COUNT] = {
    STATIC_ERROR(GPUC_OK, "internal error: a failure was made with the code of success"),
    STATIC_ERROR(GPUC_INVALID_ARGUMENT, "invalid argument" NO_TEXT),
    STATIC_ERROR(GPUC_INVALID_DATA, "invalid data" NO_TEXT),
    STATIC_ERROR(GPUC_NOT_FOUND, "not found" NO_TEXT),
    STATIC_ERROR(GPUC_UNSUPPORTED, "unsupported" NO_TEXT),
    STATIC_ERROR(GPUC_OUT_OF_MEMORY, "out of memory"),
    STATIC_ERROR(GPUC_OUT_OF_DEVICE_MEMORY, "out of device memory" NO_TEXT),
    STATIC_ERROR(GPUC_DEVICE_UNAVAILABLE, "device unavailable" NO_TEXT),
    STATIC_ERROR(GPUC_DEVICE_LOST, "device lost" NO_TEXT),
    STATIC_ERROR(GPUC_IO, "input/output error" NO_TEXT),
    STATIC_ERROR(GPUC_INTERNAL, "internal error" NO_TEXT),
    STATIC_ERROR(GPUC_CANCELLED, "cancelled" NO_TEXT),
};

gpuc_status gpuc_error_make(gpuc_code code, const char *file, int line, const char *fmt, ...)
{
    if ((unsigned)code >= GPUC_CODE_COUNT || code == GPUC_OK) code = GPUC_INTERNAL;
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length < 0) return &static_errors[code];
    /* The file's name is copied, since it may lie in a plug-in that is closed before the error is looked at. */
    size_t size = (size_t)length + 1, file_size = file ? strlen(file) + 1 : 1;
    struct gpuc_error *e = malloc(sizeof *e + size + file_size);
    if (!e) return &static_errors[code];
    *e = (struct gpuc_error){.code = code, .line = line, .message = (char *)(e + 1)};
    va_start(args, fmt);
    vsnprintf(e->message, size, fmt, args);
    va_end(args);
    e->file = memcpy(e->message + size, file ? file : "", file_size);
    return e;
}

gpuc_status gpuc_error_prefix(gpuc_status status, const char *fmt, ...)
{
    if (!status || status->is_static) return status;
    va_list args;
    va_start(args, fmt);
    int prefix = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (prefix < 0) return status;
    size_t rest = strlen(status->message) + 1, file_size = strlen(status->file) + 1;
    struct gpuc_error *e = malloc(sizeof *e + (size_t)prefix + 2 + rest + file_size);
    if (!e) return status;
    *e = *status;
    e->message = (char *)(e + 1);
    va_start(args, fmt);
    vsnprintf(e->message, (size_t)prefix + 1, fmt, args);
    va_end(args);
    memcpy(e->message + prefix, ": ", 2);
    memcpy(e->message + prefix + 2, status->message, rest);
    e->file = memcpy(e->message + prefix + 2 + rest, status->file, file_size);
    free(status);
    return e;
}

gpuc_code gpuc_status_code(gpuc_status status)
{
    return status ? status->code == GPUC_OK ? GPUC_INTERNAL : status->code : GPUC_OK;
}

const char *gpuc_status_message(gpuc_status status)
{
    return status ? status->message : "";
}

const char *gpuc_status_file(gpuc_status status)
{
    return status ? status->file : "";
}

int gpuc_status_line(gpuc_status status)
{
    return status ? status->line : 0;
}

void gpuc_status_release(gpuc_status status)
{
    if (status && !status->is_static) free(status);
}

const char *gpuc_code_name(gpuc_code code)
{
    return (unsigned)code < GPUC_CODE_COUNT ? code_names[code] : "unknown code";
}
