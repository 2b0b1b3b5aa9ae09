/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX backend tests of single operators: a folder for each, with model.onnx and test_data_set_N. */
#ifndef GPUC_TESTS_ONNX_NODE_TESTS_H
#define GPUC_TESTS_ONNX_NODE_TESTS_H

#include "onnx/onnx.h"

extern const char node_tests_dir[];          /* of the Debian package libonnx-testdata */
extern ProtobufCAllocator node_tests_memory; /* of messages: malloc */

/* Calls run for each test in the folder that has a model, by name. Returns how many entries it has; below 0: there is no
 * such folder. */
int node_tests_each(const char *folder, void (*run)(const char *dir, const char *name));
/* The message in a file. Raises if it is none. */
Onnx__ModelProto *node_tests_model(gpuc_ctx *ctx, const char *dir);
Onnx__TensorProto *node_tests_tensor(gpuc_ctx *ctx, const char *path);

#endif
