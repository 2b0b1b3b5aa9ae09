/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files of the ONNX backend tests. */
#include "node_tests.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"

const char node_tests_dir[] = "/usr/share/libonnx-testdata/data/node";

static void *plain_alloc(void *self, size_t size)
{
    (void)self;
    return malloc(size);
}

static void plain_free(void *self, void *p)
{
    (void)self;
    free(p);
}

ProtobufCAllocator node_tests_memory = {.alloc = plain_alloc, .free = plain_free};

int node_tests_each(const char *folder, void (*run)(const char *dir, const char *name))
{
    struct dirent **names;
    struct stat st;
    int n = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char dir[4096], model[4200];
        snprintf(dir, sizeof dir, "%s/%s", folder, names[i]->d_name);
        snprintf(model, sizeof model, "%s/model.onnx", dir);
        if (names[i]->d_name[0] != '.' && stat(model, &st) == 0) run(dir, names[i]->d_name);
        free(names[i]);
    }
    if (n >= 0) free(names);
    return n;
}

static gpuc_mapping map_file(gpuc_ctx *ctx, const char *path)
{
    gpuc_mapping m;
    GPUC_RAISE_IF(ctx, gpuc_file_map(path, &m));
    return m;
}

Onnx__ModelProto *node_tests_model(gpuc_ctx *ctx, const char *dir)
{
    gpuc_mapping m = map_file(ctx, gpuc_ctx_printf(ctx, "%s/model.onnx", dir));
    Onnx__ModelProto *model = gpuc_onnx__model_proto__unpack(&node_tests_memory, m.size, m.data);
    gpuc_file_unmap(&m);
    if (!model) gpuc_raise(ctx, GPUC_INVALID_DATA, "%s/model.onnx is not a model", dir);
    return model;
}

Onnx__TensorProto *node_tests_tensor(gpuc_ctx *ctx, const char *path)
{
    gpuc_mapping m = map_file(ctx, path);
    Onnx__TensorProto *t = gpuc_onnx__tensor_proto__unpack(&node_tests_memory, m.size, m.data);
    gpuc_file_unmap(&m);
    if (!t) gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s is not a tensor", path);
    return t;
}
