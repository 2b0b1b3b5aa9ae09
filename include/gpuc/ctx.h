/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's context: arenas, the error trap, developer switches.
 *
 * Everything that the compiler makes lives in the arenas of a gpuc_ctx and dies with it. A
 * context belongs to one thread. Functions of the compiler's headers (tir, te, schedule, relay,
 * build, ...) that do not return a gpuc_status raise their errors: control goes to the innermost
 * gpuc_ctx_protect, which returns the error as a status. Frames in between are abandoned, as in
 * Lua; what they hold outside of the arenas must have been registered as a cleanup. */
#ifndef GPUC_CTX_H
#define GPUC_CTX_H

#include <gpuc/files.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_ctx gpuc_ctx; /* one compilation, or several in a row */
struct gpuc_runtime;              /* gpuc/runtime.h */

/* Creates a context. allocator NULL is the C library's; the struct is copied. */
GPUC_API gpuc_status gpuc_ctx_create(const gpuc_allocator *allocator, gpuc_ctx **out_ctx);
/* Frees the context and everything that lives in it. Cleanups that are still registered run. NULL does
 * nothing. */
GPUC_API void gpuc_ctx_destroy(gpuc_ctx *ctx);

/* Runs body(ctx, arg) with a trap set and returns NULL, or the error that was raised in it.
 * Traps nest. After an error the context is usable and what existed before is as it was. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ctx_protect(gpuc_ctx *ctx, void (*body)(gpuc_ctx *ctx, void *arg),
                                                     void *arg);

/* Raises. Without a trap set this prints the message and aborts: it is a bug of the caller. */
GPUC_API GPUC_NORETURN void gpuc_ctx_raise_at(gpuc_ctx *ctx, gpuc_code code, const char *file, int line,
                                              const char *fmt, ...) GPUC_PRINTF(5, 6);
GPUC_API GPUC_NORETURN void gpuc_ctx_raise_status(gpuc_ctx *ctx, gpuc_status status); /* takes */
/* Raises an error with a formatted message, from the place where it stands. */
#define gpuc_raise(ctx, code, ...) gpuc_ctx_raise_at((ctx), (code), __FILE__, __LINE__, __VA_ARGS__)
/* Raises a status that is not OK; for calls of the status-returning kind. */
#define GPUC_RAISE_IF(ctx, expr)                                                                             \
    do {                                                                                                     \
        gpuc_status raise_status_ = (expr);                                                                  \
        if (raise_status_) gpuc_ctx_raise_status(ctx, raise_status_);                                        \
    } while (0)

/* Registers fn(data), to be run when an error unwinds past this point, last in first out; one that
 * is never taken away runs when the context is destroyed. It must not raise. If there is no memory
 * to register it, it runs at once and out of memory is raised. */
GPUC_API void gpuc_ctx_push_cleanup(gpuc_ctx *ctx, void (*fn)(void *data), void *data);
/* Takes the newest cleanup away, and runs it if run is true. */
GPUC_API void gpuc_ctx_pop_cleanup(gpuc_ctx *ctx, bool run);

/* Developer switches: a comma-separated list such as "print,time"; "help" lists them in the message of the
 * status. A list adds to those that are on. Libraries read no environment; tools pass GPUC_DEBUG here. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ctx_set_debug(gpuc_ctx *ctx, const char *flags);
/* Where a C compiler's files go while it runs: an absolute path, copied. Without it, /tmp. Tools pass TMPDIR. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ctx_set_temporary(gpuc_ctx *ctx, const char *folder);
/* Where packages that are being written, and a C compiler's files, are noted while they are there. Borrowed;
 * it must outlive the context. Without it an interrupt leaves them behind. */
GPUC_API void gpuc_ctx_set_pending(gpuc_ctx *ctx, gpuc_pending *pending);
/* The runtime whose registry the compiler asks for what others added: kinds and tags of targets (gpuc/target.h),
 * target.build.<kind> (gpuc/codegen.h). Borrowed; it must outlive the context. NULL, the default: only what is built
 * in. */
GPUC_API void gpuc_ctx_set_runtime(gpuc_ctx *ctx, struct gpuc_runtime *rt);

#ifdef __cplusplus
}
#endif
#endif
