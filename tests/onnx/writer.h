/* SPDX-License-Identifier: Apache-2.0 */
/* Writes ONNX models field by field in the protobuf wire format, so that tests can also write what no library
 * would. Field numbers are those of onnx.proto. */
#ifndef GPUC_TESTS_ONNX_WRITER_H
#define GPUC_TESTS_ONNX_WRITER_H

#include "base/buf.h"

/* ---- The wire format ---- */
void wr_varint(gpuc_buf *b, uint64_t v);
void wr_int(gpuc_buf *b, int field, int64_t v);
void wr_f32(gpuc_buf *b, int field, float v);
void wr_bytes(gpuc_buf *b, int field, const void *data, size_t size);
void wr_str(gpuc_buf *b, int field, const char *text);
void wr_msg(gpuc_buf *b, int field, gpuc_buf *inner); /* and frees inner */

/* ---- Models ---- */
typedef struct wr_model {
    gpuc_buf graph;
    int opset;
    int ir_version;
} wr_model;

void wr_begin(wr_model *m, int opset);
/* The finished file; frees the model. */
void wr_end(wr_model *m, gpuc_buf *out);

/* dims: "1,3,N,?" ; a letter makes a symbolic dimension of that name, ? one without; NULL: no shape at all. */
void wr_input(wr_model *m, const char *name, int elem_type, const char *dims);
void wr_output(wr_model *m, const char *name); /* of no declared type */
void wr_output_as(wr_model *m, const char *name, int elem_type, const char *dims);
void wr_floats(wr_model *m, const char *name, const char *dims, const float *v); /* initializers */
void wr_ints(wr_model *m, const char *name, const char *dims, const int64_t *v);
void wr_tensor(gpuc_buf *b, const char *name, int elem_type, const char *dims, const void *raw, size_t size);

/* wr_node(m, "Conv", "x,w,,b", "y", "strides=[1, 1] auto_pad=VALID alpha=0.5"): name, inputs, outputs,
 * attributes (a number without a point is an integer, [..] a list of integers or floats, else a string). */
void wr_node(wr_model *m, const char *op, const char *inputs, const char *outputs, const char *attrs);
/* The same in parts, for what wr_node does not write: fill in *n, then wr_msg(&m->graph, 1, n). */
void wr_node_begin(gpuc_buf *n, const char *op, const char *inputs, const char *outputs, const char *attrs);

#endif
