/* SPDX-License-Identifier: Apache-2.0 */
/* large_model GPUC DIR MEGABYTES ALLOWED: writes a model whose weights of that size lie in a file beside it,
 * has the tool compile it, and fails if that took more memory than the weights and ALLOWED megabytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../onnx/writer.h"

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* Products of a row with square matrices, with an activation between: plain ones, and transposed ones that
 * the compiler turns. */
static void write_model(const char *path, int layers, int64_t n)
{
    gpuc_buf file;
    wr_model m;
    char name[32], dims[64], text[64];
    size_t bytes = (size_t)(n * n) * sizeof(float);
    wr_begin(&m, 13);
    snprintf(dims, sizeof dims, "1,%lld", (long long)n);
    wr_input(&m, "x0", 1, dims);
    for (int i = 0; i < layers; i++) {
        gpuc_buf t;
        gpuc_buf_init(&t, (gpuc_allocator){0});
        wr_int(&t, 1, n);
        wr_int(&t, 1, n);
        wr_int(&t, 2, 1);
        snprintf(name, sizeof name, "w%d", i);
        wr_str(&t, 8, name);
        static const char *const keys[] = {"location", "offset", "length"};
        for (int k = 0; k < 3; k++) {
            gpuc_buf entry;
            gpuc_buf_init(&entry, (gpuc_allocator){0});
            snprintf(text, sizeof text, "%zu", k == 1 ? (size_t)i * bytes : bytes);
            wr_str(&entry, 1, keys[k]);
            wr_str(&entry, 2, k ? text : "weights.bin");
            wr_msg(&t, 13, &entry);
        }
        wr_int(&t, 14, 1);
        wr_msg(&m.graph, 5, &t);
        char in[64], out[32], y[32];
        snprintf(in, sizeof in, "x%d,w%d", i, i);
        snprintf(y, sizeof y, "y%d", i);
        snprintf(out, sizeof out, "x%d", i + 1);
        wr_node(&m, i % 2 ? "Gemm" : "MatMul", in, y, i % 2 ? "transB=1" : NULL);
        wr_node(&m, "Tanh", y, out, NULL);
    }
    snprintf(name, sizeof name, "x%d", layers);
    wr_output(&m, name);
    wr_end(&m, &file);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(file.data, 1, file.size, f) != file.size || fclose(f)) die(path);
    gpuc_buf_deinit(&file);
}

static void write_weights(const char *path, int64_t count)
{
    enum { BLOCK = 1 << 16 };
    static float block[BLOCK];
    uint64_t state = 1;
    FILE *f = fopen(path, "wb");
    if (!f) die(path);
    while (count > 0) {
        size_t n = count < BLOCK ? (size_t)count : BLOCK;
        for (size_t i = 0; i < n; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            block[i] = (float)(int32_t)(state >> 32) / 0x1p36f;
        }
        if (fwrite(block, sizeof *block, n, f) != n) die(path);
        count -= (int64_t)n;
    }
    if (fclose(f)) die(path);
}

/* Megabytes that the tool had in memory at most. */
static double build(const char *tool, const char *model, const char *package)
{
    int status;
    struct rusage usage;
    pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) {
        execl(tool, tool, "build", model, "--target", "vulkan", "--threads", "2", "-o", package,
              (char *)NULL);
        die(tool);
    }
    if (wait4(pid, &status, 0, &usage) != pid) die("wait4");
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        fprintf(stderr, "the build failed\n");
        exit(1);
    }
    return (double)usage.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
    char model[4096], weights[4096], package[4096];
    if (argc != 5) {
        fprintf(stderr, "usage: large_model GPUC DIR MEGABYTES ALLOWED\n");
        return 2;
    }
    int64_t n = 4096, megabytes = atoll(argv[3]);
    while (n > 256 && n * n * 4 > megabytes << 17) n /= 2; /* eight layers at least */
    int layers = (int)((megabytes << 20) / (n * n * 4));
    double size = (double)(n * n * 4 * layers) / 0x1p20, allowed = atof(argv[4]);
    snprintf(model, sizeof model, "%s/model.onnx", argv[2]);
    snprintf(weights, sizeof weights, "%s/weights.bin", argv[2]);
    snprintf(package, sizeof package, "%s/model.gpuc", argv[2]);
    write_model(model, layers, n);
    write_weights(weights, n * n * layers);
    double peak = build(argv[1], model, package);
    printf("%.0f MB of weights in %d tensors: at most %.0f MB in memory, %.0f MB beside the weights\n", size,
           layers, peak, peak - size);
    remove(model);
    remove(weights);
    remove(package);
    return peak <= size + allowed ? 0 : 1;
}
