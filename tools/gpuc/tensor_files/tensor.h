/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in host memory and the files that hold them: .npy, .npz, and ONNX's TensorProto (.pb). */
#ifndef GPUC_CLI_TENSOR_H
#define GPUC_CLI_TENSOR_H

#include <gpuc/runtime.h>

#include "base/element.h"

#define CLI_MAX_DIMS 64

typedef struct cli_tensor {
    char *name; /* from a .pb; NULL if it has none */
    gpuc_dtype dtype;
    int ndim;
    int64_t dims[CLI_MAX_DIMS];
    size_t count, size; /* elements, bytes */
    void *data;
} cli_tensor;

/* Memory for a tensor of these dims; zeroed. what names it in messages. */
GPUC_NODISCARD gpuc_status cli_tensor_create(gpuc_dtype dtype, int ndim, const int64_t *dims,
                                             const char *what, cli_tensor *out);
void cli_tensor_free(cli_tensor *t);
/* Never filled: an input that keeps its default. */
static inline bool cli_tensor_is_absent(const cli_tensor *t)
{
    return t->dtype.bits == 0;
}
/* Element i as a double (bool 0 or 1). Integers beyond 2^53 are rounded. */
double cli_tensor_get(const cli_tensor *t, size_t i);
/* "float32[1,3]". The caller frees it. */
char *cli_tensor_type_text(const cli_tensor *t);
/* Fills with the numbers of a seed: splitmix64, advanced once per element. Floats are uniform in
 * [-1, 1), of 24 random bits; integers uniform in 0..7; bools 0 or 1. */
void cli_tensor_randomize(cli_tensor *t, uint64_t seed);
/* "min .. max .., mean .., first .." */
char *cli_tensor_summary(const cli_tensor *t);

/* ---- Files ---- */

/* What the bytes mean; messages start with the name. */
GPUC_NODISCARD gpuc_status cli_npy_parse(const void *bytes, size_t size, const char *name, cli_tensor *out);
GPUC_NODISCARD gpuc_status cli_npy_write(const cli_tensor *t, const char *path);
GPUC_NODISCARD gpuc_status cli_pb_parse(const void *bytes, size_t size, const char *name, cli_tensor *out);
GPUC_NODISCARD gpuc_status cli_pb_write(const cli_tensor *t, const char *path);
/* .npy or .pb, by the name's end. */
GPUC_NODISCARD gpuc_status cli_tensor_load(const char *path, cli_tensor *out);
bool cli_is_tensor_file(const char *name);

/* The parts of cli_npy_parse: how many bytes the header has, from the first ones of a file of that size; and
 * what it says: *out without elements. They are the rest of the file. */
enum { CLI_NPY_START = 12 };
GPUC_NODISCARD gpuc_status cli_npy_head_size(const uint8_t start[CLI_NPY_START], uint64_t size,
                                             const char *name, size_t *out);
GPUC_NODISCARD gpuc_status cli_npy_head(const uint8_t *head, size_t head_size, uint64_t size,
                                        const char *name, cli_tensor *out);

/* An .npz. Opening it reads its directory only; the bytes and the name are borrowed. */
typedef struct cli_npz cli_npz;
GPUC_NODISCARD gpuc_status cli_npz_open(const char *path, cli_npz **out);
GPUC_NODISCARD gpuc_status cli_npz_parse(const void *bytes, size_t size, const char *name, cli_npz **out);
void cli_npz_close(cli_npz *a); /* NULL is fine */
int cli_npz_count(const cli_npz *a);
const char *cli_npz_file(const cli_npz *a, int i); /* "x.npz:a.npy" */
const char *cli_npz_name(const cli_npz *a, int i); /* "a" */
/* Type and shape of a member, without elements: only its header is unpacked. */
GPUC_NODISCARD gpuc_status cli_npz_type(const cli_npz *a, int i, cli_tensor *out);
GPUC_NODISCARD gpuc_status cli_npz_read(const cli_npz *a, int i, cli_tensor *out);

/* ---- Between tensors and a session ---- */

GPUC_NODISCARD gpuc_status cli_session_set(gpuc_runtime *rt, gpuc_session *s, int input, const cli_tensor *t);
/* Waits for the run. */
GPUC_NODISCARD gpuc_status cli_session_get(gpuc_session *s, int output, cli_tensor *out);

#endif
