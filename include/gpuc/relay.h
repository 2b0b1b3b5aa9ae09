/* SPDX-License-Identifier: Apache-2.0 */
/* Relay as text: programs of functions, types and operators, in the form of TVM 0.13 (docs/relay.md). All functions
 * raise; what they return lives in the context. */
#ifndef GPUC_RELAY_H
#define GPUC_RELAY_H

#include <gpuc/ctx.h>
#include <gpuc/tensor_files.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_rmodule gpuc_rmodule; /* a Relay program: functions and types by name */

/* What a printed program shows besides its functions. */
typedef enum gpuc_relay_print_flag {
    GPUC_RELAY_PRINT_TYPES = 1 << 0,   /* the type of each node in a comment */
    GPUC_RELAY_PRINT_VERSION = 1 << 1, /* the line #[version = "0.0.5"] first */
    GPUC_RELAY_PRINT_CONSTANTS =
        1 << 2 /* the section #[constants] last, so that the text is the whole program */
} gpuc_relay_print_flag;

/* The program that a text defines, with its types inferred. It begins with what another module defines (NULL: with
 * nothing), which stays as it is, and must live as long. origin names the text in messages, "origin:line:column: ...", which show the line
 * with a caret below it. */
GPUC_API gpuc_rmodule *gpuc_relay_parse(gpuc_ctx *ctx, const char *text, const char *origin,
                                        const gpuc_rmodule *with);
/* The program as text; flags are of gpuc_relay_print_flag. What is printed with the constants can be parsed, and
 * prints the same again. */
GPUC_API const char *gpuc_relay_text(gpuc_ctx *ctx, const gpuc_rmodule *m, int flags);
/* The number of functions of a module. */
GPUC_API int gpuc_rmodule_num_functions(const gpuc_rmodule *m);
/* The name of function i, in the order of definition, without the @; NULL where there is none. */
GPUC_API const char *gpuc_rmodule_function_name(const gpuc_rmodule *m, int i);
/* The number of parameters of a function. Raises where the module has no function of that name. */
GPUC_API int gpuc_rmodule_num_params(const gpuc_rmodule *m, const char *function);
/* The name of parameter i, without the %; NULL where there is none. Raises as above. */
GPUC_API const char *gpuc_rmodule_param_name(const gpuc_rmodule *m, const char *function, int i);
/* The type of a function as text, "fn [A](A) -> A". Raises where the module has no function of that name. */
GPUC_API const char *gpuc_rmodule_function_type(gpuc_ctx *ctx, const gpuc_rmodule *m, const char *name);

/* ---- Values ------------------------------------------------------------------------------------------ */

/* What a program computes with: a tensor in memory of the host, or a tree of them. Counted; nobody changes a value. One
 * thread at a time uses the values of one interpreter. */
typedef struct gpuc_relay_value gpuc_relay_value;

/* The kind of a value. */
typedef enum gpuc_relay_value_kind {
    GPUC_RELAY_TENSOR,  /* elements, row by row */
    GPUC_RELAY_TUPLE,   /* fields */
    GPUC_RELAY_DATA,    /* a constructor of a type, with its fields */
    GPUC_RELAY_FUNCTION /* a function, with what it holds of the variables around it */
} gpuc_relay_value_kind;

/* One more reference, for another owner. NULL does nothing. */
GPUC_API gpuc_relay_value *gpuc_relay_value_retain(gpuc_relay_value *v);
/* Drops a reference; the last one frees the value, without recursion. NULL does nothing. A value may be kept when its
 * interpreter is gone; a value of kind DATA is looked at only while the context of the program is there. */
GPUC_API void gpuc_relay_value_release(gpuc_relay_value *v);
/* The kind of a value, which is not NULL; the same holds below. */
GPUC_API gpuc_relay_value_kind gpuc_relay_value_get_kind(const gpuc_relay_value *v);
/* Of a tensor: the type of an element. Of others all bits are 0. */
GPUC_API gpuc_dtype gpuc_relay_value_dtype(const gpuc_relay_value *v);
/* Of a tensor: the number of dimensions; 0 for a scalar, and for others. */
GPUC_API int gpuc_relay_value_ndim(const gpuc_relay_value *v);
/* Of a tensor: the extents, outermost first, borrowed. NULL for others. */
GPUC_API const int64_t *gpuc_relay_value_dims(const gpuc_relay_value *v);
/* Of a tensor: the elements, compact, row by row; borrowed. NULL for others. */
GPUC_API const void *gpuc_relay_value_data(const gpuc_relay_value *v);
/* Of a tensor: the bytes of all elements. 0 for others. */
GPUC_API size_t gpuc_relay_value_bytes(const gpuc_relay_value *v);
/* Of a tuple, or of a constructor: the number of fields. 0 for others. */
GPUC_API int gpuc_relay_value_num_fields(const gpuc_relay_value *v);
/* Field i of those, borrowed; NULL where there is none. */
GPUC_API gpuc_relay_value *gpuc_relay_value_field(const gpuc_relay_value *v, int i);
/* The name of the constructor, borrowed from the program's context; NULL of what is no data. */
GPUC_API const char *gpuc_relay_value_constructor(const gpuc_relay_value *v);

