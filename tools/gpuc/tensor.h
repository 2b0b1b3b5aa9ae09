/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in host memory and the files that hold them: .npy, .npz, and ONNX's TensorProto (.pb). */
#ifndef GPUC_CLI_TENSOR_H
#define GPUC_CLI_TENSOR_H

#include <gpuc/runtime.h>

#define CLI_MAX_DIMS 64

typedef struct cli_tensor {
    char *name; /* from a .pb or an archive; NULL if it has none */
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
/* Element i as a double (bool 0 or 1). Integers beyond 2^53 are rounded. */
double cli_tensor_get(const cli_tensor *t, size_t i);
/* "float32[1,3]". The caller frees it. */
char *cli_tensor_type_text(const cli_tensor *t);
bool cli_dtype_is_float(gpuc_dtype t);
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
/* All arrays of an .npz, named without ".npy". *out from cli_alloc. */
GPUC_NODISCARD gpuc_status cli_npz_parse(const void *bytes, size_t size, const char *name, cli_tensor **out,
                                         int *out_count);
GPUC_NODISCARD gpuc_status cli_npz_load(const char *path, cli_tensor **out, int *out_count);

/* ---- Between tensors and a session ---- */

GPUC_NODISCARD gpuc_status cli_session_set(gpuc_runtime *rt, gpuc_session *s, int input, const cli_tensor *t);
/* Waits for the run. */
GPUC_NODISCARD gpuc_status cli_session_get(gpuc_session *s, int output, cli_tensor *out);

#endif
