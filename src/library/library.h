/* SPDX-License-Identifier: Apache-2.0 */
/* A library on a device: the program of its package that the device runs, with its code loaded. Nothing in it
 * changes after load: calls may run side by side, and their work may be queued when they return. */
#ifndef GPUC_LIBRARY_LIBRARY_H
#define GPUC_LIBRARY_LIBRARY_H

#include "base/buf.h"
#include "loader/loader.h"

typedef struct gpuc_loaded_library gpuc_loaded_library;

/* self of a packed function. */
typedef struct gpuc_library_function {
    const gpuc_loaded_library *library;
    const gpuc_entry *entry;
    bool *written; /* by number of the array */
} gpuc_library_function;

struct gpuc_loaded_library {
    gpuc_runtime *rt;
    gpuc_device *device;
    gpuc_arena arena;     /* all that is below */
    gpuc_mapping mapping; /* of the file, or */
    gpuc_buf bytes;       /* the package in memory */
    const gpuc_program *program;
    gpuc_loaded code;
    gpuc_library_function *functions; /* by number of the entry */
    gpuc_module **code_modules;       /* by number of the program's module: imports, or NULL */
};

/* Makes a module of a package in memory, which it takes in any case: bytes is empty afterwards. device NULL:
 * that of the first program that can run. */
GPUC_NODISCARD gpuc_status gpuc_library_from_bytes(gpuc_runtime *rt, gpuc_buf *bytes, gpuc_device *device,
                                                   bool allow_native_code, gpuc_module **out);
/* entry_call.c: the packed function; self is a gpuc_library_function. */
gpuc_status gpuc_library_call(const gpuc_value *args, int num_args, gpuc_value *ret, void *self);
/* library_source.c: get_source of a library. */
gpuc_status gpuc_library_loaded_source(gpuc_module *m, const char *form, const char *function,
                                       gpuc_value *out);

#endif