/* ---- The interpreter --------------------------------------------------------------------------------- */

/* Walks programs on the host, slowly: operators are computed by their definitions, without schedules. It is what
 * compiled programs are compared with. An operator whose result has a size that its inputs' values decide is computed
 * where inference knows them: integers, at most GPUC_OP_MAX_VALUES of them. */
typedef struct gpuc_relay_interpreter gpuc_relay_interpreter;

/* Limits of an interpreter. Start from GPUC_RELAY_INTERPRETER_DESC_INIT. */
typedef struct gpuc_relay_interpreter_desc {
    uint32_t struct_size; /* set by GPUC_RELAY_INTERPRETER_DESC_INIT */
    uint64_t max_bytes;   /* that all values and calls take together; 0: 4 GiB */
    uint64_t
        max_calls; /* that are inside of each other, calls at the end of a function among them; 0: 10^7 */
} gpuc_relay_interpreter_desc;
#define GPUC_RELAY_INTERPRETER_DESC_INIT GPUC_SIZED(gpuc_relay_interpreter_desc)

/* An interpreter of a program, which lives in the context, as the program does. desc NULL: the default. */
GPUC_API gpuc_relay_interpreter *gpuc_relay_interpreter_create(gpuc_ctx *ctx, const gpuc_rmodule *m,
                                                               const gpuc_relay_interpreter_desc *desc);
/* A new tensor; bytes are its elements, as many as the type says. NULL: all are zero. The caller owns a reference. */
GPUC_API gpuc_relay_value *gpuc_relay_make_tensor(gpuc_relay_interpreter *i, gpuc_dtype dtype, int ndim,
                                                  const int64_t *dims, const void *bytes);
/* A new tuple, which retains its n fields. */
GPUC_API gpuc_relay_value *gpuc_relay_make_tuple(gpuc_relay_interpreter *i, int n,
                                                 gpuc_relay_value *const *fields);
/* The same of a constructor of the program, by name. Raises where there is none of that name, or it has another number of
 * fields. */
GPUC_API gpuc_relay_value *gpuc_relay_make_data(gpuc_relay_interpreter *i, const char *constructor, int n,
                                                gpuc_relay_value *const *fields);
/* Calls a function of the program by name, without the @. args are borrowed; they must have the types of its
 * parameters. The caller owns the result. Errors, with the place in the program: more memory or deeper calls than the
 * limits allow (OUT_OF_MEMORY), a match? that no clause fits, extents that do not fit (INVALID_ARGUMENT), an operator
 * that has no definition (UNSUPPORTED). After an error the interpreter may be used again. */
GPUC_API gpuc_relay_value *gpuc_relay_interpret(gpuc_relay_interpreter *i, const char *function, int n,
                                                gpuc_relay_value *const *args);

/* ---- Values as JSON ---------------------------------------------------------------------------------- */

/* Reads the tensor of a file that a JSON text names. */
typedef gpuc_status (*gpuc_relay_load_fn)(void *user, const char *path, gpuc_host_tensor *out);
/* Puts a tensor, which has dimensions, into a file: *path, borrowed until the next call, is written in its place. NULL
 * there: its elements are. */
typedef gpuc_status (*gpuc_relay_store_fn)(void *user, const gpuc_relay_value *tensor, const char **path);

/* The value that a JSON text is, with the type of parameter `param` of a function. A scalar is a number, true, false,
 * "inf", "-inf" or "nan"; a tensor is the path of a .npy file, or arrays of arrays of numbers; a tuple is an array; data
 * is {"Constructor": [fields]}. A type of two constructors, one without fields and one of an element and the type itself,
 * is a list: {"Type": [elements]}, of any length; other values are at most 1000 levels deep. load NULL: files are an error.
 * origin names the text in messages, "origin:line:column: ...". The caller owns the value. */
GPUC_API gpuc_relay_value *gpuc_relay_read_json(gpuc_relay_interpreter *i, const char *function, int param,
                                                const char *text, const char *origin, gpuc_relay_load_fn load,
                                                void *user);
/* The same text of a value, in the context, without a bound for its depth; a function is {"fn": name}, which is not read.
 * store NULL: all tensors are written as their elements. */
GPUC_API const char *gpuc_relay_value_json(gpuc_ctx *ctx, const gpuc_relay_value *v,
                                           gpuc_relay_store_fn store, void *user);

#ifdef __cplusplus
}
#endif
#endif
